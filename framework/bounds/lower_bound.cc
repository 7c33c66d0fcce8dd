#include "framework/bounds/lower_bound.h"

#include "framework/bounds/bounds.h"

namespace emplace {

LowerBound ProveBound(const Problem& problem, const ProofOptions& options) {
  const Bounds bounds = ComputeBounds(problem);
  LowerBound best{bounds.work, "work"};
  if (problem.objective() == Objective::kStepTime && bounds.critical_path > bounds.work) {
    best = {bounds.critical_path, "critical_path"};
  }
  if (options.improved) options.improved(best);
  return best;
}

}  // namespace emplace
