#pragma once

// The compiled part of the Python package: each function adds one room to the module. Types that
// several rooms know are here.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "experiments/problem/load.h"
#include "framework/placement/placement.h"
#include "framework/search/evaluator.h"
#include "framework/search/meter.h"
#include "simulator/simulator.h"
#include "simulator/timeline.h"

namespace emplace::python {

namespace nb = nanobind;

void AddErrors(nb::module_& module);       // errors.cc
void AddGraph(nb::module_& module);        // graph.cc
void AddCluster(nb::module_& module);      // cluster.cc
void AddCosts(nb::module_& module);        // costs.cc
void AddCostTable(nb::module_& module);    // cost_table.cc
void AddOutcomes(nb::module_& module);     // outcomes.cc
void AddProblemView(nb::module_& module);  // problem_view.cc
void AddProblem(nb::module_& module);      // problem.cc
void AddTimeline(nb::module_& module);     // timeline.cc
void AddAgents(nb::module_& module);       // agents.cc
void AddPrograms(nb::module_& module);     // programs.cc

/// Read-only NumPy views of memory that `owner` keeps alive.
template <class T, int kDims>
using View = nb::ndarray<nb::numpy, const T, nb::ndim<kDims>, nb::c_contig>;

template <class T>
View<T, 1> ViewOf(const T* data, std::size_t size, nb::handle owner) {
  return View<T, 1>(data, {size}, owner);
}
template <class T>
View<T, 2> ViewOf(const T* data, std::size_t rows, std::size_t columns, nb::handle owner) {
  return View<T, 2>(data, {rows, columns}, owner);
}

/// A property that is an array: view(object, its handle) makes it.
template <class C, class F>
auto Array(F view) {
  return [view](nb::handle_t<C> self) { return view(nb::cast<const C&>(self), self); };
}

/// Placements as Python gives them.
using PlacementArray = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IntegerMatrix = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IntegerVector = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Integers of any kind, or a list of them, as int64. @throws nb::type_error for other numbers
template <class A>
A Integers(nb::handle numbers, const char* what) {
  const nb::object numpy = nb::module_::import_("numpy");
  const nb::object array = numpy.attr("ascontiguousarray")(numbers);
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  if (kind != "i" && kind != "u" && nb::cast<std::size_t>(array.attr("size")) > 0) {
    throw nb::type_error((std::string(what) + ": expected integers").c_str());
  }
  A integers;
  if (!nb::try_cast<A>(array.attr("astype")("int64"), integers)) {
    throw nb::type_error((std::string(what) + ": has the wrong number of dimensions").c_str());
  }
  return integers;
}

/// Device indices as bytes. @throws InputError for a number that is no byte
std::vector<DeviceIndex> ToDevices(const std::int64_t* data, std::size_t size);

/// What a batch of placements leads to, as columns.
struct Outcomes {
  int num_devices = 0;
  std::vector<Nanos> step_time;       // [B]
  std::vector<std::int64_t> deficit;  // [B]
  std::unique_ptr<bool[]> feasible;   // [B]
  std::vector<std::int64_t> peak;     // [B, num_devices], or empty
  std::vector<Nanos> busy;            // [B, num_devices], or empty

  std::size_t size() const { return step_time.size(); }
};

/// What is to be filled beyond time and feasibility.
struct WantedColumns {
  bool peaks = true, busy = false;
};

/// Evaluates rows. Call without the GIL.
std::shared_ptr<Outcomes> EvaluateRows(Evaluator& evaluator,
                                       const PlacementRows& rows,
                                       const WantedColumns& wanted);

/// Placements that are not bytes, as bytes. @throws nb::type_error, InputError
struct GivenPlacements {
  explicit GivenPlacements(nb::handle placements);

  std::vector<DeviceIndex> device;  // [num_placements, num_groups]
  std::size_t num_placements, num_groups;
};

/// One placement of the groups. @throws nb::type_error, InputError
Placement GivenPlacement(nb::handle placement);

/// Neighbours as Python gives them. @throws nb::type_error; InputError for offsets that do not
/// ascend, and for a shape that is not [num_moves, 2]
struct GivenMoves {
  GivenMoves(nb::handle base, nb::handle moves, nb::handle begin);

  Placement base;
  IntegerMatrix moves;
  std::vector<int> begin;
};

/// Evaluates what moves make of a placement. Call without the GIL.
/// @throws InputError for a group or device that is none
std::shared_ptr<Outcomes> EvaluateMoves(Evaluator& evaluator,
                                        const GivenMoves& given,
                                        const WantedColumns& wanted);

/// A graph, where it comes from, and its numbers as columns.
struct PythonGraph {
  std::shared_ptr<const Graph> graph;
  std::string path;  ///< of its file; empty: made in memory

  std::vector<double> flops;                            // [num_ops]
  std::vector<std::int64_t> bytes_accessed, workspace;  // [num_ops]
  std::vector<std::uint8_t> phase;                      // [num_ops]
  std::vector<std::int64_t> tensor_bytes;               // [num_tensors]
  std::vector<std::int32_t> producer;                   // [num_tensors]
  std::vector<std::uint8_t> role;                       // [num_tensors]
  std::vector<std::int32_t> edges;                      // [num_edges, 3]

  PythonGraph(std::shared_ptr<const Graph> graph, std::string path);
};

/// A cluster and where it comes from.
struct PythonCluster {
  std::shared_ptr<const Cluster> cluster;
  std::string path;                  ///< of its file; empty: made in memory
  std::vector<std::int64_t> memory;  // [num_devices]

  PythonCluster(std::shared_ptr<const Cluster> cluster, std::string path);
};

/// Costs of all ops, and the table that they come from.
struct PythonCosts {
  Costs costs;
  std::string table;               ///< path; empty: none
  std::vector<std::int64_t> time;  // [num_ops, num_devices], -1 where forbidden
  std::vector<std::uint8_t> rung;  // [num_ops, num_devices]
};

/// The object itself, or the one that a name of the menu or a path stands for.
nb::object GraphOf(nb::object graph);      // graph.cc
nb::object ClusterOf(nb::object cluster);  // cluster.cc

/// What a search sees of a problem: all but how good a placement is.
struct ProblemView {
  std::shared_ptr<const Problem> problem;
  nb::object graph, cluster;  ///< as Python objects; none: not made yet

  std::unique_ptr<bool[]> allowed;        // [num_groups, num_devices]
  std::vector<Nanos> group_cost;          // [num_groups, num_devices]
  std::vector<std::int64_t> resident;     // [num_groups]
  std::vector<std::int64_t> group_edges;  // [num_edges, 3]
  std::vector<std::int32_t> group_order;  // [num_groups]

  ProblemView() = default;
  explicit ProblemView(std::shared_ptr<const Problem> problem);
};

/// A problem with the simulator that evaluates its placements. Several Python threads may use it:
/// they take turns.
struct PythonProblem : ProblemView {
  LoadedProblem loaded;
  SimulatorOptions how;        ///< of the searched problem
  SimulatorOptions exact_how;  ///< of the exact one
  std::string config;          ///< JSON: the keys of a run config that say all but the agents
  SimulatedAs simulated;       ///< the same for placement files
  std::unique_ptr<Evaluator> simulator;
  std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();

  explicit PythonProblem(LoadedProblem loaded);
  const Problem& searched() const { return *loaded.searched; }
};

/// The events of a step in columns; timeline.cc names them.
struct PythonTimeline {
  std::shared_ptr<const Problem> problem;
  Timeline timeline;
  std::vector<std::int64_t> ops;        // [num_ops, 6]
  std::vector<std::int64_t> transfers;  // [num_transfers, 9]
  std::vector<std::int64_t> memory;     // [num_changes, 3]
};
PythonTimeline SimulateTimeline(PythonProblem& problem, nb::handle placement);

/// @throws InputError if it has another number of groups than the searched problem
Placement RequireSize(const PythonProblem& problem, Placement placement);

}  // namespace emplace::python
