#include "experiments/report/placement_picture.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/console/output.h"
#include "experiments/report/drawn_groups.h"
#include "experiments/report/graph_layout.h"
#include "framework/schedule/memory_plan.h"

namespace emplace {
namespace {

constexpr int kLevels[] = {12, 25, 60, 200};  // nodes
constexpr int kMaxAll = 400;                  // `dot` takes seconds for more
constexpr double kLayoutSeconds = 30;         // [s] per level and direction
constexpr size_t kMaxLabel = 24, kTopOps = 5;
constexpr double kEdgeShare = 0.92;                        // share of HeaviestEdges()
constexpr double kFrameWidth = 1340, kFrameHeight = 1480;  // area for a drawing [pt]

// Returns the last scopes of a title that fit into a label.
std::string LabelFor(const std::string& title, size_t num_ops) {
  if (title.empty()) return fmt::format("{} ops", num_ops);
  if (title.size() <= kMaxLabel) return title;
  const char separator = title.find('/') != std::string::npos ? '/' : '.';
  const size_t at = title.find(separator, title.size() - kMaxLabel);
  if (at != std::string::npos && at + 1 < title.size()) return "…" + title.substr(at);
  return "…" + title.substr(title.size() - kMaxLabel);
}

struct NodeSum {
  double time = 0;
  std::vector<double> device_time;  // [num_devices]; numbers of ops if no op takes time
  std::vector<int> device_ops;      // [num_devices]
  std::int64_t resident = 0;
  int device = 0;
  bool mixed = false;
};

NodeSum SumOf(const Graph& graph,
              std::span<const int> members,
              std::span<const DeviceIndex> device_of_op,
              int num_devices,
              const std::vector<double>& weight) {
  NodeSum sum{.device_time = std::vector<double>(num_devices, 0),
              .device_ops = std::vector<int>(num_devices, 0)};
  for (const int v : members) {
    sum.time += weight[v];
    sum.device_time[device_of_op[v]] += weight[v];
    ++sum.device_ops[device_of_op[v]];
    for (const int t : graph.op(v).outputs) {
      const Tensor& tensor = graph.tensor(t);
      if (IsResident(tensor) && tensor.alias_of < 0) sum.resident += tensor.bytes;
    }
  }
  sum.mixed =
      std::count_if(sum.device_ops.begin(), sum.device_ops.end(), [](int n) { return n > 0; }) > 1;
  if (sum.time <= 0) {
    sum.device_time.assign(sum.device_ops.begin(), sum.device_ops.end());
  }
  sum.device = static_cast<int>(std::max_element(sum.device_time.begin(), sum.device_time.end()) -
                                sum.device_time.begin());
  return sum;
}

std::vector<int> TopOps(std::span<const int> members, const std::vector<double>& weight) {
  std::vector<int> top(members.begin(), members.end());
  const size_t count = std::min(top.size(), kTopOps);
  std::partial_sort(
      top.begin(), top.begin() + static_cast<long>(count), top.end(), [&](int a, int b) {
        return weight[a] != weight[b] ? weight[a] > weight[b] : a < b;
      });
  top.resize(count);
  return top;
}

// Lays out the graph in both directions and returns the layout that can be shown larger.
std::optional<GraphLayout> LayOut(const std::vector<LayoutNode>& nodes,
                                  const std::vector<LayoutEdge>& edges) {
  std::optional<GraphLayout> best;
  const auto scale = [](const GraphLayout& layout) {
    return std::min(kFrameWidth / layout.width, kFrameHeight / layout.height);
  };
  for (const bool left_to_right : {true, false}) {
    auto layout = LayOutGraph(nodes, edges, left_to_right, kLayoutSeconds);
    if (layout && (!best || scale(*layout) > scale(*best))) best = std::move(layout);
  }
  return best;
}

double BytesOf(const std::vector<DrawnEdge>& edges) {
  double sum = 0;
  for (const DrawnEdge& edge : edges) {
    sum += static_cast<double>(edge.bytes) + static_cast<double>(edge.back);
  }
  return sum;
}

double Tenth(double points) {
  return std::round(10 * points) / 10;
}

}  // namespace

std::vector<DrawingLevel> MakeDrawingLevels(const Problem& problem,
                                            std::span<const DeviceIndex> device_of_op,
                                            const std::vector<double>& weight) {
  const Grouping& groups = problem.grouping();
  std::vector<DrawingLevel> levels;
  for (const int count : kLevels) {
    if (groups.num_groups() <= count) continue;
    Grouping nodes = GroupForDrawing(problem.graph(), groups, device_of_op, weight, count);
    std::string name = fmt::format("{} nodes", nodes.num_groups());
    levels.push_back({std::move(name), std::move(nodes)});
  }
  if (groups.num_groups() <= kMaxAll) {
    levels.push_back({fmt::format("all {} groups", groups.num_groups()), groups});
  }
  return levels;
}

std::vector<int> DevicesOfNodes(const Graph& graph,
                                const Grouping& nodes,
                                std::span<const DeviceIndex> device_of_op,
                                int num_devices,
                                const std::vector<double>& weight) {
  std::vector<int> devices;
  for (int node = 0; node < nodes.num_groups(); ++node) {
    devices.push_back(SumOf(graph, nodes.members(node), device_of_op, num_devices, weight).device);
  }
  return devices;
}

Json LevelJson(const Graph& graph,
               const DrawingLevel& level,
               std::span<const DeviceIndex> device_of_op,
               int num_devices,
               const std::vector<double>& weight) {
  const Grouping& nodes = level.nodes;
  std::vector<NodeSum> sums;
  const std::vector<std::string_view> names = ForwardNames(graph);
  std::vector<std::string> titles, labels;
  double longest = 0;
  for (int node = 0; node < nodes.num_groups(); ++node) {
    const auto members = nodes.members(node);
    sums.push_back(SumOf(graph, members, device_of_op, num_devices, weight));
    titles.push_back(DrawnTitle(names, members, weight));
    labels.push_back(LabelFor(titles.back(), members.size()));
    longest = std::max(longest, sums.back().time);
  }
  std::vector<LayoutNode> boxes;
  for (int node = 0; node < nodes.num_groups(); ++node) {
    const double share = longest > 0 ? sums[node].time / longest : 0;
    boxes.push_back({0.2 + 0.078 * TextWidth(labels[node]), 0.24 + 0.5 * std::sqrt(share)});
  }
  const std::vector<DrawnEdge> all_edges = DrawnEdges(graph, nodes);
  const std::vector<DrawnEdge> edges = HeaviestEdges(all_edges, nodes.num_groups(), kEdgeShare);
  std::vector<LayoutEdge> lines;
  for (const DrawnEdge& edge : edges) {
    const double megabytes = static_cast<double>(edge.bytes + edge.back) / 1e6;
    lines.push_back({edge.from, edge.to, 1 + std::min(20.0, std::floor(megabytes))});
  }
  const std::optional<GraphLayout> layout = LayOut(boxes, lines);
  if (!layout) return nullptr;

  const double all_bytes = BytesOf(all_edges);
  Json drawn_nodes = Json::array(), drawn_edges = Json::array();
  for (int node = 0; node < nodes.num_groups(); ++node) {
    const NodeSum& sum = sums[node];
    Json json = {{"title", titles[node]},
                 {"label", labels[node]},
                 {"x", Tenth(layout->nodes[node].first)},
                 {"y", Tenth(layout->nodes[node].second)},
                 {"w", Tenth(72 * boxes[node].width)},
                 {"h", Tenth(72 * boxes[node].height)},
                 {"device", sum.device},
                 {"ops", nodes.members(node).size()},
                 {"time_ns", sum.time},
                 {"resident_bytes", sum.resident},
                 {"top", TopOps(nodes.members(node), weight)}};
    if (sum.mixed) json["shares"] = sum.device_time;
    drawn_nodes.push_back(std::move(json));
  }
  for (size_t i = 0; i < edges.size(); ++i) {
    std::vector<double> path;
    for (const auto& [x, y] : layout->edges[i]) {
      path.push_back(Tenth(x));
      path.push_back(Tenth(y));
    }
    drawn_edges.push_back({{"from", edges[i].from},
                           {"to", edges[i].to},
                           {"bytes", edges[i].bytes},
                           {"back", edges[i].back},
                           {"tensors", edges[i].tensors},
                           {"path", path}});
  }
  return {{"name", level.name},
          {"width", layout->width},
          {"height", layout->height},
          {"node_of_op", std::vector<int>(nodes.group_of_op().begin(), nodes.group_of_op().end())},
          {"nodes", std::move(drawn_nodes)},
          {"edges", std::move(drawn_edges)},
          {"light_edges", all_edges.size() - edges.size()},
          {"light_share", all_bytes > 0 ? 1 - BytesOf(edges) / all_bytes : 0}};
}

Json FrontCoded(const std::vector<std::string>& texts) {
  Json coded = Json::array();
  std::string_view before;
  for (const std::string& text : texts) {
    size_t shared = 0;
    while (shared < std::min(text.size(), before.size()) && text[shared] == before[shared] &&
           static_cast<unsigned char>(text[shared]) < 0x80) {
      ++shared;
    }
    coded.push_back(shared);
    coded.push_back(text.substr(shared));
    before = text;
  }
  return coded;
}

Json GraphJson(const Graph& graph) {
  std::vector<std::string> names, kinds;
  std::map<std::string, int> index_of_kind;
  std::vector<int> kind;
  std::string phase;
  for (const Op& op : graph.ops()) {
    names.push_back(op.name);
    const auto [at, is_new] = index_of_kind.emplace(op.kind, static_cast<int>(kinds.size()));
    if (is_new) kinds.push_back(op.kind);
    kind.push_back(at->second);
    phase += static_cast<char>('0' + static_cast<int>(op.phase));
  }
  return {{"name", graph.name()},
          {"ops", graph.num_ops()},
          {"names", FrontCoded(names)},
          {"kinds", kinds},
          {"kind", kind},
          {"phase", phase}};
}

}  // namespace emplace
