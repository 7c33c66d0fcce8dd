#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/graph/coarsen_internal.h"
#include "framework/graph/graph_io.h"

namespace emplace {
namespace {

std::string QuoteDot(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      quoted += c == '\n' ? "\\n" : "";
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// 1234567 -> "1.23 M".
std::string ShortNumber(double value) {
  constexpr std::array<const char*, 7> kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  size_t prefix = 0;
  for (; value >= 999.5 && prefix + 1 < kPrefixes.size(); ++prefix) value /= 1000;
  return fmt::format("{:.3g} {}", value, kPrefixes[prefix]);
}

// Returns the name of a single op, else the most frequent scope of the members (the first of
// equals), else the name of the first op.
std::string GroupTitle(const Graph& graph, std::span<const int> members) {
  const std::string& first = graph.op(members[0]).name;
  if (members.size() == 1) return first;
  std::map<std::string_view, int> count;
  for (int v : members) {
    const std::string_view scope = internal::ScopeOf(graph.op(v).name, 1 << 30);
    if (!scope.empty()) ++count[scope];
  }
  const auto most = std::max_element(
      count.begin(), count.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == count.end() ? first + ", ..." : std::string(most->first);
}

// Hues a golden angle apart stay distinct for any number of devices.
std::string DeviceColor(int device) {
  const double hue = std::fmod(0.58 + 0.6180339887 * device, 1.0);
  return fmt::format("{:.3f} 0.35 0.95", hue);
}

}  // namespace

std::string FormatDot(const Graph& graph,
                      const Grouping& grouping,
                      const std::vector<int>& device_of_group,
                      const std::vector<std::string>& device_names) {
  const bool colored = !device_of_group.empty();
  EMPLACE_CHECK(!colored || static_cast<int>(device_of_group.size()) == grouping.num_groups());
  std::string dot = fmt::format("digraph {} {{\n", QuoteDot(graph.name()));
  // `dot` needs minutes for 200 nodes without these limits and with labels that affect the layout.
  dot += "  graph [nslimit=1, nslimit1=1, mclimit=0.5];\n";
  dot += "  node [shape=box, style=\"rounded,filled\", fillcolor=white];\n";
  if (colored) {
    dot += "  subgraph cluster_legend {\n    label=\"devices\";\n";
    for (size_t d = 0; d < device_names.size(); ++d) {
      dot += fmt::format("    device{} [label={}, fillcolor=\"{}\"];\n",
                         d,
                         QuoteDot(device_names[d]),
                         DeviceColor(static_cast<int>(d)));
    }
    dot += "  }\n";
  }
  for (int group = 0; group < grouping.num_groups(); ++group) {
    const auto members = grouping.members(group);
    double flops = 0;
    for (int v : members) flops += graph.op(v).flops;
    std::string label = GroupTitle(graph, members);
    label += members.size() == 1 ? fmt::format("\n{}", graph.op(members[0]).kind)
                                 : fmt::format("\n{} ops", members.size());
    if (flops > 0) label += fmt::format("\n{}FLOP", ShortNumber(flops));
    dot += fmt::format("  g{} [label={}", group, QuoteDot(label));
    if (colored) dot += fmt::format(", fillcolor=\"{}\"", DeviceColor(device_of_group[group]));
    dot += "];\n";
  }

  // Counts each tensor once for each group that reads it. Edges of control alone are dashed.
  std::map<std::pair<int, int>, std::pair<double, bool>> edges;  // bytes, carries data
  internal::VisitCrossings(graph, grouping, [&](const Tensor* tensor, int from, int to) {
    auto& [bytes, data] = edges[{from, to}];
    bytes += tensor != nullptr ? static_cast<double>(tensor->bytes) : 0;
    data = data || tensor != nullptr;
  });
  for (const auto& [ends, edge] : edges) {
    dot += fmt::format(
        "  g{} -> g{} [{}];\n",
        ends.first,
        ends.second,
        edge.second ? fmt::format("xlabel=\"{}B\"", ShortNumber(edge.first)) : "style=dashed");
  }
  return dot + "}\n";
}

}  // namespace emplace
