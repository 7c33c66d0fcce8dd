#include "experiments/problem/priority.h"

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/schedule/issue_order.h"
#include "framework/schedule/upward_rank.h"

namespace emplace {
namespace {

const std::vector<std::string> kPriorities = {"id", "upward_rank", "given", "searched"};

}  // namespace

std::string_view ToString(Priority priority) {
  return kPriorities[static_cast<size_t>(priority)];
}

std::string PriorityHelp() {
  return "id (least id first), upward_rank (longest path to the end first), given (a placement "
         "file's issue_order) or searched (starts as upward_rank; agents may choose another order)";
}

Priority ParsePriority(std::string_view text, std::string_view where, Semantics semantics) {
  for (size_t i = 0; i < kPriorities.size(); ++i) {
    if (text != kPriorities[i]) continue;
    const auto priority = static_cast<Priority>(i);
    if (priority != Priority::kId && !EntryOf(semantics).has_issue_order) {
      throw InputError(
          fmt::format("{}: {} semantics has no issue order; expected priority id, got {}",
                      where,
                      ToString(semantics),
                      text));
    }
    return priority;
  }
  ThrowUnknown(where, "priority", text, kPriorities);
}

SimulatorOptions WithPriority(SimulatorOptions options,
                              Priority priority,
                              const Problem& problem,
                              const std::vector<int>& given) {
  options.issue_order.clear();
  if (!EntryOf(options.semantics).has_issue_order) return options;
  options.order_may_change = priority == Priority::kSearched;
  if (priority == Priority::kUpwardRank || priority == Priority::kSearched) {
    options.issue_order = IssueOrder(
        problem.graph(), IntegerUpwardRanks(problem.graph(), problem.cluster(), problem.costs()));
  } else if (priority == Priority::kGiven) {
    options.issue_order = given;
  }
  return options;
}

}  // namespace emplace
