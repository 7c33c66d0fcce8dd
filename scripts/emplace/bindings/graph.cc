#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "experiments/console/menu.h"
#include "experiments/export/export_modules.h"
#include "framework/cluster/op_class.h"
#include "framework/cost/op_kind.h"
#include "framework/cost/op_signature.h"
#include "framework/graph/graph_io.h"
#include "scripts/emplace/bindings/bindings.h"

namespace emplace::python {
namespace {

std::vector<std::string> OpNames(const PythonGraph& self) {
  std::vector<std::string> names;
  for (const Op& op : self.graph->ops()) names.push_back(op.name);
  return names;
}

std::vector<std::string> OpKinds(const PythonGraph& self) {
  std::vector<std::string> kinds;
  for (const Op& op : self.graph->ops()) kinds.push_back(op.kind);
  return kinds;
}

std::vector<std::string> OpClasses(const PythonGraph& self) {
  std::vector<std::string> classes;
  for (const Op& op : self.graph->ops()) classes.emplace_back(ToString(ClassifyOp(op.kind)));
  return classes;
}

std::vector<std::string> OpSignatures(const PythonGraph& self) {
  std::vector<std::string> signatures;
  for (int op = 0; op < self.graph->num_ops(); ++op) {
    signatures.push_back(OpSignature(*self.graph, op));
  }
  return signatures;
}

std::vector<std::string> TensorNames(const PythonGraph& self) {
  std::vector<std::string> names;
  for (const Tensor& tensor : self.graph->tensors()) names.push_back(tensor.name);
  return names;
}

std::tuple<std::vector<std::string>, std::vector<int>, std::vector<std::vector<int>>> ModuleUnitsOf(
    const PythonGraph& self,
    const std::vector<std::string>& whole) {
  ModuleUnits units = FindModuleUnits(*self.graph, {whole.begin(), whole.end()});
  std::vector<std::vector<int>> bound;
  for (BoundUnits& group : units.groups) bound.push_back(std::move(group.units));
  return {std::move(units.names), std::move(units.unit_of_op), std::move(bound)};
}

PythonGraph ReadNamedGraph(const std::string& source) {
  const std::filesystem::path path = ResolveMenu(GraphMenu(), source, "graph");
  return {LoadGraph(path), std::filesystem::absolute(path).lexically_normal().string()};
}

}  // namespace

PythonGraph::PythonGraph(std::shared_ptr<const Graph> given, std::string from)
    : graph(std::move(given)), path(std::move(from)) {
  for (const Op& op : graph->ops()) {
    flops.push_back(op.flops);
    bytes_accessed.push_back(op.bytes_accessed);
    workspace.push_back(op.workspace_bytes);
    phase.push_back(static_cast<std::uint8_t>(op.phase));
  }
  for (int t = 0; t < graph->num_tensors(); ++t) {
    const Tensor& tensor = graph->tensor(t);
    tensor_bytes.push_back(tensor.bytes);
    producer.push_back(tensor.producer);
    role.push_back(static_cast<std::uint8_t>(tensor.role));
    if (tensor.producer < 0) continue;
    for (int reader : graph->readers(t)) edges.insert(edges.end(), {tensor.producer, reader, t});
  }
}

nb::object GraphOf(nb::object graph) {
  if (nb::isinstance<PythonGraph>(graph)) return graph;
  return nb::cast(ReadNamedGraph(nb::cast<std::string>(nb::str(graph))));
}

void AddGraph(nb::module_& module) {
  using G = PythonGraph;
  nb::class_<G>(module,
                "Graph",
                "A training graph: ops, the tensors between them, and dependencies. Immutable.\n"
                "\n"
                "Arrays are read-only NumPy views without copies; ids are positions.")
      .def(
          "__init__",
          [](G* self, const std::string& source) { new (self) G(ReadNamedGraph(source)); },
          nb::arg("source"),
          "Reads a graph: a path (.json, .json.gz), or a name of `emplace list graphs`.\n\n"
          "Throws InputError naming file, op and field.")
      .def_static(
          "parse",
          [](const std::string& text, const std::string& name) {
            return G(std::make_shared<const Graph>(ParseGraph(text, name)), "");
          },
          nb::arg("text"),
          nb::arg("name") = "graph",
          "Returns a graph from the text of a graph file (JSON). name: its name in messages.")
      .def(
          "write",
          [](const G& self, const std::filesystem::path& path) { WriteGraph(*self.graph, path); },
          nb::arg("path"),
          nb::sig("def write(self, path: str | os.PathLike[str]) -> None"),
          "Writes the graph file, gzipped if the name ends in .gz, completely or not at all.")
      .def_prop_ro("name", [](const G& self) { return self.graph->name(); })
      .def_ro("path", &G::path, "path of its file; empty: made in memory")
      .def_prop_ro(
          "source",
          [](const G& self) {
            const std::string& text = self.graph->source();
            return nb::module_::import_("json").attr("loads")(text.empty() ? "{}" : text);
          },
          nb::sig("def source(self) -> dict[str, object]"),
          "key `source` of the file: origin of the graph, and `batch`, its number of samples")
      .def_prop_ro("num_ops", [](const G& self) { return self.graph->num_ops(); })
      .def_prop_ro("num_tensors", [](const G& self) { return self.graph->num_tensors(); })
      .def_prop_ro("op_names", OpNames, "[num_ops]")
      .def_prop_ro("op_kinds", OpKinds, "[num_ops] kinds, such as \"aten.mm\"")
      .def_prop_ro("op_classes", OpClasses, "[num_ops] classes of work, such as \"matmul\"")
      .def_prop_ro("op_signatures",
                   OpSignatures,
                   "[num_ops] signatures of cost files, which determine the cost of an op: kind, "
                   "shapes, attributes")
      .def_prop_ro("tensor_names", TensorNames, "[num_tensors]")
      .def(
          "find",
          [](const G& self, const std::string& op) { return self.graph->FindOp(op); },
          nb::arg("op"),
          "Id of the op of this name, or -1.")
      .def("module_units",
           ModuleUnitsOf,
           nb::arg("whole"),
           "Returns the modules that can have their own device, by attributes.module of the "
           "PyTorch importer: their paths, [num_ops] the unit of each op (-1: none), and the units "
           "that must share a device. whole: paths of modules that are not divided.\n"
           "\n"
           "Throws InputError for a graph without module paths.")
      .def_prop_ro("flops",
                   Array<G>([](const G& g, nb::handle self) {
                     return ViewOf(g.flops.data(), g.flops.size(), self);
                   }),
                   "[num_ops] float64: work, a multiply-add counting two [FLOP]")
      .def_prop_ro("bytes_accessed",
                   Array<G>([](const G& g, nb::handle self) {
                     return ViewOf(g.bytes_accessed.data(), g.bytes_accessed.size(), self);
                   }),
                   "[num_ops] int64: memory traffic [B]")
      .def_prop_ro("workspace_bytes",
                   Array<G>([](const G& g, nb::handle self) {
                     return ViewOf(g.workspace.data(), g.workspace.size(), self);
                   }),
                   "[num_ops] int64: memory while it runs, in addition to its tensors [B]")
      .def_prop_ro("phase",
                   Array<G>([](const G& g, nb::handle self) {
                     return ViewOf(g.phase.data(), g.phase.size(), self);
                   }),
                   "[num_ops] uint8: 0 forward, 1 backward, 2 update")
      .def_prop_ro("tensor_bytes",
                   Array<G>([](const G& g, nb::handle self) {
                     return ViewOf(g.tensor_bytes.data(), g.tensor_bytes.size(), self);
                   }),
                   "[num_tensors] int64 [B]")
      .def_prop_ro(
          "tensor_role",
          Array<G>([](const G& g, nb::handle self) {
            return ViewOf(g.role.data(), g.role.size(), self);
          }),
          "[num_tensors] uint8: 0 input, 1 parameter, 2 buffer, 3 activation, 4 gradient, 5 "
          "optimizer_state, 6 output")
      .def_prop_ro("tensor_producer",
                   Array<G>([](const G& g, nb::handle self) {
                     return ViewOf(g.producer.data(), g.producer.size(), self);
                   }),
                   "[num_tensors] int32: op that makes it; -1: an input of the graph")
      .def_prop_ro("edges",
                   Array<G>([](const G& g, nb::handle self) {
                     return ViewOf(g.edges.data(), g.edges.size() / 3, 3, self);
                   }),
                   "[num_edges, 3] int32: producer, reader, tensor; without control edges")
      .def_prop_ro("topological_order",
                   Array<G>([](const G& g, nb::handle self) {
                     const auto order = g.graph->topological_order();
                     return ViewOf(order.data(), order.size(), self);
                   }),
                   "[num_ops] int32: the ops in topological order")
      .def("__repr__", [](const G& self) {
        return fmt::format("Graph({}, {} ops, {} tensors)",
                           self.graph->name(),
                           self.graph->num_ops(),
                           self.graph->num_tensors());
      });
}

}  // namespace emplace::python
