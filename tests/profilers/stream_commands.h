#pragma once

#include <vector>

#include "profilers/executor/plan.h"

namespace emplace::testing {

/// Indices into plan.commands per stream, ascending. [num_streams]
inline std::vector<std::vector<int>> CommandsByStream(const ExecutionPlan& plan) {
  std::vector<std::vector<int>> streams(plan.num_streams());
  for (int c = 0; c < static_cast<int>(plan.commands.size()); ++c) {
    streams[plan.commands[c].stream].push_back(c);
  }
  return streams;
}

/// [command][other] whether the other one has finished for certain when the command starts, by
/// plain reachability: each list runs in order, and commands wait.
/// @param list_of_command  [num_commands]
/// @param waits_of  waits_of(command): earlier commands
template <class Waits>
std::vector<std::vector<bool>> FinishedBefore(const std::vector<int>& list_of_command,
                                              const Waits& waits_of) {
  const size_t num_commands = list_of_command.size();
  std::vector<std::vector<bool>> before(num_commands, std::vector<bool>(num_commands, false));
  std::vector<int> last(64, -1);
  for (size_t c = 0; c < num_commands; ++c) {
    const auto follow = [&](int other) {
      for (size_t i = 0; i < c; ++i) before[c][i] = before[c][i] || before[other][i];
      before[c][other] = true;
    };
    int& previous = last[list_of_command[c]];
    if (previous >= 0) follow(previous);
    for (int other : waits_of(static_cast<int>(c))) follow(other);
    previous = static_cast<int>(c);
  }
  return before;
}
inline std::vector<std::vector<bool>> FinishedBefore(const ExecutionPlan& plan) {
  std::vector<int> streams;
  for (const PlanCommand& command : plan.commands) streams.push_back(command.stream);
  return FinishedBefore(streams, [&](int c) { return plan.commands[c].waits; });
}

}  // namespace emplace::testing
