#include "experiments/step_interval.h"

#include <cmath>

#include <fmt/format.h>

#include "experiments/output.h"

namespace emplace {
namespace {

PredictionInterval IntervalOf(const std::vector<HeldOutStep>& steps) {
  std::vector<double> scores;
  for (const HeldOutStep& step : steps) {
    scores.push_back(IntervalScore(step.simulated_ns, step.measured_ns));
  }
  return CalibrateInterval(scores);
}

}  // namespace

StepInterval MakeInterval(const std::vector<HeldOutStep>& steps, const std::string& where) {
  return {IntervalOf(steps), fmt::format("{} held-out placements {}", steps.size(), where)};
}

StepInterval FindInterval(const CostTable* table, const std::string& graph) {
  if (table == nullptr) return {{}, "no measured costs"};
  if (table->held_out.empty()) return {{}, "the costs have no held-out placements"};
  std::vector<HeldOutStep> own;
  for (const HeldOutStep& step : table->held_out) {
    if (step.graph == graph) own.push_back(step);
  }
  StepInterval found = MakeInterval(own, "of " + graph);
  if (found.interval.is_bounded() || own.size() == table->held_out.size()) return found;
  return MakeInterval(table->held_out,
                      own.empty() ? "of other graphs" : "of this and other graphs");
}

std::string FormatInterval(const TimeInterval& interval) {
  return fmt::format("[{} .. {}]",
                     FormatTime(std::llround(interval.low)),
                     FormatTime(std::llround(interval.high)));
}

}  // namespace emplace
