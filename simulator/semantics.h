#pragma once

// The semantics of the simulator. A semantics defines the order in which devices and channels do
// their work, and how long memory is held; README.md defines each to the nanosecond and the byte.
//
//   queue (Q)   devices and channels serve first come, first served by ready time (TensorFlow-like
//               executors, Placeto, FlexFlow)
//   stream (S)  every device and channel is an in-order stream that serves one fixed issue order
//               (CUDA streams; the executor under profilers/ works in this way)
//   interference (I)
//               as stream, on devices that slow one another down while they run at the same time
//
// Each semantics is one entry of the table in semantics.cc. All other code takes names, choices and
// help texts from there, and the tests that hold for every semantics run over the table. README.md,
// "A new semantics", lists the other changes that a further one needs.

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

/// A value is a position in the table. Only the values that C++ code names have an enumerator; the
/// others come from ParseSemantics() or AllSemantics().
enum class Semantics : std::uint8_t { kQueue, kStream, kInterference };

/// Returns every semantics, in the order of the table.
std::vector<Semantics> AllSemantics();

/// Returns the name in configs, on the command line and in results files: "queue".
std::string_view ToString(Semantics semantics);

/// Returns the semantics of a name.
/// @param where  begins the message: a file with line and column, or an option
/// @throws InputError naming `where` and the choices if no semantics has this name
Semantics ParseSemantics(std::string_view text, std::string_view where);

/// Returns all names for help texts: "queue or stream".
std::string SemanticsNames();

/// Returns all names with their meanings for help texts: "queue (first come, first served) or
/// stream (in-order streams)".
std::string SemanticsHelp();

/// One entry of the table: the properties of a semantics that the simulator needs.
struct SemanticsEntry {
  std::string_view name;     ///< one lower-case word
  std::string_view meaning;  ///< a few words for help texts

  /// The order in which the engine needs the ops of the compiled problem. @return [num_ops] op ids
  std::vector<int> (*op_order)(const Graph& graph);
  /// True if the host issues ops in one fixed order. `op_order` is then that order, and
  /// SimulatorOptions::issue_order may replace it.
  bool has_issue_order = false;
  /// The most hops of a route that the engine supports; the simulator refuses longer routes.
  int most_hops;
  /// Makes the fast implementation, for one thread. @param problem  compiled in op_order; outlives
  /// the engine
  std::unique_ptr<Engine> (*make_engine)(const CompiledProblem& problem,
                                         const EngineOptions& options);
  /// True if a LaneProgram (lanes/lane_program.h) of the same compiled problem represents this
  /// semantics. Lanes then simulate batches, and the engine does the rest.
  bool in_lanes;

  /// The plain implementation. Returns the events of a step in the order of service, and an outcome
  /// with all fields but memory (see reference.h, reference_internal.h).
  /// @param device_of_op  [num_ops], all allowed
  /// @throws InputError if the placement needs a route that is missing
  Timeline (*simulate_reference)(const Problem& problem,
                                 std::span<const DeviceIndex> device_of_op,
                                 const SimulatorOptions& options);
  /// The plain implementation of the memory rule. Adds the memory events to the timeline and the
  /// peaks to its outcome. @param timeline  from simulate_reference
  void (*add_reference_memory)(const Problem& problem,
                               std::span<const DeviceIndex> device_of_op,
                               Timeline& timeline);
};

/// Returns the entry of a semantics.
const SemanticsEntry& EntryOf(Semantics semantics);

/// Returns the semantics to compare with executed steps: in-order streams, which slow one another
/// down where the cluster has neighbours. The held-out steps of cost files, and so the intervals of
/// simulated times, are in these semantics.
inline Semantics SemanticsAsExecuted(const Cluster& cluster) {
  return cluster.has_neighbors() ? Semantics::kInterference : Semantics::kStream;
}

/// Returns whether a simulation itself computes the slowdown by neighbours. Costs must then exclude
/// it (CostInputs::apart).
inline bool CountsNeighbors(Semantics semantics) {
  return semantics == Semantics::kInterference;
}

/// Checks SimulatorOptions::issue_order.
/// @param issue_order  op ids; empty: there is nothing to check
/// @throws InputError if the semantics has no issue order (the message names those that have one),
///   or as RequireOpOrder() does
void RequireIssueOrder(const Graph& graph, std::span<const int> issue_order, Semantics semantics);

/// Returns the order in which an engine needs the ops: `issue_order` or, if empty, that of the
/// semantics.
/// @return [num_ops] op ids   @throws InputError as RequireIssueOrder() does
std::vector<int> OpOrder(const Graph& graph, std::span<const int> issue_order, Semantics semantics);

}  // namespace emplace
