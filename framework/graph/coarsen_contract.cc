#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/glob.h"
#include "framework/base/saturating.h"
#include "framework/graph/coarsen.h"
#include "framework/graph/coarsen_internal.h"
#include "framework/graph/cycle.h"

namespace emplace {
namespace {

const std::string& GroupName(const Graph& graph, const Grouping& grouping, int group) {
  return graph.op(grouping.members(group)[0]).name;
}

void CheckAcyclic(const Graph& graph, const Grouping& grouping) {
  const Adjacency successors = internal::GroupSuccessors(graph, grouping);
  const std::vector<int> cycle = internal::FindCycle(successors);
  if (cycle.empty()) return;
  const auto name_of = [&](int g) -> std::string_view { return GroupName(graph, grouping, g); };
  throw InputError(
      fmt::format("{}: contracting makes a cycle of the groups that begin with {}; expected groups "
                  "without cycles (without contraction, any groups can be simulated)",
                  graph.name(),
                  internal::DescribeCycle(cycle, name_of, "groups")));
}

// Returns the new ids of the kept tensors; -1 for the others. [num_tensors]
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

// Returns one label for each group. Groups that share a label must still share one, and an op has
// only one label. So all labels that occur in one group are united. [num_groups]
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

// Returns whether a pattern of devices matches every name that another pattern matches; false if
// that is not obvious.
bool Covers(const std::string& pattern, const std::string& other) {
  if (pattern == other) return true;
  // '?' must not match the '*' of the other pattern.
  const bool is_unclear = pattern.find('?') != std::string::npos && other.find('*') != other.npos;
  return !is_unclear && MatchesGlob(pattern, other);
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
    return Graph(graph_.name(),
                 std::move(tensors),
                 std::move(ops),
                 graph_.source(),
                 graph_.name(),
                 "",
                 graph_.ranks());
  }

 private:
  Op MakeOp(int group) const {
    const auto members = grouping_.members(group);
    Op op;
    op.name = GroupName(graph_, grouping_, group);
    op.kind = graph_.op(Costliest(members)).kind;
    op.colocate = labels_[group];
    op.device_kinds = Common(members, &Op::device_kinds, "device_kinds", std::equal_to<>());
    op.devices = Common(members, &Op::devices, "devices", Covers);
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

  // Returns the member with the most FLOPs, then bytes accessed, then the first; storage only if
  // all members are storage.
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

  // Returns the names of all restricted members' lists that the other lists cover, in the order of
  // their first occurrence; empty: any.
  // @param covers  covers(a, b): whether the name a stands for all that b stands for
  template <class Covering>
  std::vector<std::string> Common(std::span<const int> members,
                                  std::vector<std::string> Op::*list,
                                  const char* key,
                                  const Covering& covers) const {
    std::vector<std::string> common;
    int first = -1;
    for (int v : members) {
      const std::vector<std::string>& names = graph_.op(v).*list;
      if (names.empty()) continue;
      if (first < 0) {
        common = names;
        first = v;
        continue;
      }
      const auto is_covered_by = [&](const std::vector<std::string>& others) {
        return [&](const std::string& name) {
          return std::ranges::any_of(others,
                                     [&](const auto& other) { return covers(other, name); });
        };
      };
      std::vector<std::string> both;
      std::ranges::copy_if(common, std::back_inserter(both), is_covered_by(names));
      for (const std::string& name : names) {
        if (is_covered_by(common)(name) && std::ranges::find(both, name) == both.end()) {
          both.push_back(name);
        }
      }
      common = std::move(both);
      if (common.empty()) {
        throw InputError(
            fmt::format("{}: cannot contract the group of ops \"{}\" ({}: {}) and \"{}\" ({}: {}): "
                        "their lists have no name in common",
                        graph_.name(),
                        graph_.op(first).name,
                        key,
                        fmt::join(graph_.op(first).*list, ", "),
                        graph_.op(v).name,
                        key,
                        fmt::join(names, ", ")));
      }
    }
    return common;
  }

  // Returns the kinds for which every member with work has a cost, in the order of the first.
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
  return internal::FindCycle(internal::GroupSuccessors(graph, grouping)).empty();
}

}  // namespace emplace
