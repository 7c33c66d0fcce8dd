#include "framework/search/problem.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/schedule/memory_plan.h"

namespace emplace {
namespace {

std::string DeviceList(const Cluster& cluster, std::uint64_t mask) {
  std::string text;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (mask >> d & 1) text += (text.empty() ? "" : ", ") + cluster.device(d).name;
  }
  return text.empty() ? "none" : text;
}

std::vector<std::uint64_t> AllowedByOp(const Costs& costs) {
  std::vector<std::uint64_t> allowed(costs.num_ops, 0);
  for (int v = 0; v < costs.num_ops; ++v) {
    for (int d = 0; d < costs.num_devices; ++d) {
      if (costs.allowed(v, d)) allowed[v] |= std::uint64_t{1} << d;
    }
  }
  return allowed;
}

// Returns the devices that the ops of a group share. Throws an error that names the op that
// excludes the last one.
std::uint64_t AllowedForGroup(const Graph& graph,
                              const Cluster& cluster,
                              std::span<const int> members,
                              const std::vector<std::uint64_t>& allowed_by_op) {
  std::uint64_t allowed = ~std::uint64_t{0};
  for (int v : members) {
    if (allowed_by_op[v] == 0) {
      throw InputError(
          fmt::format("problem: op \"{}\" ({}) is not allowed on any device of cluster \"{}\" ({})",
                      graph.op(v).name,
                      graph.op(v).kind,
                      cluster.name(),
                      DeviceList(cluster, ~std::uint64_t{0})));
    }
    if ((allowed & allowed_by_op[v]) == 0) {
      throw InputError(
          fmt::format("problem: the ops of a group of {} have no allowed device in common: op "
                      "\"{}\" allows {}, but the ops before it (first \"{}\") leave only {}",
                      members.size(),
                      graph.op(v).name,
                      DeviceList(cluster, allowed_by_op[v]),
                      graph.op(members[0]).name,
                      DeviceList(cluster, allowed)));
    }
    allowed &= allowed_by_op[v];
  }
  return allowed;
}

// Throws unless all work in sequence, each part at its largest time, takes less than kMaxNanos, and
// all memory together is less than 2^62 B.
void CheckMagnitudes(const Graph& graph, const Cluster& cluster, const Costs& costs) {
  const auto fail = [&](const std::string& what) {
    throw InputError(fmt::format(
        "problem: graph \"{}\" on cluster \"{}\": {} cannot be simulated in 64-bit integers",
        graph.name(),
        cluster.name(),
        what));
  };
  double time = 0, bytes = 0;
  double slowest_rate = std::numeric_limits<double>::infinity(), latency = 0;
  for (const Channel& channel : cluster.channels()) {
    slowest_rate = std::min(slowest_rate, channel.bandwidth.BytesPerSecond());
    latency = std::max(latency, static_cast<double>(channel.latency) + channel.setup + channel.gap);
  }
  double fixed = 0;
  for (const DeviceKind& kind : cluster.kinds()) {
    fixed = std::max(fixed, static_cast<double>(kind.gap) + kind.issue + kind.launch);
  }
  size_t hops = 0;
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      if (from != to) hops = std::max(hops, cluster.route(from, to).size());
    }
  }
  const double sends = static_cast<double>(hops) * (cluster.num_devices() - 1);
  for (int v = 0; v < graph.num_ops(); ++v) {
    Nanos dearest = 0;
    for (int d = 0; d < cluster.num_devices(); ++d) {
      if (costs.allowed(v, d)) dearest = std::max(dearest, costs.at(v, d));
    }
    time += dearest + fixed + sends * (latency + fixed);
    bytes += graph.op(v).workspace_bytes;
  }
  for (const Tensor& tensor : graph.tensors()) {
    if (sends > 0) time += sends * (latency + fixed + 1 + 1e9 * tensor.bytes / slowest_rate);
    bytes += static_cast<double>(tensor.bytes) * cluster.num_devices();
  }
  if (time >= static_cast<double>(kMaxNanos)) fail(fmt::format("a step of up to {:.3g} ns", time));
  if (bytes >= 0x1p62) fail(fmt::format("memory of up to {:.3g} B", bytes));
}

void CheckRoutes(const Graph& graph,
                 const Grouping& grouping,
                 const Cluster& cluster,
                 const std::vector<std::uint64_t>& allowed_by_op) {
  const int num_devices = cluster.num_devices();
  std::vector<std::uint64_t> routed(num_devices, 0);
  bool complete = true;
  for (int from = 0; from < num_devices; ++from) {
    for (int to = 0; to < num_devices; ++to) {
      if (from == to || !cluster.route(from, to).empty()) {
        routed[from] |= std::uint64_t{1} << to;
      } else {
        complete = false;
      }
    }
  }
  if (complete) return;
  for (int v = 0; v < graph.num_ops(); ++v) {
    for (int next : graph.successors(v)) {
      if (grouping.group_of(v) == grouping.group_of(next)) continue;
      for (int from = 0; from < num_devices; ++from) {
        const std::uint64_t lost = allowed_by_op[next] & ~routed[from];
        if ((allowed_by_op[v] >> from & 1) == 0 || lost == 0) continue;
        throw InputError(
            fmt::format("cluster \"{}\": no route from \"{}\" to \"{}\", which op \"{}\" -> op "
                        "\"{}\" may need; add "
                        "one under routes or restrict the ops' device_kinds or devices",
                        cluster.name(),
                        cluster.device(from).name,
                        cluster.device(std::countr_zero(lost)).name,
                        graph.op(v).name,
                        graph.op(next).name));
      }
    }
  }
}

void CheckResidentFits(const Graph& graph,
                       const Cluster& cluster,
                       const std::vector<std::uint64_t>& allowed_by_op) {
  double total = 0, capacity = 0;
  for (const Device& device : cluster.devices()) capacity += static_cast<double>(device.memory);
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.producer < 0 || tensor.alias_of >= 0 || !IsResident(tensor)) continue;
    total += static_cast<double>(tensor.bytes);
    std::int64_t largest = 0;
    for (int d = 0; d < cluster.num_devices(); ++d) {
      if (allowed_by_op[tensor.producer] >> d & 1) {
        largest = std::max(largest, cluster.device(d).memory);
      }
    }
    if (tensor.bytes > largest) {
      throw InputError(
          fmt::format("problem: {} \"{}\" of op \"{}\" ({} B) does not fit on any device: the "
                      "largest one on which it is allowed ({}) has {} B",
                      ToString(tensor.role),
                      tensor.name,
                      graph.op(tensor.producer).name,
                      tensor.bytes,
                      DeviceList(cluster, allowed_by_op[tensor.producer]),
                      largest));
    }
  }
  if (total > capacity) {
    throw InputError(
        fmt::format("problem: the parameters, buffers and optimiser state of graph \"{}\" ({:.0f} "
                    "B) do not fit: all devices of cluster \"{}\" together have {:.0f} B",
                    graph.name(),
                    total,
                    cluster.name(),
                    capacity));
  }
}

}  // namespace

Problem::Problem(std::shared_ptr<const Graph> graph,
                 Grouping grouping,
                 std::shared_ptr<const Cluster> cluster,
                 Costs costs,
                 Objective objective,
                 ProblemChecks checks)
    : graph_(std::move(graph)),
      grouping_(std::move(grouping)),
      cluster_(std::move(cluster)),
      costs_(std::move(costs)),
      objective_(objective) {
  const int num_ops = graph_->num_ops(), num_devices = cluster_->num_devices();
  EMPLACE_CHECK(costs_.num_ops == num_ops && costs_.num_devices == num_devices);
  EMPLACE_CHECK(grouping_.num_ops() == num_ops);
  if (num_ops == 0) {
    throw InputError(fmt::format("problem: graph \"{}\" has no ops", graph_->name()));
  }

  const std::vector<std::uint64_t> allowed_by_op = AllowedByOp(costs_);
  const std::uint64_t all_devices =
      num_devices == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << num_devices) - 1;
  for (int group = 0; group < num_groups(); ++group) {
    allowed_.push_back(
        all_devices & AllowedForGroup(*graph_, *cluster_, grouping_.members(group), allowed_by_op));
  }
  CheckMagnitudes(*graph_, *cluster_, costs_);
  if (checks == ProblemChecks::kAll) {
    CheckRoutes(*graph_, grouping_, *cluster_, allowed_by_op);
    CheckResidentFits(*graph_, *cluster_, allowed_by_op);
  }

  group_cost_.assign(size_t(num_groups()) * num_devices, 0);
  resident_bytes_.assign(num_groups(), 0);
  for (int v = 0; v < num_ops; ++v) {
    const int group = grouping_.group_of(v);
    for (int d = 0; d < num_devices; ++d) {
      Nanos& sum = group_cost_[size_t(group) * num_devices + d];
      sum = allowed(group, d) ? sum + costs_.at(v, d) : kMaxNanos;
    }
    for (int t : graph_->op(v).outputs) {
      const Tensor& tensor = graph_->tensor(t);
      if (tensor.alias_of < 0 && IsResident(tensor)) resident_bytes_[group] += tensor.bytes;
    }
  }

  SetEdges();

  std::vector<bool> seen(num_groups(), false);
  for (int v : graph_->topological_order()) {
    const int group = grouping_.group_of(v);
    if (!seen[group]) group_order_.push_back(group);
    seen[group] = true;
  }
}

void Problem::SetEdges() {
  // A transfer between two groups. Each tensor (or control edge) counts once per pair of groups.
  struct Message {
    int from, to;
    std::int64_t bytes;
  };
  std::vector<Message> messages;
  std::vector<int> readers;
  const auto send = [&](int from, std::span<const int> ops, std::int64_t bytes) {
    readers.clear();
    for (int v : ops) readers.push_back(grouping_.group_of(v));
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    for (int to : readers) {
      if (to != from) messages.push_back({from, to, bytes});
    }
  };
  for (int v = 0; v < num_ops(); ++v) {
    const int group = grouping_.group_of(v);
    for (int t : graph_->op(v).outputs) send(group, graph_->readers(t), graph_->tensor(t).bytes);
    send(group, graph_->control_readers(v), 0);
  }

  // Puts every message into the rows of both groups, then sorts each row and sums up equal
  // neighbours.
  std::vector<int> row_ends(num_groups() + 1, 0);
  for (const Message& message : messages) {
    ++row_ends[message.from];
    ++row_ends[message.to];
  }
  std::exclusive_scan(row_ends.begin(), row_ends.end(), row_ends.begin(), 0);
  edges_.resize(2 * messages.size());
  for (const auto& [from, to, bytes] : messages) {
    edges_[row_ends[from]++] = {to, bytes};
    edges_[row_ends[to]++] = {from, bytes};
  }
  std::size_t row_begin = 0, kept = 0;
  edge_offsets_.assign(1, 0);
  for (int group = 0; group < num_groups(); ++group) {
    const std::size_t row_end = row_ends[group], kept_before = kept;
    std::sort(edges_.begin() + row_begin,
              edges_.begin() + row_end,
              [](const Edge& a, const Edge& b) { return a.neighbor < b.neighbor; });
    for (std::size_t e = row_begin; e < row_end; ++e) {
      if (kept > kept_before && edges_[kept - 1].neighbor == edges_[e].neighbor) {
        edges_[kept - 1].bytes += edges_[e].bytes;
      } else {
        edges_[kept++] = edges_[e];
      }
    }
    row_begin = row_end;
    edge_offsets_.push_back(static_cast<int>(kept));
  }
  edges_.resize(kept);
  edges_.shrink_to_fit();
}

}  // namespace emplace
