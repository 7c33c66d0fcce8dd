#pragma once

// The semantics that the simulator knows. A semantics says in which order devices and channels do
// their work, and how long memory is held; README.md defines each to the nanosecond and the byte.
//
//   queue (Q)   devices and channels serve first come, first served by ready time (TensorFlow-like
//               executors, Placeto, FlexFlow)
//   stream (S)  every device and channel is an in-order stream fed in one fixed issue order (CUDA
//               streams; what the executor under profilers/ does)
//   interference (I)
//               the same, on devices that slow one another down while they run beside one another
//
// Each is one entry of the table in semantics.cc. Everything else takes names, choices and help
// texts from there, and the tests that hold for every semantics run over it; README.md, "A new
// semantics", tells what else a further one needs.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/graph.h"
#include "framework/placement/placement.h"
#include "framework/search/problem.h"

namespace emplace {

class Engine;
struct CompiledProblem;
struct EngineOptions;
struct SimulatorOptions;
struct Timeline;

/// A value is a position in the table. Only those that C++ code asks for have an enumerator; any
/// other comes from ParseSemantics() or AllSemantics().
enum class Semantics : std::uint8_t { kQueue, kStream, kInterference };

/// Every semantics, in the order of the table.
std::vector<Semantics> AllSemantics();

/// Its name in configs, on the command line and in results files: "queue".
std::string_view ToString(Semantics semantics);

/// The semantics of a name.
/// @param where  stands at the beginning of the message: a file with line and column, or an option
/// @throws InputError naming `where` and the choices if there is none of this name
Semantics ParseSemantics(std::string_view text, std::string_view where);

/// "queue or stream": all names, for help texts.
std::string SemanticsNames();

/// "queue (first come, first served) or stream (in-order streams)": all names with what they mean,
/// for help texts.
std::string SemanticsHelp();

/// One entry of the table: what the simulator needs to know of a semantics.
struct SemanticsEntry {
  std::string_view name;     ///< one lower-case word
  std::string_view meaning;  ///< a few words for help texts

  /// The order in which the engine wants the ops of the compiled problem. @return [num_ops] op ids
  std::vector<int> (*op_order)(const Graph& graph);
  /// The host issues ops in one fixed order, which SimulatorOptions::issue_order may replace:
  /// op_order is then that order.
  bool has_issue_order = false;
  /// Hops that the engine allows in a route; the simulator refuses clusters with a longer one.
  int most_hops;
  /// The fast implementation, for one thread. @param problem  compiled in op_order; outlives the
  /// engine
  std::unique_ptr<Engine> (*make_engine)(const CompiledProblem& problem,
                                         const EngineOptions& options);
  /// True if a LaneProgram (lanes/lane_program.h) of the same compiled problem describes it: then
  /// batches are simulated in lanes, and the engine does what they cannot.
  bool in_lanes;

  /// The plain implementation: the events of a step in the order of service, and an outcome with
  /// everything but memory (see reference.h, reference_internal.h).
  /// @param device_of_op  [num_ops], all allowed
  /// @throws InputError if a route is missing that the placement needs
  Timeline (*simulate_reference)(const Problem& problem,
                                 std::span<const DeviceIndex> device_of_op,
                                 const SimulatorOptions& options);
  /// The plain implementation of its memory rule: adds the timeline's memory events and the peaks
  /// of its outcome. @param timeline  from simulate_reference
  void (*add_reference_memory)(const Problem& problem,
                               std::span<const DeviceIndex> device_of_op,
                               Timeline& timeline);
};

/// The entry of a semantics.
const SemanticsEntry& EntryOf(Semantics semantics);

/// The semantics to compare with executed steps: devices and channels are in-order streams, which
/// slow one another down where the cluster has neighbours. Held-out steps of cost files, and so the
/// intervals of simulated times, are in these semantics.
inline Semantics SemanticsAsExecuted(const Cluster& cluster) {
  return cluster.has_neighbors() ? Semantics::kInterference : Semantics::kStream;
}

/// Whether a simulation counts by itself what neighbours cost: then costs must be without it
/// (CostSources::apart).
inline bool CountsNeighbors(Semantics semantics) {
  return semantics == Semantics::kInterference;
}

/// Checks SimulatorOptions::issue_order.
/// @param issue_order  op ids; empty: nothing to check
/// @throws InputError if the semantics has no issue order (with those that have one), or as
///   RequireOpOrder() does
void RequireIssueOrder(const Graph& graph, std::span<const int> issue_order, Semantics semantics);

/// The order in which an engine wants the ops: `issue_order` if there is one, else that of the
/// semantics.
/// @return [num_ops] op ids   @throws InputError as RequireIssueOrder() does
std::vector<int> OpOrder(const Graph& graph, std::span<const int> issue_order, Semantics semantics);

}  // namespace emplace
