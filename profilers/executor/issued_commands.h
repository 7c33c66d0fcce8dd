#pragma once

// A placed graph as commands in issue order: every op, and behind it the hops of the copies that it
// sends. First step of CompilePlan().

#include <span>
#include <vector>

#include "framework/schedule/transfer_plan.h"
#include "framework/search/problem.h"
#include "profilers/executor/plan.h"

namespace emplace {

/// A copy and the commands that carry it.
struct CarriedCopy {
  Copy copy;
  /// [copy.destinations] the commands on the way there, first hop first. The first is the same for
  /// all.
  std::vector<std::vector<int>> ways;
};

struct IssuedCommands {
  /// In issue order. Of addresses only the devices are set; layouts and waits are not.
  std::vector<PlanCommand> commands;
  std::vector<std::vector<int>> dependencies;  ///< [commands] others that it awaits by the graph
  std::vector<int> command_of_op;              ///< [num_ops]
  std::vector<CarriedCopy> copies;             ///< in issue order

  std::vector<int> StreamOfCommand() const;  ///< [commands]
};

/// @param device_of_op  [num_ops]
/// @param order         [num_ops] op ids, every op behind those that it awaits
/// @throws InputError as CopiesOf()
IssuedCommands IssueCommands(const Problem& problem,
                             std::span<const DeviceIndex> device_of_op,
                             std::span<const int> order);

}  // namespace emplace
