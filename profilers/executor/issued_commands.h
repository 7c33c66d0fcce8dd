#pragma once

// A placed graph as commands in issue order. Each op is followed by the hops of the copies that it
// sends. This is the first step of CompilePlan().

#include <span>
#include <vector>

#include "framework/schedule/transfer_plan.h"
#include "framework/search/problem.h"
#include "profilers/executor/plan.h"

namespace emplace {

struct CarriedCopy {
  Copy copy;
  /// [copy.destinations] the commands on the route to the destination, first hop first. The first
  /// command is the same for all.
  std::vector<std::vector<int>> ways;
};

struct IssuedCommands {
  /// In issue order. Addresses have only their devices set; layouts and waits are not set.
  std::vector<PlanCommand> commands;
  /// [commands] the commands that each depends on by the graph.
  std::vector<std::vector<int>> dependencies;
  std::vector<int> command_of_op;   ///< [num_ops]
  std::vector<CarriedCopy> copies;  ///< in issue order

  std::vector<int> StreamOfCommand() const;  ///< [commands]
};

/// @param device_of_op  [num_ops]
/// @param order         [num_ops] op ids, every op after those that it depends on
/// @throws InputError as CopiesOf()
IssuedCommands IssueCommands(const Problem& problem,
                             std::span<const DeviceIndex> device_of_op,
                             std::span<const int> order);

}  // namespace emplace
