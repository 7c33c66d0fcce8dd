#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "agents/registry.h"
#include "experiments/problem/priority.h"
#include "experiments/problem/proof_in_time.h"
#include "experiments/run/run_config.h"
#include "experiments/run/run_reader.h"
#include "experiments/run/search_run.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/bounds/bounds.h"
#include "framework/bounds/lower_bound.h"
#include "framework/bounds/partial_bound.h"
#include "framework/cost/cost_model.h"
#include "scripts/emplace/bindings/bindings.h"
#include "scripts/emplace/bindings/evaluation.h"
#include "simulator/semantics.h"

namespace emplace::python {
namespace {

using CostArray = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Returns the graph with the costs as measured ones by device kind, so that its file is complete.
std::shared_ptr<const Graph> WithCosts(const Graph& graph,
                                       const Cluster& cluster,
                                       const CostArray& costs) {
  const int num_devices = cluster.num_devices();
  if (costs.shape(0) != static_cast<std::size_t>(graph.num_ops()) ||
      costs.shape(1) != static_cast<std::size_t>(num_devices)) {
    throw InputError(
        fmt::format("costs: shape [{}, {}]; expected [num_ops, num_devices] = [{}, {}]",
                    costs.shape(0),
                    costs.shape(1),
                    graph.num_ops(),
                    num_devices));
  }
  std::vector<Op> ops(graph.ops().begin(), graph.ops().end());
  for (int v = 0; v < graph.num_ops(); ++v) {
    std::map<std::string, int> device_of_kind;  // the first on which the op may run
    ops[v].cost_ns.clear();
    std::vector<std::string> kinds, devices;
    for (int d = 0; d < num_devices; ++d) {
      const std::int64_t cost = costs(v, d);
      const std::string& kind = cluster.kind_of(d).name;
      if (cost < -1) {
        throw InputError(
            fmt::format("costs: op \"{}\" on \"{}\": got {}, expected a time [ns], or -1 if it may "
                        "not run there",
                        ops[v].name,
                        cluster.device(d).name,
                        cost));
      }
      if (cost < 0) continue;
      devices.push_back(cluster.device(d).name);
      const auto [known, is_new] = device_of_kind.emplace(kind, d);
      if (!is_new) {
        if (costs(v, known->second) == cost) continue;
        throw InputError(
            fmt::format("costs: op \"{}\" costs {} on \"{}\" and {} on \"{}\", which are both of "
                        "kind {}; give them different kinds",
                        ops[v].name,
                        costs(v, known->second),
                        cluster.device(known->second).name,
                        cost,
                        cluster.device(d).name,
                        kind));
      }
      kinds.push_back(kind);
      ops[v].cost_ns.emplace_back(kind, static_cast<double>(cost));
    }
    if (devices.empty()) {
      throw InputError(fmt::format("costs: op \"{}\" may not run on any device", ops[v].name));
    }
    bool everywhere = true;  // if the op names neither kinds nor devices
    std::size_t of_kinds = 0;
    for (int d = 0; d < num_devices; ++d) {
      const DeviceKind& kind = cluster.kind_of(d);
      const bool is_known = device_of_kind.contains(kind.name);
      everywhere = everywhere && is_known && kind.device_class != DeviceClass::kNetwork;
      of_kinds += is_known;
    }
    ops[v].device_kinds = everywhere ? std::vector<std::string>() : kinds;
    ops[v].devices = devices.size() == of_kinds ? std::vector<std::string>() : devices;
  }
  return std::make_shared<const Graph>(
      graph.name(),
      std::vector<Tensor>(graph.tensors().begin(), graph.tensors().end()),
      std::move(ops),
      graph.source(),
      graph.name(),
      graph.extra());
}

// Returns the path, or a text in its place for an object in memory: run configs name files.
std::string PathOr(const std::string& path, const char* other) {
  return path.empty() ? other : path;
}

void MakePythonProblem(PythonProblem* self,
                       nb::object graph,
                       nb::object cluster,
                       nb::object costs,
                       nb::object coarsen,
                       const std::string& semantics,
                       const std::string& objective,
                       bool simulate_groups,
                       bool count_gaps,
                       const std::string& priority,
                       nb::object issue_order,
                       int threads) {
  graph = GraphOf(graph);
  cluster = ClusterOf(cluster);
  const auto& of_cluster = nb::cast<const PythonCluster&>(cluster);
  nb::dict config;
  if (nb::isinstance<PythonCosts>(costs)) {
    const std::string& table = nb::cast<const PythonCosts&>(costs).table;
    if (!table.empty()) config["costs"] = table;
  } else if (nb::isinstance<nb::str>(costs)) {
    config["costs"] = costs;
  } else if (!costs.is_none()) {
    const auto& whole = nb::cast<const PythonGraph&>(graph);
    graph = nb::cast(
        PythonGraph(WithCosts(*whole.graph, *of_cluster.cluster, nb::cast<CostArray>(costs)), ""));
  }
  const auto& of_graph = nb::cast<const PythonGraph&>(graph);
  config["graph"] = PathOr(of_graph.path, "./graph in memory.json");
  config["cluster"] = PathOr(of_cluster.path, "./cluster in memory.yaml");
  config["semantics"] = semantics;
  config["objective"] = objective;
  config["coarsen"] = coarsen;
  config["simulate_groups"] = simulate_groups;
  config["count_gaps"] = count_gaps;
  config["priority"] = priority;
  const nb::object dumps = nb::module_::import_("json").attr("dumps");
  const auto text = nb::cast<std::string>(dumps(config));
  config["threads"] = threads;
  config["agents"] = nb::make_tuple("single_device");
  const RunPlan plan =
      MakeRunPlan(ConfigNode::FromString(nb::cast<std::string>(dumps(config)), "problem"),
                  "problem",
                  {},
                  AllAgents());
  LoadedProblem loaded;
  {
    const nb::gil_scoped_release release;
    const auto table = plan.costs.empty() ? nullptr : LoadCosts(plan.costs);
    loaded = MakeProblem(of_graph.graph,
                         of_cluster.cluster,
                         plan.passes,
                         plan.objective,
                         simulate_groups,
                         of_graph.graph->name(),
                         table.get());
  }
  PythonProblem made(std::move(loaded));
  made.graph = graph;
  made.cluster = cluster;
  made.config = text;
  made.simulated = DescribeSimulation(plan);
  made.how = plan.SimulatorFor(*made.loaded.searched);
  if (!issue_order.is_none()) {
    const auto given = Integers<IntegerVector>(issue_order, "issue_order");
    if (simulate_groups) {
      throw InputError("issue_order: is of ops, so it needs simulate_groups=False");
    }
    for (std::size_t i = 0; i < given.shape(0); ++i) {
      const std::int64_t op = given(i);
      made.how.issue_order.push_back(op < 0 || op > of_graph.graph->num_ops()
                                         ? -1  // which RequireIssueOrder() refuses
                                         : static_cast<int>(op));
    }
    RequireIssueOrder(*of_graph.graph, made.how.issue_order, made.how.semantics);
  }
  made.exact_how = simulate_groups ? plan.SimulatorFor(*made.loaded.exact) : made.how;
  made.simulator = MakeSimulator(made.loaded.searched, made.how);
  new (self) PythonProblem(std::move(made));
}

struct PythonBounds {
  Bounds simple;
  LowerBound proven;
  std::string ended;
};

PythonBounds BoundsOf(PythonProblem& self, double seconds, std::optional<Nanos> known) {
  const nb::gil_scoped_release release;
  const Bounds simple = ComputeBounds(self.searched());
  if (seconds <= 0) return {simple, ProveBound(self.searched()), ""};
  Certificate proof = ProveInTime({.problem = self.loaded.searched,
                                   .how = self.how,
                                   .best = known,
                                   .proved = {},
                                   .seconds = seconds,
                                   .interrupt = {},
                                   .improved = {}});
  return {simple, std::move(proof.bound), std::move(proof.ended)};
}

std::vector<DeviceIndex> Expanded(const PythonProblem& self, nb::handle placement) {
  return self.loaded.Expand(RequireSize(self, GivenPlacement(placement)));
}

Nanos PlacementBoundOf(PythonProblem& self, nb::handle placement) {
  if (self.searched().objective() != Objective::kStepTime) {
    throw InputError("placement_bound: expected a problem of objective step_time, got period");
  }
  const Placement given = RequireSize(self, GivenPlacement(placement));
  const Problem& problem = self.searched();
  for (int g = 0; g < problem.num_groups(); ++g) {
    if (given.device[g] >= problem.num_devices() || !problem.allowed(g, given.device[g])) {
      throw InputError(
          fmt::format("placement: group {} may not run on device {}", g, given.device[g]));
    }
  }
  const nb::gil_scoped_release release;
  return PartialBound(problem).OfPlacement(given);
}

nb::ndarray<nb::numpy, DeviceIndex, nb::ndim<1>> Expand(const PythonProblem& self,
                                                        nb::handle placement) {
  auto* devices = new std::vector<DeviceIndex>(Expanded(self, placement));
  nb::capsule owner(
      devices, [](void* data) noexcept { delete static_cast<std::vector<DeviceIndex>*>(data); });
  return {devices->data(), {devices->size()}, owner};
}

void WritePlacement(const PythonProblem& self, nb::handle placement, const std::string& path) {
  const Problem& exact = *self.loaded.exact;
  WriteFileAtomically(path,
                      FormatPlacement(Expanded(self, placement),
                                      exact.graph(),
                                      exact.cluster(),
                                      self.exact_how.issue_order,
                                      self.simulated));
}

std::optional<std::pair<std::string, Nanos>> SingleDeviceOf(PythonProblem& self) {
  const nb::gil_scoped_release release;
  const std::optional<SingleDevice> best = BestSingleDevice(self.loaded.searched, self.how);
  if (!best) return std::nullopt;
  return std::pair(best->device, best->step_time);
}

constexpr const char* kProblemSignature =
    "def __init__(self, graph: Graph | str, cluster: Cluster | str, *, "
    "costs: Costs | str | numpy.typing.NDArray[numpy.int64] | None = None, "
    "coarsen: Sequence[object] = ('colocate',), semantics: str = 'queue', "
    "objective: str = 'step_time', simulate_groups: bool = False, count_gaps: bool = False, "
    "priority: str = 'id', issue_order: numpy.typing.ArrayLike | None = None, threads: int = 0) -> "
    "None";

constexpr const char* kProblemText =
    R"(graph, cluster: objects, paths, or names of the menus.
costs: None: the graph's own costs and the model; measured costs: a Costs object, the path of a table or a
    name of `emplace list costs`; or an int64 array [num_ops, num_devices] of times [ns], -1 where
    an op may not run, equal on the devices of one kind where it may.
coarsen: passes as in a run config: ["colocate", {"merge_cheapest": {"groups": 128}}].
semantics, objective, simulate_groups, count_gaps, priority: as in a run config.
issue_order: int [num_ops]: a topological order in which the host issues the ops, such as pipeline_order(), in
    place of the priority's; for semantics that have an issue order. The key `config` does not contain it.
threads: number of threads that share a batch; 0: all cores. Changes no result.

Throws InputError naming the wrong part and the reason.)";

}  // namespace

Placement RequireSize(const PythonProblem& problem, Placement placement) {
  const int num_groups = problem.searched().num_groups();
  if (static_cast<int>(placement.device.size()) == num_groups) return placement;
  throw InputError(fmt::format(
      "placement: has {} groups, but the problem has {}", placement.device.size(), num_groups));
}

PythonProblem::PythonProblem(LoadedProblem given)
    : ProblemView(given.searched), loaded(std::move(given)) {
}

void AddProblem(nb::module_& module) {
  using V = ProblemView;
  using B = PythonBounds;
  nb::class_<B>(module, "Bounds", "Lower bounds on the objective of all placements that fit.")
      .def_prop_ro(
          "value", [](const B& self) { return self.proven.value; }, "the best one [ns]")
      .def_prop_ro(
          "method", [](const B& self) { return self.proven.method; }, "what proved it")
      .def_prop_ro(
          "critical_path", [](const B& self) { return self.simple.critical_path; }, "[ns]")
      .def_prop_ro(
          "work", [](const B& self) { return self.simple.work; }, "[ns]")
      .def_prop_ro(
          "ended",
          [](const B& self) { return self.ended; },
          "why the proof ended; empty without seconds")
      .def("__repr__", [](const B& self) {
        return fmt::format("Bounds({:.6g} ms by {})",
                           static_cast<double>(self.proven.value) / 1e6,
                           self.proven.method);
      });

  using P = PythonProblem;
  nb::class_<P, V> problem(
      module,
      "Problem",
      "A graph and a cluster, with the simulator that evaluates placements.\n"
      "\n"
      "A placement is a device index per group: [num_groups], or [B, num_groups] for B of them.");
  problem
      .def("__init__",
           MakePythonProblem,
           nb::arg("graph"),
           nb::arg("cluster"),
           nb::kw_only(),
           nb::arg("costs") = nb::none(),
           nb::arg("coarsen") = nb::make_tuple("colocate"),
           nb::arg("semantics") = "queue",
           nb::arg("objective") = "step_time",
           nb::arg("simulate_groups") = false,
           nb::arg("count_gaps") = false,
           nb::arg("priority") = "id",
           nb::arg("issue_order") = nb::none(),
           nb::arg("threads") = 0,
           nb::sig(kProblemSignature),
           kProblemText)
      .def_ro("config", &P::config, "JSON: the keys of a run config that describe this problem")
      .def_prop_ro(
          "num_ops",
          [](const P& self) { return self.loaded.exact->num_ops(); },
          "costs of the whole graph, even if a contracted one is searched")
      .def_prop_ro(
          "searched",
          [](const P& self) { return ProblemView(self.loaded.searched); },
          "the problem as a search sees it: of the contracted graph if that is searched")
      .def_prop_ro("group_of_op",
                   Array<P>([](const P& p, nb::handle self) {
                     const auto groups = p.loaded.exact->grouping().group_of_op();
                     return ViewOf(groups.data(), groups.size(), self);
                   }),
                   "[num_ops] int32")
      .def_prop_ro("costs",
                   Array<P>([](const P& p, nb::handle self) {
                     const Costs& costs = p.loaded.exact->costs();
                     return ViewOf(costs.time.data(), costs.num_ops, costs.num_devices, self);
                   }),
                   "[num_ops, num_devices] int64 [ns]; 2^56: the op may not run there")
      .def("bounds",
           BoundsOf,
           nb::arg("seconds") = 0.0,
           nb::arg("known") = nb::none(),
           nb::sig("def bounds(self, seconds: float = 0.0, known: int | None = None) -> Bounds"),
           "Returns proved lower bounds on the objective of every placement that fits. seconds: "
           "time for the methods of\n`emplace certify`, which improve as long as they run. known: "
           "the objective of a placement [ns], at which they end.")
      .def("placement_bound",
           PlacementBoundOf,
           nb::arg("placement"),
           nb::sig("def placement_bound(self, placement: numpy.typing.ArrayLike) -> int"),
           "Returns a lower bound on the step time of one placement in any order of its ops [ns]. "
           "The rest of its step is\nwaiting that another order, or a better bound, may remove. "
           "Throws InputError for the objective period.")
      .def("best_single_device",
           SingleDeviceOf,
           "(name, step time [ns]) of the fastest device with all ops that may run there on it "
           "(the first of equal ones),\nthe baseline of speed-ups. None: the model does not fit on "
           "a single device.")
      .def("timeline",
           SimulateTimeline,
           nb::arg("placement"),
           nb::sig("def timeline(self, placement: numpy.typing.ArrayLike) -> Timeline"),
           "Simulates one placement with all its events, every op by itself; far slower than "
           "evaluate().")
      .def("expand",
           Expand,
           nb::arg("placement"),
           nb::sig("def expand(self, placement: numpy.typing.ArrayLike) -> "
                   "numpy.typing.NDArray[numpy.uint8]"),
           "Returns the device of every op, uint8 [num_ops], for a placement of the groups.")
      .def("write_placement",
           WritePlacement,
           nb::arg("placement"),
           nb::arg("path"),
           nb::sig(
               "def write_placement(self, placement: numpy.typing.ArrayLike, path: str) -> None"),
           "Writes a placement file with a device name per op and the settings of the simulation.")
      .def("__repr__", [](const P& self) {
        return fmt::format("Problem({} on {}: {} groups, {} devices, {} semantics)",
                           self.searched().graph().name(),
                           self.searched().cluster().name(),
                           self.searched().num_groups(),
                           self.searched().num_devices(),
                           ToString(self.how.semantics));
      });
  // One thread evaluates at a time.
  AddEvaluation(problem, [](P& self, const auto& body) {
    const nb::gil_scoped_release release;
    const std::lock_guard lock(*self.mutex);
    return body(*self.simulator);
  });
}

}  // namespace emplace::python
