#pragma once

// The assignment of the commands of a plan to queues, and the waits between queues.
//
// Every device has a queue: a group of cores, or a stream of a GPU. The copies of a channel that
// start or end on a GPU have a queue of their own, a stream. Copies within the host are made by the
// cores of the copied tensor's producer, between its ops. The simulator models them so if the
// channel occupies its source, as CalibratedCluster() sets it for these channels. If the producer
// is on a GPU, the cores of the destination make the copy.

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
  /// [num_commands] from 1: the value of the queue's counter after the command.
  std::vector<int> number;
  /// [num_commands] commands of other queues that must finish before the command starts, at most
  /// one of each queue: the plan's waits, and the order of a stream whose commands are in several
  /// queues.
  std::vector<std::vector<int>> waits;
  std::vector<bool> is_awaited;  ///< [num_commands] by some command of another queue

  int num_queues() const { return static_cast<int>(kinds.size()); }
};

/// @param kinds  [num_devices] of the devices' queues
/// @throws RunError for a copy within the host if no device is a group of cores, naming tensor and
///   channel
QueuePlan PlanQueues(const ExecutionPlan& plan, std::span<const QueueKind> kinds);

/// The waits of one command when some queues are streams of GPUs and others are groups of cores, as
/// indices of commands, and the signals that others wait for.
///
/// Streams wait for each other by events; all other waits use the counters of the queues. If a
/// stream waits for a counter, CUDA does not know which command raises it. CUDA could schedule the
/// waiting command before a GPU command that the cores need before they can raise the counter, and
/// neither would ever finish. Therefore a stream command that waits for a command of the cores also
/// waits, by events, for every command of other streams that precedes it. These commands have
/// finished by then, so the events cost no time, and CUDA knows the complete order of GPU commands.
struct Connection {
  std::vector<int> events;    ///< commands of other streams, at most one of each
  std::vector<int> counters;  ///< commands, at least one side of the wait is on cores
  bool has_event = false;     ///< another command waits for this one by event
  bool has_counter = false;   ///< another command waits for this one by counter
};

/// @return [num_commands]
std::vector<Connection> ConnectCommands(const QueuePlan& queues);

/// Returns the name of a command for messages: `op "relu" on device "cpu:0"`, `copy of tensor 3 of
/// op "relu", hop 0, on channel 1`.
/// @param devices  [num_devices] names
std::string NameOf(const ExecutionPlan& plan, int command, std::span<const std::string> devices);

}  // namespace emplace
