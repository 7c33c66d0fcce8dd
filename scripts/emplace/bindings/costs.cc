#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "experiments/console/menu.h"
#include "framework/search/costed_problem.h"
#include "scripts/emplace/bindings/bindings.h"

namespace emplace::python {
namespace {

void MakeCosts(PythonCosts* self, nb::object graph, nb::object cluster, nb::object table) {
  PythonCosts made;
  graph = GraphOf(graph);
  cluster = ClusterOf(cluster);
  if (!table.is_none()) {
    made.table = nb::cast<std::string>(nb::str(table));
    made.table = std::filesystem::absolute(ResolveMenu(CostsMenu(), made.table, "costs"))
                     .lexically_normal()
                     .string();
  }
  const auto measured = made.table.empty() ? nullptr : LoadCosts(made.table);
  const auto& of_graph = nb::cast<const PythonGraph&>(graph).graph;
  made.costs = CostedProblem(of_graph,
                             nb::cast<const PythonCluster&>(cluster).cluster,
                             of_graph->name(),
                             {.table = measured.get()})
                   .costs;
  for (const Nanos time : made.costs.time) made.time.push_back(time < kMaxNanos ? time : -1);
  for (const CostSource source : made.costs.source)
    made.source.push_back(static_cast<std::uint8_t>(source));
  new (self) PythonCosts(std::move(made));
}

std::vector<std::string> CostSourceNames() {
  std::vector<std::string> names;
  for (int source = 0; source < kNumCostSources; ++source)
    names.emplace_back(ToString(static_cast<CostSource>(source)));
  return names;
}

}  // namespace

void AddCosts(nb::module_& module) {
  using C = PythonCosts;
  nb::class_<C>(module,
                "Costs",
                "Costs of every op of a graph on every device of a cluster, with their sources.")
      .def("__init__",
           MakeCosts,
           nb::arg("graph"),
           nb::arg("cluster"),
           nb::arg("table") = nb::none(),
           nb::sig("def __init__(self, graph: Graph | str, cluster: Cluster | str, table: str | "
                   "None = None) "
                   "-> None"),
           "table: measured costs, a path or a name of `emplace list costs`; None: the graph's own "
           "costs and the\n"
           "model.\n"
           "\n"
           "Throws InputError naming op and device.")
      .def_ro("table", &C::table, "path of the measured table; empty: none")
      .def_prop_ro("time",
                   Array<C>([](const C& c, nb::handle self) {
                     return ViewOf(c.time.data(), c.costs.num_ops, c.costs.num_devices, self);
                   }),
                   "[num_ops, num_devices] int64 [ns]; -1: the op may not run there")
      .def_prop_ro("source",
                   Array<C>([](const C& c, nb::handle self) {
                     return ViewOf(c.source.data(), c.costs.num_ops, c.costs.num_devices, self);
                   }),
                   "[num_ops, num_devices] uint8: source of each cost, an index into `sources`")
      .def_prop_ro("uncertainty",
                   Array<C>([](const C& c, nb::handle self) {
                     return ViewOf(
                         c.costs.uncertainty.data(), c.costs.num_ops, c.costs.num_devices, self);
                   }),
                   "[num_ops, num_devices] float32: relative standard error")
      .def_prop_ro(
          "sources", [](const C&) { return CostSourceNames(); }, "names of the sources, best first")
      .def("__repr__", [](const C& self) {
        return fmt::format("Costs({} ops, {} devices{})",
                           self.costs.num_ops,
                           self.costs.num_devices,
                           self.table.empty() ? "" : ", measured");
      });
}

}  // namespace emplace::python
