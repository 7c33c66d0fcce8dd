#include "experiments/problem/objective.h"

#include <vector>

#include "framework/base/error.h"

namespace emplace {
namespace {

const std::vector<std::string> kObjectives = {"step_time", "period"};

}  // namespace

std::string_view ToString(Objective objective) {
  return kObjectives[static_cast<size_t>(objective)];
}

Objective ParseObjective(const std::string& text, const std::string& where) {
  for (const Objective objective : {Objective::kStepTime, Objective::kPeriod}) {
    if (text == ToString(objective)) return objective;
  }
  ThrowUnknown(where, "objective", text, kObjectives);
}

}  // namespace emplace
