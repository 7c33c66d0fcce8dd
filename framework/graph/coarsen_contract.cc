#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/saturating.h"
#include "framework/graph/coarsen.h"
#include "framework/graph/coarsen_internal.h"

namespace emplace {
namespace {

// Groups in topological order; shorter than the groups if they make a cycle. missing[g] is then the
// number of predecessors that could not be ordered.
std::vector<int> OrderGroups(const Adjacency& successors, std::vector<int>& missing) {
  missing.assign(successors.offsets.size() - 1, 0);
  for (int group : successors.values) ++missing[group];
  std::vector<int> order;
  for (size_t g = 0; g < missing.size(); ++g) {
    if (missing[g] == 0) order.push_back(static_cast<int>(g));
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (int next : successors[order[i]]) {
      if (--missing[next] == 0) order.push_back(next);
    }
  }
  return order;
}

const std::string& GroupName(const Graph& graph, const Grouping& grouping, int group) {
  return graph.op(grouping.members(group)[0]).name;
}

void CheckAcyclic(const Graph& graph, const Grouping& grouping) {
  const Adjacency successors = internal::GroupSuccessors(graph, grouping);
  std::vector<int> missing;
  if (static_cast<int>(OrderGroups(successors, missing).size()) == grouping.num_groups()) return;

  // Every group left over waits for another one: walking to predecessors must come back.
  std::vector<int> waits_for(grouping.num_groups(), -1);
  for (int group = 0; group < grouping.num_groups(); ++group) {
    if (missing[group] == 0) continue;
    for (int next : successors[group]) waits_for[next] = group;
  }
  int at = static_cast<int>(
      std::find_if(missing.begin(), missing.end(), [](int m) { return m > 0; }) - missing.begin());
  std::vector<int> step_of(grouping.num_groups(), -1), path;
  for (; step_of[at] < 0; at = waits_for[at]) {
    step_of[at] = static_cast<int>(path.size());
    path.push_back(at);
  }
  std::vector<int> cycle(path.rbegin(), path.rend() - step_of[at]);
  constexpr size_t kNamed = 5;
  std::string text;
  for (size_t i = 0; i < std::min(cycle.size(), kNamed); ++i) {
    text += fmt::format("\"{}\" -> ", GroupName(graph, grouping, cycle[i]));
  }
  if (cycle.size() > kNamed) text += fmt::format("... ({} groups) -> ", cycle.size());
  throw InputError(fmt::format(
      "{}: contracting makes a cycle of the groups that begin with {}\"{}\"; expected groups "
      "without cycles (the uncontracted graph may be simulated with any)",
      graph.name(),
      text,
      GroupName(graph, grouping, cycle[0])));
}

// Which tensors survive, and their new ids; -1 for the others.
std::vector<int> NumberKeptTensors(const Graph& graph, const Grouping& grouping) {
  std::vector<bool> kept(graph.num_tensors(), false);
  for (int t = 0; t < graph.num_tensors(); ++t) {
    const Tensor& tensor = graph.tensor(t);
    const auto readers = graph.readers(t);
    const auto crosses = [&] {
      return std::any_of(readers.begin(), readers.end(), [&](int reader) {
        return grouping.group_of(reader) != grouping.group_of(tensor.producer);
      });
    };
    const bool transient =
        tensor.role == TensorRole::kActivation || tensor.role == TensorRole::kGradient;
    if (tensor.producer < 0 || !transient || crosses()) {
      kept[t] = kept[graph.alias_root(t)] = true;
    }
  }
  std::vector<int> number(graph.num_tensors(), -1);
  int next = 0;
  for (int t = 0; t < graph.num_tensors(); ++t) {
    if (kept[t]) number[t] = next++;
  }
  return number;
}

// Groups that share a label must go on sharing one, and an op has only one: labels that meet in a
// group become the same. @return [num_groups]
std::vector<std::string> GroupLabels(const Graph& graph, const Grouping& grouping) {
  std::unordered_map<std::string_view, int> number;
  std::vector<std::string_view> labels;
  std::vector<int> label_of_group(grouping.num_groups(), -1);
  internal::UnionFind same(graph.num_ops());
  for (int v = 0; v < graph.num_ops(); ++v) {
    const std::string& label = graph.op(v).colocate;
    if (label.empty()) continue;
    const auto [at, is_new] = number.try_emplace(label, static_cast<int>(labels.size()));
    if (is_new) labels.push_back(label);
    int& group_label = label_of_group[grouping.group_of(v)];
    if (group_label >= 0) same.Union(group_label, at->second);
    group_label = at->second;
  }
  std::vector<std::string> result;
  for (int label : label_of_group) result.emplace_back(label < 0 ? "" : labels[same.Find(label)]);
  return result;
}

class Contraction {
 public:
  Contraction(const Graph& graph, const Grouping& grouping)
      : graph_(graph),
        grouping_(grouping),
        number_(NumberKeptTensors(graph, grouping)),
        labels_(GroupLabels(graph, grouping)) {}

  Graph Make() const {
    std::vector<Tensor> tensors;
    for (int t = 0; t < graph_.num_tensors(); ++t) {
      if (number_[t] < 0) continue;
      tensors.push_back(graph_.tensor(t));
      if (tensors.back().alias_of >= 0) {
        tensors.back().alias_of = number_[graph_.alias_root(t)];
      }
    }
    std::vector<Op> ops;
    for (int group = 0; group < grouping_.num_groups(); ++group) ops.push_back(MakeOp(group));
    return Graph(graph_.name(), std::move(tensors), std::move(ops), graph_.source(), graph_.name());
  }

 private:
  Op MakeOp(int group) const {
    const auto members = grouping_.members(group);
    Op op;
    op.name = GroupName(graph_, grouping_, group);
    op.kind = graph_.op(Costliest(members)).kind;
    op.colocate = labels_[group];
    op.device_kinds = CommonKinds(members);
    op.cost_ns = SumCosts(members);
    op.phase = MostFrequentPhase(members);
    op.bytes_accessed = 0;
    for (int v : members) {
      const Op& member = graph_.op(v);
      op.flops += member.flops;
      op.bytes_accessed = SaturatingAdd(op.bytes_accessed, member.bytes_accessed);
      op.workspace_bytes = std::max(op.workspace_bytes, member.workspace_bytes);
      for (int t : graph_.reads(v)) {
        const int producer = graph_.tensor(t).producer;
        if (producer < 0 || grouping_.group_of(producer) != group) op.inputs.push_back(number_[t]);
      }
      for (int t : member.outputs) {
        if (number_[t] >= 0) op.outputs.push_back(number_[t]);
      }
      for (int before : member.control_inputs) {
        const int from = grouping_.group_of(before);
        if (from != group) op.control_inputs.push_back(from);
      }
    }
    for (auto* ids : {&op.inputs, &op.outputs, &op.control_inputs}) {
      std::sort(ids->begin(), ids->end());
      ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
    }
    return op;
  }

  // By work, then traffic; of equals the first. Storage only among itself.
  int Costliest(std::span<const int> members) const {
    return *std::max_element(members.begin(), members.end(), [&](int a, int b) {
      const auto rank = [&](int v) {
        const Op& op = graph_.op(v);
        return std::tuple(!op.IsStorage(), op.flops, op.bytes_accessed);
      };
      return rank(a) < rank(b);
    });
  }

  Phase MostFrequentPhase(std::span<const int> members) const {
    std::array<int, 3> count{};
    for (int v : members) ++count[static_cast<int>(graph_.op(v).phase)];
    return static_cast<Phase>(std::max_element(count.begin(), count.end()) - count.begin());
  }

  // Names that every restricted member lists, in the first one's order; empty: any.
  std::vector<std::string> CommonKinds(std::span<const int> members) const {
    std::vector<std::string> common;
    int first = -1;
    for (int v : members) {
      const std::vector<std::string>& kinds = graph_.op(v).device_kinds;
      if (kinds.empty()) continue;
      if (first < 0) {
        common = kinds;
        first = v;
        continue;
      }
      std::erase_if(common, [&](const std::string& kind) {
        return std::find(kinds.begin(), kinds.end(), kind) == kinds.end();
      });
      if (common.empty()) {
        throw InputError(
            fmt::format("{}: cannot contract the group of ops \"{}\" (device_kinds: {}) and \"{}\" "
                        "(device_kinds: {}): their lists have no name in common",
                        graph_.name(),
                        graph_.op(first).name,
                        fmt::join(graph_.op(first).device_kinds, ", "),
                        graph_.op(v).name,
                        fmt::join(kinds, ", ")));
      }
    }
    return common;
  }

  // Kinds for which every member that works has a cost, in the first one's order.
  std::vector<std::pair<std::string, double>> SumCosts(std::span<const int> members) const {
    std::vector<std::pair<std::string, double>> sums;
    bool first = true;
    for (int v : members) {
      const Op& op = graph_.op(v);
      if (op.IsStorage() && op.cost_ns.empty()) continue;
      if (first) {
        sums = op.cost_ns;
        first = false;
        continue;
      }
      std::erase_if(sums, [&](auto& sum) {
        const auto cost = std::find_if(op.cost_ns.begin(), op.cost_ns.end(), [&](const auto& c) {
          return c.first == sum.first;
        });
        if (cost == op.cost_ns.end()) return true;
        sum.second += cost->second;
        return false;
      });
    }
    return sums;
  }

  const Graph& graph_;
  const Grouping& grouping_;
  const std::vector<int> number_;          // [num_tensors] id in the contracted graph or -1
  const std::vector<std::string> labels_;  // [num_groups]
};

}  // namespace

Graph Contract(const Graph& graph, const Grouping& grouping) {
  CheckAcyclic(graph, grouping);
  return Contraction(graph, grouping).Make();
}

bool IsAcyclic(const Graph& graph, const Grouping& grouping) {
  std::vector<int> missing;
  const Adjacency successors = internal::GroupSuccessors(graph, grouping);
  return static_cast<int>(OrderGroups(successors, missing).size()) == grouping.num_groups();
}

}  // namespace emplace
