#pragma once

// Which queue runs each command of a plan, and what commands of different queues wait for.
//
// Every device has a queue: a group of cores, or a stream of a GPU. A channel has a queue of its
// own, a stream, for those of its copies that have an end on a GPU. Copies within the host are made
// by cores: by those of the copied tensor's producer, between the ops, as the simulator has it
// where a channel occupies its source (CalibratedCluster() says so of these); if a GPU is the
// producer, by those of the destination.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "profilers/executor/plan.h"

namespace emplace {

enum class QueueKind : std::uint8_t { kCores, kStream };

struct QueuePlan {
  /// [num_devices + num_channels] device d: d, channel k: num_devices + k.
  std::vector<QueueKind> kinds;
  std::vector<std::vector<int>> lists;  ///< [num_queues] commands, ascending
  std::vector<int> queue_of_command;    ///< [num_commands]
  /// [num_commands] from 1: the counter of the queue behind it.
  std::vector<int> number;
  /// [num_commands] commands of other queues that must finish before, at most one of each queue:
  /// the plan's waits, and the order of the stream where its commands are in several queues.
  std::vector<std::vector<int>> waits;
  std::vector<bool> is_awaited;  ///< [num_commands] by some command of another queue

  int num_queues() const { return static_cast<int>(kinds.size()); }
};

/// @param kinds  [num_devices] of the devices' queues
/// @throws RunError for a copy within the host where no device is a group of cores, naming tensor
/// and channel
QueuePlan PlanQueues(const ExecutionPlan& plan, std::span<const QueueKind> kinds);

/// For messages: `op "relu" on device "cpu:0"`, `copy of tensor 3 of op "relu", hop 0, on channel
/// 1`.
/// @param devices  [num_devices] names
std::string NameOf(const ExecutionPlan& plan, int command, std::span<const std::string> devices);

}  // namespace emplace
