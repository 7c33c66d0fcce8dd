#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "experiments/console/menu.h"
#include "experiments/plan/plan_ranks.h"
#include "experiments/plan/plan_report.h"
#include "experiments/problem/load.h"
#include "experiments/report/plan_picture.h"
#include "framework/base/error.h"
#include "framework/plan/apply_plan.h"
#include "framework/plan/pipeline_order.h"
#include "framework/plan/ranks.h"
#include "scripts/emplace/bindings/bindings.h"
#include "simulator/reference/reference.h"
#include "simulator/semantics.h"

namespace emplace::python {
namespace {

/// A plan applied to a step, and the origin of its ops in columns.
struct PythonPlan {
  std::shared_ptr<const PlannedStep> applied;
  int step_ops = 0;  ///< number of ops of the step
  int replicas = 1;
  nb::object graph, cluster;
  std::vector<std::uint8_t> role;                      // [num_ops]
  std::vector<std::int32_t> op, micro_batch, replica;  // [num_ops]
};

/// Returns integers of a range. @throws InputError naming the first one outside of it
std::vector<int> InRange(nb::handle given, const char* what, std::size_t size, int begin, int end) {
  const auto integers = Integers<IntegerVector>(given, what);
  if (integers.shape(0) != size) {
    throw InputError(fmt::format("{}: has {} numbers, expected {}", what, integers.shape(0), size));
  }
  std::vector<int> numbers;
  for (std::size_t i = 0; i < size; ++i) {
    const std::int64_t number = integers(i);
    if (number < begin || number >= end) {
      throw InputError(fmt::format(
          "{}[{}]: got {}, expected a number from {} to {}", what, i, number, begin, end - 1));
    }
    numbers.push_back(static_cast<int>(number));
  }
  return numbers;
}

template <class T, class N>
nb::ndarray<nb::numpy, T, nb::ndim<1>> Owned(const std::vector<N>& numbers) {
  auto* copy = new std::vector<T>(numbers.begin(), numbers.end());
  nb::capsule owner(copy, [](void* data) noexcept { delete static_cast<std::vector<T>*>(data); });
  return {copy->data(), {copy->size()}, owner};
}

Plan PlanOf(nb::object plan) {
  if (!nb::isinstance<nb::str>(plan)) {
    const nb::object dict = nb::module_::import_("builtins").attr("dict")(plan);
    plan = nb::module_::import_("json").attr("dumps")(dict);  // YAML, too
  }
  return ReadFields<Plan>(ConfigNode::FromString(nb::cast<std::string>(plan), "plan"));
}

void SetColumns(PythonPlan& made, std::shared_ptr<const PlannedStep> applied) {
  made.applied = std::move(applied);
  for (const PlannedOp& origin : made.applied->planned.ops) {
    made.role.push_back(static_cast<std::uint8_t>(origin.role));
    made.op.push_back(origin.op);
    made.micro_batch.push_back(origin.micro_batch);
    made.replica.push_back(origin.replica);
  }
}

void SetObjects(PythonPlan& made) {
  made.graph = nb::cast(
      PythonGraph(std::shared_ptr<const Graph>(made.applied, &made.applied->planned.graph), ""));
  made.cluster = nb::cast(PythonCluster(made.applied->cluster, ""));
}

PythonPlan ApplyGivenPlan(nb::object graph,
                          nb::object cluster,
                          nb::object plan,
                          nb::object together) {
  graph = GraphOf(graph);
  cluster = ClusterOf(cluster);
  const RankStep rank = FirstRank(nb::cast<const PythonGraph&>(graph).graph,
                                  nb::cast<const PythonCluster&>(cluster).cluster);
  const Graph& step = *rank.step;
  const Cluster& machine = *rank.cluster;
  const Plan read = PlanOf(plan);
  Grouping groups = Grouping::Identity(step.num_ops());
  if (!together.is_none()) {
    groups = Grouping(InRange(together, "together", step.num_ops(), 0, 1 << 30));
  }
  PythonPlan made;
  made.step_ops = step.num_ops();
  made.replicas = read.replicas;
  {
    const nb::gil_scoped_release release;
    SetColumns(made, std::make_shared<const PlannedStep>(ApplyPlan(step, machine, read, groups)));
  }
  SetObjects(made);
  return made;
}

auto PlacementOf(const PythonPlan& self, nb::handle device_of_op) {
  const auto given = Integers<IntegerMatrix>(device_of_op, "device_of_op");
  const auto step_ops = static_cast<std::size_t>(self.step_ops);
  if (given.shape(0) != static_cast<std::size_t>(self.replicas) || given.shape(1) != step_ops) {
    throw InputError(
        fmt::format("device_of_op: shape [{}, {}]; expected [replicas, ops of the step] = [{}, {}]",
                    given.shape(0),
                    given.shape(1),
                    self.replicas,
                    step_ops));
  }
  const int num_devices = self.applied->cluster->num_devices();
  std::vector<std::vector<DeviceIndex>> devices;
  for (int r = 0; r < self.replicas; ++r) {
    std::vector<DeviceIndex>& row = devices.emplace_back();
    for (std::size_t op = 0; op < step_ops; ++op) {
      const std::int64_t device = given(r, op);
      if (device < 0 || device >= num_devices) {
        throw InputError(fmt::format("device_of_op[{}][{}]: got {}, expected a number from 0 to {}",
                                     r,
                                     op,
                                     device,
                                     num_devices - 1));
      }
      row.push_back(static_cast<DeviceIndex>(device));
    }
  }
  return Owned<DeviceIndex>(PlannedPlacement(*self.applied, devices));
}

auto OrderOf(const PythonPlan& self,
             nb::handle stage_of_op,
             int num_stages,
             const std::string& schedule,
             int virtual_stages) {
  for (const auto& [name, number] :
       {std::pair("num_stages", num_stages), std::pair("virtual_stages", virtual_stages)}) {
    if (number >= 1 && number <= 1 << 15) continue;
    throw InputError(fmt::format("{}: got {}, expected a number above 0", name, number));
  }
  const Schedule parsed = ParseSchedule(schedule, "schedule");
  const auto stages =
      InRange(stage_of_op, "stage_of_op", self.step_ops, 0, num_stages * virtual_stages);
  return Owned<std::int32_t>(
      PipelineOrder(self.applied->planned, stages, num_stages, parsed, virtual_stages));
}

PythonGraph OrderedGraph(nb::object graph, nb::handle device_of_op, nb::handle order) {
  graph = GraphOf(graph);
  const Graph& given = *nb::cast<const PythonGraph&>(graph).graph;
  const int num_ops = given.num_ops();
  const auto devices = InRange(device_of_op, "device_of_op", num_ops, 0, 256);
  const auto ops = InRange(order, "order", num_ops, 0, num_ops);
  RequireIssueOrder(given, ops, Semantics::kStream);
  return PythonGraph(std::make_shared<const Graph>(InOrder(given, devices, ops)), "");
}

// Returns the plan that was found, on all replicas, with its placement, issue order and timeline.
nb::dict PlacedAsDict(const PlanSetting& setting, PlacedPlan placed, int replicas) {
  PythonPlan made;
  made.step_ops = setting.step->num_ops();
  made.replicas = replicas;
  std::optional<PythonTimeline> timeline;
  const std::shared_ptr<const Problem> problem = placed.problem;
  {
    const nb::gil_scoped_release release;
    SetColumns(made,
               std::make_shared<const PlannedStep>(
                   PlannedStep{{problem->graph(), std::move(placed.ops)},
                               std::shared_ptr<const Cluster>(problem, &problem->cluster())}));
    SimulatorOptions how{.semantics = setting.semantics};
    how.issue_order = placed.issue_order;
    timeline = TimelineColumns(problem, SimulateReference(*problem, placed.device_of_op, how));
  }
  SetObjects(made);
  nb::dict best;
  best["planned"] = nb::cast(std::move(made));
  best["placement"] = Owned<DeviceIndex>(placed.device_of_op);
  best["issue_order"] = nb::none();
  if (!placed.issue_order.empty()) best["issue_order"] = Owned<std::int32_t>(placed.issue_order);
  best["timeline"] = nb::cast(std::move(*timeline));
  return best;
}

nb::dict SearchGivenPlans(const nb::list& graphs,
                          const std::vector<int>& sizes,
                          nb::object cluster,
                          int batch,
                          const std::string& costs,
                          double seconds,
                          const std::string& semantics,
                          const std::string& layers) {
  PlanSetting setting;
  setting.cluster = nb::cast<const PythonCluster&>(ClusterOf(cluster)).cluster;
  if (!costs.empty()) setting.table = LoadCosts(ResolveMenu(CostsMenu(), costs, "costs"));
  setting.semantics = ParseSemantics(semantics, "semantics");
  std::vector<PlanGraph> given;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    PlanGraph& graph = given.emplace_back(PlanGraph{.setting = setting, .size = sizes[i]});
    RankStep rank = FirstRank(nb::cast<const PythonGraph&>(graphs[i]).graph, setting.cluster);
    graph.setting.step = std::move(rank.step);
    graph.setting.cluster = std::move(rank.cluster);
    graph.setting.where = graph.setting.step->name();
    CheckDeviceKinds(*graph.setting.step, graph.setting.cluster.get(), graph.setting.where);
  }
  PlanSearchOptions options{.batch = batch, .seconds = seconds, .layers = layers, .place = true};
  options.stop = [] {
    const nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
  };
  PlanSearchResult result;
  std::string json;
  {
    const nb::gil_scoped_release release;
    result = SearchPlansOfRanks(given, options);
    json = FormatPlanSearchJson(result, given, options);
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  nb::dict found;
  found["json"] = json;
  nb::list plans;
  const auto text = [](const FoundPlan& plan) {
    return nb::make_tuple(WriteFields(plan.plan, true), plan.graph);
  };
  for (const FoundPlan& plan : result.plans) plans.append(text(plan));
  found["plans"] = plans;
  nb::dict usual;
  for (const UsualPlan& each : result.usual) {
    if (each.plan) usual[each.name.c_str()] = text(*each.plan);
  }
  found["usual"] = usual;
  found["best"] = nb::none();
  if (result.placed) {
    const FoundPlan& best = result.plans[0];
    found["best"] =
        PlacedAsDict(given[best.graph].setting, std::move(*result.placed), best.plan.replicas);
  }
  return found;
}

}  // namespace

void AddPlan(nb::module_& module) {
  using P = PythonPlan;
  nb::class_<P>(module,
                "PlannedStep",
                "A step that a plan was applied to: an ordinary graph and the cluster for it.\n"
                "\n"
                "The arrays have the origin of each op. Made by apply_plan().")
      .def_prop_ro(
          "graph", [](const P& self) { return self.graph; }, nb::sig("def graph(self) -> Graph"))
      .def_prop_ro(
          "cluster",
          [](const P& self) { return self.cluster; },
          nb::sig("def cluster(self) -> Cluster"),
          "the given one, with a device of class network if collectives need one; of a graph of "
          "ranks, the devices of rank 0")
      .def_ro("replicas", &P::replicas)
      .def_prop_ro("role",
                   Array<P>([](const P& p, nb::handle self) {
                     return ViewOf(p.role.data(), p.role.size(), self);
                   }),
                   "[num_ops] uint8: 0 copy, 1 recompute, 2 accumulate, 3 collective")
      .def_prop_ro(
          "op",
          Array<P>(
              [](const P& p, nb::handle self) { return ViewOf(p.op.data(), p.op.size(), self); }),
          "[num_ops] int32: op of the step; of a sum, the producer of the gradient; -1: none")
      .def_prop_ro("micro_batch",
                   Array<P>([](const P& p, nb::handle self) {
                     return ViewOf(p.micro_batch.data(), p.micro_batch.size(), self);
                   }),
                   "[num_ops] int32; -1: of all")
      .def_prop_ro("replica",
                   Array<P>([](const P& p, nb::handle self) {
                     return ViewOf(p.replica.data(), p.replica.size(), self);
                   }),
                   "[num_ops] int32; -1: of all")
      .def(
          "placement",
          PlacementOf,
          nb::arg("device_of_op"),
          nb::sig("def placement(self, device_of_op: numpy.typing.ArrayLike) -> "
                  "numpy.typing.NDArray[numpy.uint8]"),
          "Returns the device of each op, uint8 [num_ops], from the devices of the step's ops, int "
          "[replicas, ops of the step].\nCollectives are on the network device.")
      .def("__repr__", [](const P& self) {
        return fmt::format("PlannedStep({} ops, {} replicas, {} devices)",
                           self.role.size(),
                           self.replicas,
                           self.applied->cluster->num_devices());
      });
  module.def("apply_plan",
             ApplyGivenPlan,
             nb::arg("graph"),
             nb::arg("cluster"),
             nb::arg("plan"),
             nb::arg("together") = nb::none(),
             nb::sig("def apply_plan(graph: Graph | str, cluster: Cluster | str, plan: "
                     "collections.abc.Mapping[str, object] | str, together: "
                     "numpy.typing.ArrayLike "
                     "| None = None) "
                     "-> PlannedStep"),
             R"(Applies a plan to the graph of a step, which has the size of one micro-batch.

plan: a Plan, a mapping with its keys, or YAML.
together: int [num_ops]: ops with equal numbers are placed together; None: ops with the same label.

Throws InputError naming the wrong key.)");
  module.def(
      "pipeline_order",
      OrderOf,
      nb::arg("planned"),
      nb::arg("stage_of_op"),
      nb::arg("num_stages"),
      nb::arg("schedule") = "1f1b",
      nb::arg("virtual_stages") = 1,
      nb::sig("def pipeline_order(planned: PlannedStep, stage_of_op: "
              "numpy.typing.ArrayLike, num_stages: int, schedule: str = '1f1b', "
              "virtual_stages: int = 1) -> "
              "numpy.typing.NDArray[numpy.int32]"),
      R"(Returns the issue order of a pipeline, int32 [num_ops], for Problem(issue_order=...) or in_order().

stage_of_op: int [ops of the step], in the order in which micro-batches pass the stages.
num_stages: devices with stages.
schedule: "gpipe", "1f1b" or "interleaved".
virtual_stages: of each device, interleaved; stage k is on device k mod num_stages.)");
  module.def(
      "in_order",
      OrderedGraph,
      nb::arg("graph"),
      nb::arg("device_of_op"),
      nb::arg("order"),
      nb::sig("def in_order(graph: Graph | str, device_of_op: numpy.typing.ArrayLike, order: "
              "numpy.typing.ArrayLike) -> Graph"),
      "Returns the graph with control inputs that keep each device's order of ops in queue "
      "semantics.\n\ndevice_of_op, order: int [num_ops].");
  module.def(
      "plan_text",
      [](nb::object plan) { return WriteFields(PlanOf(std::move(plan)), true); },
      nb::arg("plan"),
      nb::sig("def plan_text(plan: collections.abc.Mapping[str, object] | str) -> str"),
      "Returns a plan as YAML with all keys. Throws InputError naming the wrong key.");
  module.def(
      "plan_picture",
      [](const P& planned, const PythonTimeline& timeline, const std::string& title) {
        if (timeline.problem->num_ops() != static_cast<int>(planned.role.size())) {
          throw InputError(fmt::format("timeline: has {} ops, and the planned step has {}",
                                       timeline.problem->num_ops(),
                                       planned.role.size()));
        }
        return FormatPlanPicture(
            *timeline.problem, planned.applied->planned.ops, timeline.timeline, title);
      },
      nb::arg("planned"),
      nb::arg("timeline"),
      nb::arg("title") = "",
      nb::sig("def plan_picture(planned: PlannedStep, timeline: Timeline, title: str = '') -> str"),
      "Returns the picture of a planned step as SVG: rows of devices by replica and stage, boxes "
      "of "
      "passes over micro-batches, memory.");
  module.def(
      "search_plans_with",
      SearchGivenPlans,
      nb::arg("graphs"),
      nb::arg("sizes"),
      nb::arg("cluster"),
      nb::arg("batch"),
      nb::arg("costs"),
      nb::arg("seconds"),
      nb::arg("semantics"),
      nb::arg("layers"),
      nb::sig("def search_plans_with(graphs: list[Graph], sizes: list[int], cluster: Cluster "
              "| str, batch: int, costs: str, seconds: float, semantics: str, layers: str) "
              "-> dict[str, typing.Any]"),
      "emplace.search_plans() with all arguments; returns its JSON, the plans as YAML with the "
      "indices of their graphs, and the best one placed.");
}

}  // namespace emplace::python
