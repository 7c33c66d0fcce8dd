#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "scripts/emplace/bindings/bindings.h"

namespace emplace::python {

ProblemView::ProblemView(std::shared_ptr<const Problem> given) : problem(std::move(given)) {
  const int num_groups = problem->num_groups(), num_devices = problem->num_devices();
  allowed = std::make_unique<bool[]>(std::size_t(num_groups) * num_devices);
  for (int g = 0; g < num_groups; ++g) {
    resident.push_back(problem->group_resident_bytes(g));
    for (int d = 0; d < num_devices; ++d) {
      allowed[std::size_t(g) * num_devices + d] = problem->allowed(g, d);
      group_cost.push_back(problem->allowed(g, d) ? problem->group_cost(g, d) : -1);
    }
    for (const Problem::Edge& edge : problem->neighbors(g)) {
      if (edge.neighbor > g) group_edges.insert(group_edges.end(), {g, edge.neighbor, edge.bytes});
    }
  }
  group_order.assign(problem->group_order().begin(), problem->group_order().end());
}

void AddProblemView(nb::module_& module) {
  using V = ProblemView;
  nb::class_<V>(module,
                "ProblemView",
                "The part of a problem that a search sees, without the simulator.\n"
                "\n"
                "If a contracted graph is searched, this is the contracted graph. Arrays are "
                "read-only views without copies.")
      .def_prop_ro(
          "graph",
          [](V& self) {
            if (!self.graph) {
              self.graph = nb::cast(PythonGraph(
                  std::shared_ptr<const Graph>(self.problem, &self.problem->graph()), ""));
            }
            return self.graph;
          },
          nb::sig("def graph(self) -> Graph"))
      .def_prop_ro(
          "cluster",
          [](V& self) {
            if (!self.cluster) {
              self.cluster = nb::cast(PythonCluster(
                  std::shared_ptr<const Cluster>(self.problem, &self.problem->cluster()), ""));
            }
            return self.cluster;
          },
          nb::sig("def cluster(self) -> Cluster"))
      .def_prop_ro("num_ops", [](const V& self) { return self.problem->num_ops(); })
      .def_prop_ro("num_groups", [](const V& self) { return self.problem->num_groups(); })
      .def_prop_ro("num_devices", [](const V& self) { return self.problem->num_devices(); })
      .def_prop_ro("group_of_op",
                   Array<V>([](const V& p, nb::handle self) {
                     const auto groups = p.problem->grouping().group_of_op();
                     return ViewOf(groups.data(), groups.size(), self);
                   }),
                   "[num_ops] int32")
      .def_prop_ro("costs",
                   Array<V>([](const V& p, nb::handle self) {
                     const Costs& costs = p.problem->costs();
                     return ViewOf(costs.time.data(), costs.num_ops, costs.num_devices, self);
                   }),
                   "[num_ops, num_devices] int64 [ns]; 2^56: the op may not run there")
      .def_prop_ro("costs_uncertainty",
                   Array<V>([](const V& p, nb::handle self) {
                     const Costs& costs = p.problem->costs();
                     return ViewOf(
                         costs.uncertainty.data(), costs.num_ops, costs.num_devices, self);
                   }),
                   "[num_ops, num_devices] float32: relative standard error of the costs")
      .def_prop_ro("allowed",
                   Array<V>([](const V& p, nb::handle self) {
                     return View<bool, 2>(p.allowed.get(),
                                          {static_cast<std::size_t>(p.problem->num_groups()),
                                           static_cast<std::size_t>(p.problem->num_devices())},
                                          self);
                   }),
                   "[num_groups, num_devices] bool: whether the group may be on the device")
      .def_prop_ro(
          "group_costs",
          Array<V>([](const V& p, nb::handle self) {
            return ViewOf(
                p.group_cost.data(), p.problem->num_groups(), p.problem->num_devices(), self);
          }),
          "[num_groups, num_devices] int64: sum of its ops' costs [ns]; -1 where it may not be")
      .def_prop_ro("group_resident_bytes",
                   Array<V>([](const V& p, nb::handle self) {
                     return ViewOf(p.resident.data(), p.resident.size(), self);
                   }),
                   "[num_groups] int64: parameters, buffers and optimiser state [B]")
      .def_prop_ro("group_edges",
                   Array<V>([](const V& p, nb::handle self) {
                     return ViewOf(p.group_edges.data(), p.group_edges.size() / 3, 3, self);
                   }),
                   "[num_edges, 3] int64: two groups, the first below the second, and the bytes "
                   "that cross if "
                   "they are on different devices [B]")
      .def_prop_ro(
          "group_order",
          Array<V>([](const V& p, nb::handle self) {
            return ViewOf(p.group_order.data(), p.group_order.size(), self);
          }),
          "[num_groups] int32: groups in the order of their first op in topological order");
}

}  // namespace emplace::python
