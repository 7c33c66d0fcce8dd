#include <cstdint>
#include <map>
#include <set>

#include <fmt/format.h>

#include "framework/base/json.h"
#include "framework/instances/task_graph.h"

namespace emplace {
namespace {

constexpr double kNanosPerWeight = 1000;  // a weight is in microseconds

std::string WeightText(double nanos) {
  return fmt::format("{:.3f}", nanos / kNanosPerWeight);
}

// Returns the mean time of a transfer between two devices with a route. [ns]
double MeanTransfer(const Cluster& cluster, std::int64_t bytes) {
  double sum = 0;
  int routes = 0;
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      const Nanos time = cluster.TransferTime(from, to, bytes);
      if (from == to || time == kMaxNanos) continue;
      sum += static_cast<double>(time);
      ++routes;
    }
  }
  return routes == 0 ? 0 : sum / routes;
}

}  // namespace

std::string FormatWeightedDot(const Problem& problem) {
  const Graph& graph = problem.graph();
  const Cluster& cluster = problem.cluster();
  std::string text = fmt::format("digraph {} {{\n", QuoteJson(graph.name()));
  const auto group_of_op = problem.grouping().group_of_op();
  for (int v = 0; v < graph.num_ops(); ++v) {
    std::string costs;
    double sum = 0;
    int allowed = 0;
    for (int d = 0; d < cluster.num_devices(); ++d) {
      if (d > 0) costs += ',';
      if (!problem.allowed(group_of_op[v], d)) {
        costs += '-';
        continue;
      }
      const auto cost = static_cast<double>(problem.costs().at(v, d));
      costs += WeightText(cost);
      sum += cost;
      ++allowed;
    }
    text += fmt::format("  {} [Weight={}, Costs=\"{}\", Group={}];\n",
                        QuoteJson(graph.op(v).name),
                        WeightText(sum / allowed),
                        costs,
                        group_of_op[v]);
  }
  std::map<std::int64_t, double> times;  // of transfers by their bytes
  for (int v = 0; v < graph.num_ops(); ++v) {
    std::map<int, std::int64_t> bytes;  // from each op before v
    for (const int u : graph.predecessors(v)) bytes[u] = 0;
    std::set<int> roots;
    for (const int tensor : graph.reads(v)) {
      const int root = graph.alias_root(tensor);
      const int maker = graph.tensor(root).producer;
      if (maker >= 0 && maker != v && roots.insert(root).second) {
        bytes[maker] += graph.tensor(root).bytes;
      }
    }
    for (const auto& [u, sent] : bytes) {
      const auto [known, is_new] = times.try_emplace(sent, 0);
      if (is_new && sent > 0) known->second = MeanTransfer(cluster, sent);
      text += fmt::format("  {} -> {} [Weight={}, Bytes={}];\n",
                          QuoteJson(graph.op(u).name),
                          QuoteJson(graph.op(v).name),
                          WeightText(known->second),
                          sent);
    }
  }
  return text + "}\n";
}

}  // namespace emplace
