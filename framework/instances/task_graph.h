#pragma once

// The task graphs of classical multiprocessor scheduling (P | prec, c_ij | C_max). The time of a
// task is the same on every processor. The time of a message is 0 between tasks on one processor.
// ParseStg() and ParseWeightedDot() parse a file to a TaskGraph; MakeInstance() makes a graph and a
// cluster of it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/time.h"
#include "framework/instances/instance.h"
#include "framework/search/problem.h"

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

// Standard Task Graph Set (files *.stg; T. Tobita, H. Kasahara, A standard task graph set for fair
// evaluation of multiprocessor scheduling algorithms, J. Scheduling 5(5), 2002). The first line
// holds the number n of tasks; the prototype set adds the number of processors. Then follow the
// tasks with increasing numbers, from 0 (an entry task of time 0) or from 1 on, up to n + 1 (an
// exit task of time 0), one per line:
//
//   number time k p_1 ... p_k            predecessors; messages take no time
//   number time k p_1 c_1 ... p_k c_k    each predecessor with the time of its message
//   number time k                        the same, with the pairs on the k lines that follow
//   p_1 c_1
//   ...
//
// A '#' begins a comment. The files do not contain the optimum, which is published separately.

/// Reads a file of the set. Tasks are named "t0", "t1", ... by number; dummy tasks are kept.
/// @param name   of the graph
/// @param where  prefix of error messages
/// @throws InputError "where:line: ...", with the value and the expected one: a field that is not a
///   number, a task out of order, a predecessor that does not exist or is listed twice, too many or
///   too few fields, an incomplete file or text after its end
TaskGraph ParseStg(std::string_view text, const std::string& name, const std::string& where);

// Task graphs in Graphviz' language with a `Weight` for each node (time of the task) and each edge
// (time of the message), as in the optimal-schedule set of the University of Auckland's Parallel
// and Reconfigurable Computing Lab:
//
//   digraph "Fork_Nodes_3" {
//     "TargetSystem"="Homogeneous-2";
//     "Total schedule length"=11;
//     a [Weight=5, Start=0, Processor=0];
//     b [Weight=6, Start=5, Processor=0];
//     c [Weight=3, Start=7, Processor=1];
//     a -> b [Weight=2];
//     a -> c [Weight=2];
//   }
//
// The reader accepts digraphs of nodes, edges (also chains a -> b -> c), attributes, defaults
// (`node [...]`, `edge [...]`) and comments; `Weight` may be written `weight`. With the attribute
// `TargetSystem` "Homogeneous-N" the file is for N processors, and `Total schedule length` is the
// optimum on them. If every node has `Start` and `Processor`, they are its schedule. Other
// attributes are ignored. Subgraphs, ports and HTML texts do not occur in such files and are
// refused.

/// Reads such a file. The tasks are in the order in which the file first names them.
/// @param name   of the graph, if the file has none
/// @param where  prefix of error messages
/// @throws InputError "where:line: ...": text that Graphviz would refuse or that is not supported
///   here, a node or edge without Weight, a Weight or Start that is not a number >= 0, more values
///   of Processor than processors
TaskGraph ParseWeightedDot(std::string_view text,
                           const std::string& name,
                           const std::string& where);

/// Returns a problem as such a text, for solvers of other projects: a node for each op and an edge
/// for each pair of ops that exchange tensors or control, with times in microseconds.
///
/// - `Weight` of a node: the mean cost on the devices on which the op may run; `Costs`: that on
/// each
///   device of the cluster, separated by commas, "-" where it may not run; `Group`: the number of
///   its group, for ops that are placed together
/// - `Weight` of an edge: the mean time of its bytes between two devices with a route, each alone
/// on
///   its route; `Bytes`
///
/// The order of channels, memory and the rules of the semantics are not in the text.
/// ParseWeightedDot() reads it as a problem of equal processors.
std::string FormatWeightedDot(const Problem& problem);

}  // namespace emplace
