#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "framework/base/file.h"
#include "framework/base/json.h"
#include "framework/base/saturating.h"
#include "framework/graph/coarsen_internal.h"
#include "framework/graph/graph_io.h"

namespace emplace {
namespace {

// Appends `,"key":value` pairs.
class RecordWriter {
 public:
  RecordWriter(std::string& text, int id) : text_(text) { text_ += fmt::format("{{\"id\":{}", id); }
  void Raw(std::string_view key, std::string_view json) {
    text_ += ",\"";
    text_ += key;
    text_ += "\":";
    text_ += json;
  }
  void Text(std::string_view key, std::string_view value) { Raw(key, QuoteJson(value)); }
  // Writes a double with the fewest digits that read back equal.
  template <class Number>
  void Value(std::string_view key, Number value) {
    Raw(key, fmt::format("{}", value));
  }
  template <class Number>
  void List(std::string_view key, const std::vector<Number>& values) {
    Raw(key, fmt::format("[{}]", fmt::join(values, ",")));
  }
  void TextList(std::string_view key, const std::vector<std::string>& values) {
    std::vector<std::string> quoted;
    for (const std::string& value : values) quoted.push_back(QuoteJson(value));
    List(key, quoted);
  }
  // Closes the record, with the members of the object text `extra` at its end.
  void Close(std::string_view extra) {
    text_ += extra.empty() ? '}' : ',';
    text_ += extra.substr(extra.empty() ? 0 : 1);
  }

 private:
  std::string& text_;
};

void Append(std::string& text, int id, const Tensor& tensor) {
  RecordWriter record(text, id);
  if (!tensor.name.empty()) record.Text("name", tensor.name);
  if (!tensor.shape.empty()) record.List("shape", tensor.shape);
  if (!tensor.dtype.empty()) record.Text("dtype", tensor.dtype);
  record.Value("bytes", tensor.bytes);
  if (tensor.role != TensorRole::kActivation) record.Text("role", ToString(tensor.role));
  if (tensor.alias_of >= 0) record.Value("alias_of", tensor.alias_of);
  record.Close(tensor.extra);
}

void Append(std::string& text, int id, const Op& op, std::int64_t default_bytes) {
  RecordWriter record(text, id);
  record.Text("name", op.name);
  record.Text("kind", op.kind);
  record.List("inputs", op.inputs);
  record.List("outputs", op.outputs);
  if (!op.control_inputs.empty()) record.List("control_inputs", op.control_inputs);
  if (op.flops != 0) record.Value("flops", op.flops);
  if (op.bytes_accessed != default_bytes) record.Value("bytes_accessed", op.bytes_accessed);
  if (op.workspace_bytes != 0) record.Value("workspace_bytes", op.workspace_bytes);
  if (op.phase != Phase::kForward) record.Text("phase", ToString(op.phase));
  if (!op.colocate.empty()) record.Text("colocate", op.colocate);
  if (!op.device_kinds.empty()) record.TextList("device_kinds", op.device_kinds);
  if (!op.devices.empty()) record.TextList("devices", op.devices);
  if (!op.cost_ns.empty()) {
    std::vector<std::string> costs;
    for (const auto& [kind, cost] : op.cost_ns) {
      costs.push_back(fmt::format("{}:{}", QuoteJson(kind), cost));
    }
    record.Raw("cost_ns", fmt::format("{{{}}}", fmt::join(costs, ",")));
  }
  if (!op.attributes.empty()) record.Raw("attributes", op.attributes);
  record.Close(op.extra);
}

std::int64_t DefaultBytesAccessed(const Graph& graph, const Op& op) {
  std::int64_t bytes = 0;
  for (const auto* ids : {&op.inputs, &op.outputs}) {
    for (int t : *ids) bytes = SaturatingAdd(bytes, graph.tensor(t).bytes);
  }
  return bytes;
}

}  // namespace

std::string FormatGraph(const Graph& graph) {
  std::string text = fmt::format("{{\"format\":\"emplace-graph\",\n\"version\":1,\n\"name\":{},\n",
                                 QuoteJson(graph.name()));
  if (graph.ranks() > 1) text += fmt::format("\"ranks\":{},\n", graph.ranks());
  if (!graph.source().empty()) text += fmt::format("\"source\":{},\n", graph.source());
  text += "\"tensors\":[";
  for (int t = 0; t < graph.num_tensors(); ++t) {
    text += t > 0 ? ",\n" : "\n";
    Append(text, t, graph.tensor(t));
  }
  text += "\n],\n\"ops\":[";
  for (int v = 0; v < graph.num_ops(); ++v) {
    text += v > 0 ? ",\n" : "\n";
    Append(text, v, graph.op(v), DefaultBytesAccessed(graph, graph.op(v)));
  }
  text += "\n]";
  if (!graph.extra().empty()) text += ",\n" + graph.extra().substr(1, graph.extra().size() - 2);
  return text + "}\n";
}

void WriteGraph(const Graph& graph, const std::filesystem::path& path) {
  WriteFileAtomically(path, FormatGraph(graph));
}

}  // namespace emplace
