#pragma once

// The task graphs of classical multiprocessor scheduling (P | prec, c_ij | C_max): tasks with a
// time, which is the same on every processor, and messages with a time, which is nothing between
// tasks on one processor. Readers of file formats (stg.h, weighted_dot.h) make a TaskGraph of a
// text; MakeInstance() makes a graph and a cluster of it.

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
  int processors = 0;            ///< that the file names; 0: it does not
  std::optional<Nanos> optimum;  ///< of a schedule on so many processors, if the file tells it [ns]
  std::vector<int> processor_of;  ///< [num_tasks] that schedule; empty: not told
  std::vector<Nanos> start;       ///< [num_tasks] likewise [ns]
};

/// One unit of weight in a file stands for a microsecond. Decimals are read exactly and rounded to
/// the nearest nanosecond.
/// @throws InputError "expected a number ..., got ..." unless it is a decimal number >= 0
Nanos ParseWeight(std::string_view text);

/// The instance on `processors` equal devices "p0", "p1", ... of kind "processor" (class gpu):
///
/// - each task is an op of kind "task" that costs its time;
/// - each message is a tensor of one byte per nanosecond, and every ordered pair of devices has a
///   channel of its own of 1 GB/s without latency: a message that has the channel to itself takes
///   exactly its time.
///
/// The classical model lets any number of messages pass between two processors at once; here they
/// take turns. So the optimum of a file in which messages take time is one `without_contention`: a
/// lower bound, which is reached where no two messages of its schedule overlap on a channel.
///
/// Optimum and schedule of the file are kept if they are for as many processors.
/// @param where  stands for the file in messages
/// @throws InputError naming `where`: no tasks, processors not in [1, 64], a cycle, a task name
///   twice
Instance MakeInstance(const TaskGraph& tasks, int processors, const std::string& where);

/// `count` devices named "p0", "p1", ..., device d of kind `kinds[d % kinds.size()]`, with
/// unlimited memory, and a channel of 1 byte per nanosecond without latency for every ordered pair.
Cluster PrivateChannels(std::vector<DeviceKind> kinds, int count);

}  // namespace emplace
