#pragma once

// The task graphs of classical multiprocessor scheduling (P | prec, c_ij | C_max). The time of a
// task is the same on every processor. The time of a message is 0 between tasks on one processor.
// Readers of file formats (stg.h, weighted_dot.h) parse a text to a TaskGraph; MakeInstance() makes
// a graph and a cluster of it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/time.h"
#include "framework/instances/instance.h"

namespace emplace {

struct TaskGraph {
  struct Task {
    std::string name;  ///< unique
    Nanos time = 0;    ///< [ns]
  };
  struct Message {
    int from = 0, to = 0;  ///< tasks
    Nanos time = 0;        ///< between two processors [ns]
  };
  std::string format;  ///< of the file: "stg", "dot"
  std::string name;
  std::vector<Task> tasks;
  std::vector<Message> messages;
  int processors = 0;             ///< number in the file; 0: not given
  std::optional<Nanos> optimum;   ///< of a schedule on them, if the file gives it [ns]
  std::vector<int> processor_of;  ///< [num_tasks] in that schedule; empty: not given
  std::vector<Nanos> start;       ///< [num_tasks] in that schedule; empty: not given [ns]
};

/// Reads a weight, whose unit in a file is a microsecond. Decimals are read exactly and rounded to
/// the nearest nanosecond.
/// @throws InputError "expected a number ..., got ..." unless it is a decimal number >= 0
Nanos ParseWeight(std::string_view text);

/// Returns the instance on `processors` equal devices "p0", "p1", ... of kind "processor" (class
/// gpu):
///
/// - each task is an op of kind "task" that costs its time;
/// - each message is a tensor of one byte per nanosecond, and every ordered pair of devices has its
///   own channel of 1 GB/s without latency. A message that does not wait for the channel takes
///   exactly its time.
///
/// In the classical model any number of messages may pass between two processors at once; here they
/// pass one after another. So if messages take time, the optimum of a file is marked
/// `without_contention`: it is a lower bound, and is reached if no two messages of its schedule
/// overlap on a channel.
///
/// The optimum and the schedule of the file are kept if they are for the same number of processors.
/// @param where  prefix of error messages
/// @throws InputError naming `where`: no tasks, processors not in [1, 64], a cycle, a task name
///   twice
Instance MakeInstance(const TaskGraph& tasks, int processors, const std::string& where);

/// Returns `count` devices named "p0", "p1", ..., device d of kind `kinds[d % kinds.size()]`, with
/// unlimited memory, and a channel of 1 byte per nanosecond without latency for every ordered pair.
Cluster PrivateChannels(std::vector<DeviceKind> kinds, int count);

}  // namespace emplace
