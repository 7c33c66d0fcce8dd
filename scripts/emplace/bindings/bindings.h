#pragma once

// The compiled part of the Python package: each function below adds the classes and functions of
// one source file to the module. Types that several files use are declared here.

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
void AddPlan(nb::module_& module);         // plan.cc
void AddAgents(nb::module_& module);       // agents.cc
void AddPrograms(nb::module_& module);     // programs.cc

/// Returns a read-only NumPy view of memory that `owner` keeps alive.
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

/// Returns the getter of a property that is an array, made by view(object, its handle).
template <class C, class F>
auto Array(F view) {
  return [view](nb::handle_t<C> self) { return view(nb::cast<const C&>(self), self); };
}

/// Arrays of placements from Python.
using PlacementArray = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IntegerMatrix = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IntegerVector = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Converts integers, or a list of them, to int64. @throws nb::type_error for other numbers
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

/// Converts device indices to bytes. @throws InputError for a number that does not fit into a byte
std::vector<DeviceIndex> ToDevices(const std::int64_t* data, std::size_t size);

/// The outcomes of a batch of placements, as columns.
struct Outcomes {
  int num_devices = 0;
  std::vector<Nanos> step_time;       // [B]
  std::vector<std::int64_t> deficit;  // [B]
  std::unique_ptr<bool[]> feasible;   // [B]
  std::vector<std::int64_t> peak;     // [B, num_devices], or empty
  std::vector<Nanos> busy;            // [B, num_devices], or empty

  std::size_t size() const { return step_time.size(); }
};

/// The columns to fill besides time and feasibility.
struct WantedColumns {
  bool peaks = true, busy = false;
};

/// Evaluates rows. Must be called without the GIL.
std::shared_ptr<Outcomes> EvaluateRows(Evaluator& evaluator,
                                       const PlacementRows& rows,
                                       const WantedColumns& wanted);

/// Placements of another type than bytes, converted to bytes. @throws nb::type_error, InputError
struct GivenPlacements {
  explicit GivenPlacements(nb::handle placements);

  std::vector<DeviceIndex> device;  // [num_placements, num_groups]
  std::size_t num_placements, num_groups;
};

/// Returns one placement of the groups. @throws nb::type_error, InputError
Placement GivenPlacement(nb::handle placement);

/// Neighbours from Python. @throws nb::type_error; InputError for offsets that do not ascend, and
/// for a shape that is not [num_moves, 2]
struct GivenMoves {
  GivenMoves(nb::handle base, nb::handle moves, nb::handle begin);

  Placement base;
  IntegerMatrix moves;
  std::vector<int> begin;
};

/// Evaluates the neighbours that moves of a placement give. Must be called without the GIL.
/// @throws InputError for a group or device that does not exist
std::shared_ptr<Outcomes> EvaluateMoves(Evaluator& evaluator,
                                        const GivenMoves& given,
                                        const WantedColumns& wanted);

/// A graph, the path of its file, and its numbers as columns.
struct PythonGraph {
  std::shared_ptr<const Graph> graph;
  std::string path;  ///< of its file; empty if it was made in memory

  std::vector<double> flops;                            // [num_ops]
  std::vector<std::int64_t> bytes_accessed, workspace;  // [num_ops]
  std::vector<std::uint8_t> phase;                      // [num_ops]
  std::vector<std::int64_t> tensor_bytes;               // [num_tensors]
  std::vector<std::int32_t> producer;                   // [num_tensors]
  std::vector<std::uint8_t> role;                       // [num_tensors]
  std::vector<std::int32_t> edges;                      // [num_edges, 3]

  PythonGraph(std::shared_ptr<const Graph> graph, std::string path);
};

/// A cluster and the path of its file.
struct PythonCluster {
  std::shared_ptr<const Cluster> cluster;
  std::string path;                  ///< of its file; empty if it was made in memory
  std::vector<std::int64_t> memory;  // [num_devices]

  PythonCluster(std::shared_ptr<const Cluster> cluster, std::string path);
};

/// The costs of all ops, and the table from which they come.
struct PythonCosts {
  Costs costs;
  std::string table;                 ///< path; empty without a table
  std::vector<std::int64_t> time;    // [num_ops, num_devices], -1 where forbidden
  std::vector<std::uint8_t> source;  // [num_ops, num_devices]
};

/// Return the object itself if it is a graph or cluster, else the one of this path or menu name.
nb::object GraphOf(nb::object graph);      // graph.cc
nb::object ClusterOf(nb::object cluster);  // cluster.cc

/// A problem as a search sees it: everything but the quality of placements.
struct ProblemView {
  std::shared_ptr<const Problem> problem;
  nb::object graph, cluster;  ///< as Python objects; none until they are made

  std::unique_ptr<bool[]> allowed;        // [num_groups, num_devices]
  std::vector<Nanos> group_cost;          // [num_groups, num_devices]
  std::vector<std::int64_t> resident;     // [num_groups]
  std::vector<std::int64_t> group_edges;  // [num_edges, 3]
  std::vector<std::int32_t> group_order;  // [num_groups]

  ProblemView() = default;
  explicit ProblemView(std::shared_ptr<const Problem> problem);
};

/// A problem with the simulator that evaluates its placements. Several Python threads may use it;
/// their evaluations run one at a time.
struct PythonProblem : ProblemView {
  LoadedProblem loaded;
  SimulatorOptions how;        ///< of the searched problem
  SimulatorOptions exact_how;  ///< of the exact one
  std::string config;          ///< JSON: the keys of a run config without the agents
  SimulatedAs simulated;       ///< the same for placement files
  std::unique_ptr<Evaluator> simulator;
  std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();

  explicit PythonProblem(LoadedProblem loaded);
  const Problem& searched() const { return *loaded.searched; }
};

/// The events of a step in columns; timeline.cc gives their names.
struct PythonTimeline {
  std::shared_ptr<const Problem> problem;
  Timeline timeline;
  std::vector<std::int64_t> ops;        // [num_ops, 6]
  std::vector<std::int64_t> transfers;  // [num_transfers, 9]
  std::vector<std::int64_t> memory;     // [num_changes, 3]
};
PythonTimeline SimulateTimeline(PythonProblem& problem, nb::handle placement);
PythonTimeline TimelineColumns(std::shared_ptr<const Problem> problem, Timeline timeline);

/// Returns the placement. @throws InputError if its size is not that of the searched problem
Placement RequireSize(const PythonProblem& problem, Placement placement);

}  // namespace emplace::python
