#include "framework/search/evaluator.h"

namespace emplace {

std::int64_t Outcome::deficit() const {
  std::int64_t total = 0;
  for (const DeviceOutcome& device : devices) total += device.deficit;
  return total;
}

bool Better(const Outcome& a, const Outcome& b) {
  if (a.feasible != b.feasible) return a.feasible;
  if (!a.feasible && a.deficit() != b.deficit()) return a.deficit() < b.deficit();
  return a.step_time < b.step_time;
}

std::vector<Outcome> Evaluator::Evaluate(std::span<const Placement> placements,
                                         const OutcomeDetail& detail) {
  std::vector<Outcome> outcomes(placements.size());
  Evaluate(placements, outcomes, detail);
  return outcomes;
}

Outcome Evaluator::Evaluate(const Placement& placement, const OutcomeDetail& detail) {
  Outcome outcome;
  Evaluate({&placement, 1}, {&outcome, 1}, detail);
  return outcome;
}

}  // namespace emplace
