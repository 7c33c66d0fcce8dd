#include "experiments/run/run_problem.h"

#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/base/error.h"
#include "framework/base/raw_stream.h"

namespace emplace {

ProblemId IdOf(const Problem& exact, bool simulate_groups, const SimulatorOptions& how) {
  ProblemId id = IdOf(exact);
  std::ostringstream order;
  WriteRawList(order, how.issue_order);
  WriteRaw(order, how.order_may_change);
  id[ProblemPart::kSemantics] = FingerprintOf(
      fmt::format("{} {} {}", ToString(how.semantics), how.count_gaps, simulate_groups));
  id[ProblemPart::kOrder] = FingerprintOf(order.view());
  return id;
}

ProblemId IdOf(const RunPlan& plan, const LoadedProblem& problem) {
  return IdOf(*problem.exact, problem.simulate_groups, plan.SimulatorFor(*problem.exact));
}

std::string IdKey(ProblemPart part) {
  return fmt::format("id_{}", ToString(part));
}

std::string PartText(ProblemPart part, const Problem& problem) {
  switch (part) {
    case ProblemPart::kGraph:
      return fmt::format("graph \"{}\"", problem.graph().name());
    case ProblemPart::kCluster:
      return fmt::format("cluster \"{}\"", problem.cluster().name());
    case ProblemPart::kOrder:
      return "the issue order";
    default:
      return fmt::format("the {}", ToString(part));
  }
}

void WriteProblemId(ResultsFile& file, const ProblemId& id) {
  for (const ProblemPart part : kAllParts) file.SetAttribute("/problem", IdKey(part), id[part]);
}

ProblemId ReadProblemId(const ResultsReader& reader) {
  ProblemId id;
  for (const ProblemPart part : kAllParts) id[part] = reader.Int("/problem", IdKey(part));
  return id;
}

std::string DescribeChanges(const ResultsReader& reader,
                            const ProblemId& now,
                            const Problem& problem,
                            ProblemParts parts) {
  std::vector<std::string> changes;
  for (const ProblemPart part : Differing(ReadProblemId(reader), now, parts)) {
    changes.push_back(PartText(part, problem));
  }
  return changes.empty() ? "" : fmt::format("another version of {}", fmt::join(changes, ", "));
}

void RequireSameFiles(const std::string& results, const Problem& problem, ProblemParts parts) {
  const std::string changes =
      DescribeChanges(ResultsReader(results), IdOf(problem), problem, parts);
  if (changes.empty()) return;
  throw InputError(
      fmt::format("{}: was made with {}; name the right files with --graph, --cluster and --costs",
                  results,
                  changes));
}

}  // namespace emplace
