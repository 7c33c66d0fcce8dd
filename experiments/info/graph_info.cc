#include "experiments/info/graph_info.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/console/output.h"
#include "framework/graph/coarsen.h"
#include "framework/graph/dtypes.h"

namespace emplace {
namespace {

constexpr size_t kKindsShown = 15;

// Returns the number of elements, from the shape or, without one, from the bytes.
std::int64_t Elements(const Tensor& tensor) {
  if (!tensor.shape.empty()) {
    return std::accumulate(
        tensor.shape.begin(), tensor.shape.end(), std::int64_t{1}, std::multiplies<>());
  }
  const Dtype* dtype = DtypeByName(tensor.dtype);
  return dtype != nullptr && dtype->bits > 0 ? 8 * tensor.bytes / dtype->bits : 0;
}

int LongestChain(const Graph& graph) {
  std::vector<int> depth(graph.num_ops(), 1);
  int longest = 0;
  for (int v : graph.topological_order()) {
    for (int u : graph.predecessors(v)) depth[v] = std::max(depth[v], depth[u] + 1);
    longest = std::max(longest, depth[v]);
  }
  return longest;
}

double Total(const std::array<double, 3>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

GraphInfo DescribeGraph(const Graph& graph) {
  GraphInfo info;
  std::map<std::string, GraphInfo::Kind> kinds;
  for (int v = 0; v < graph.num_ops(); ++v) {
    const Op& op = graph.op(v);
    const auto phase = static_cast<size_t>(op.phase);
    ++info.ops_by_phase[phase];
    info.flops_by_phase[phase] += op.flops;
    info.dependencies += static_cast<std::int64_t>(graph.predecessors(v).size());
    GraphInfo::Kind& kind = kinds[op.kind];
    kind.kind = op.kind;
    ++kind.ops;
    kind.flops += op.flops;
  }
  for (const auto& [name, kind] : kinds) info.kinds.push_back(kind);
  std::stable_sort(info.kinds.begin(), info.kinds.end(), [](const auto& a, const auto& b) {
    return a.ops > b.ops;
  });
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.alias_of >= 0) continue;
    info.bytes_by_role[static_cast<size_t>(tensor.role)] += tensor.bytes;
    if (tensor.role != TensorRole::kParameter) continue;
    ++info.parameter_tensors;
    info.parameters += Elements(tensor);
  }
  info.groups = ColocateByLabel(graph, Grouping::Identity(graph.num_ops())).num_groups();
  info.depth = LongestChain(graph);
  return info;
}

std::string FormatGraphInfo(const Graph& graph, const GraphInfo& info) {
  std::string text = fmt::format(
      "{}\n"
      "ops          {} (longest chain {})\n"
      "tensors      {}\n"
      "dependencies {}\n"
      "groups       {} after co-location\n"
      "parameters   {} in {} tensors\n"
      "FLOPs        {} in a step, {} of them forward\n\n",
      graph.name(),
      graph.num_ops(),
      info.depth,
      graph.num_tensors(),
      info.dependencies,
      info.groups,
      info.parameters,
      info.parameter_tensors,
      FormatFlops(Total(info.flops_by_phase)),
      FormatFlops(info.flops_by_phase[0]));

  std::vector<std::vector<std::string>> rows = {{"phase", "ops", "FLOPs"}};
  for (size_t phase = 0; phase < info.ops_by_phase.size(); ++phase) {
    rows.push_back({std::string(ToString(static_cast<Phase>(phase))),
                    std::to_string(info.ops_by_phase[phase]),
                    FormatFlops(info.flops_by_phase[phase])});
  }
  text += FormatColumns(rows) + "\n";

  rows = {{"role", "bytes"}};
  for (size_t role = 0; role < info.bytes_by_role.size(); ++role) {
    rows.push_back({std::string(ToString(static_cast<TensorRole>(role))),
                    FormatBytes(info.bytes_by_role[role])});
  }
  text += FormatColumns(rows) + "\n";

  rows = {{"kind", "ops", "FLOPs"}};
  for (size_t i = 0; i < std::min(kKindsShown, info.kinds.size()); ++i) {
    const GraphInfo::Kind& kind = info.kinds[i];
    rows.push_back({kind.kind, std::to_string(kind.ops), FormatFlops(kind.flops)});
  }
  text += FormatColumns(rows);
  if (info.kinds.size() > kKindsShown) {
    text += fmt::format("and {} kinds more\n", info.kinds.size() - kKindsShown);
  }
  return text;
}

std::string FormatGraphInfoJson(const Graph& graph, const GraphInfo& info) {
  nlohmann::ordered_json json, phases, roles, kinds = nlohmann::ordered_json::array();
  for (size_t phase = 0; phase < info.ops_by_phase.size(); ++phase) {
    phases[std::string(ToString(static_cast<Phase>(phase)))] = {
        {"ops", info.ops_by_phase[phase]}, {"flops", info.flops_by_phase[phase]}};
  }
  for (size_t role = 0; role < info.bytes_by_role.size(); ++role) {
    roles[std::string(ToString(static_cast<TensorRole>(role)))] = info.bytes_by_role[role];
  }
  for (const GraphInfo::Kind& kind : info.kinds) {
    kinds.push_back({{"kind", kind.kind}, {"ops", kind.ops}, {"flops", kind.flops}});
  }
  json["name"] = graph.name();
  json["ops"] = graph.num_ops();
  json["tensors"] = graph.num_tensors();
  json["dependencies"] = info.dependencies;
  json["groups"] = info.groups;
  json["depth"] = info.depth;
  json["parameters"] = info.parameters;
  json["parameter_tensors"] = info.parameter_tensors;
  json["flops_total"] = Total(info.flops_by_phase);
  json["flops_forward"] = info.flops_by_phase[0];
  json["phases"] = phases;
  json["bytes_by_role"] = roles;
  json["kinds"] = kinds;
  if (!graph.source().empty()) {
    json["source"] = nlohmann::ordered_json::parse(graph.source());
  }
  return json.dump(2) + "\n";
}

}  // namespace emplace
