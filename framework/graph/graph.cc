#include "framework/graph/graph.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/saturating.h"
#include "framework/graph/cycle.h"

namespace emplace {
namespace {

constexpr std::string_view kRoleNames[] =
    {"input", "parameter", "buffer", "activation", "gradient", "optimizer_state", "output"};
constexpr std::string_view kPhaseNames[] = {"forward", "backward", "update"};

template <class Enum, size_t N>
std::optional<Enum> Parse(std::string_view text, const std::string_view (&names)[N]) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

std::vector<int> SortedUnique(std::vector<int> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

void AppendRow(Adjacency& rows, const std::vector<int>& values) {
  rows.values.insert(rows.values.end(), values.begin(), values.end());
  rows.offsets.push_back(static_cast<int>(rows.values.size()));
}

// Returns an adjacency whose row r lists the rows of `of` that contain r, ascending.
Adjacency Transpose(const Adjacency& of, int num_rows) {
  Adjacency result;
  result.offsets.assign(num_rows + 1, 0);
  for (int value : of.values) ++result.offsets[value + 1];
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  result.values.resize(of.values.size());
  std::vector<int> next(result.offsets.begin(), result.offsets.end() - 1);
  for (int row = 0; row + 1 < static_cast<int>(of.offsets.size()); ++row) {
    for (int value : of[row]) result.values[next[value]++] = row;
  }
  return result;
}

// Adds a place in the file to messages.
class Place {
 public:
  explicit Place(const std::string& where) : where_(where) {}

  [[noreturn]] void FailOp(const std::vector<Op>& ops, int id, std::string_view message) const {
    throw InputError(fmt::format("{}: ops[{}] \"{}\": {}", where_, id, ops[id].name, message));
  }
  [[noreturn]] void FailTensor(const std::vector<Tensor>& tensors,
                               int id,
                               std::string_view message) const {
    throw InputError(
        fmt::format("{}: tensors[{}] \"{}\": {}", where_, id, tensors[id].name, message));
  }
  [[noreturn]] void Fail(std::string_view message) const {
    throw InputError(fmt::format("{}: {}", where_, message));
  }

 private:
  const std::string& where_;
};

void CheckTensors(const std::vector<Tensor>& tensors, const Place& place) {
  const int count = static_cast<int>(tensors.size());
  for (int t = 0; t < count; ++t) {
    const Tensor& tensor = tensors[t];
    if (tensor.bytes < 0) {
      place.FailTensor(
          tensors, t, fmt::format("bytes: {} is negative; expected >= 0 [B]", tensor.bytes));
    }
    if (tensor.alias_of < -1 || tensor.alias_of >= count) {
      place.FailTensor(
          tensors,
          t,
          fmt::format(
              "alias_of: tensor {} does not exist; ids are 0 .. {}", tensor.alias_of, count - 1));
    }
  }
}

void CheckNumber(const std::vector<Op>& ops,
                 int id,
                 const std::string& field,
                 double value,
                 const Place& place) {
  if (!(value >= 0) || !std::isfinite(value)) {
    place.FailOp(ops, id, fmt::format("{}: {} is not a finite number >= 0", field, value));
  }
}

void CheckOps(const std::vector<Op>& ops, int num_tensors, const Place& place) {
  const int count = static_cast<int>(ops.size());
  for (int v = 0; v < count; ++v) {
    const Op& op = ops[v];
    const auto check_ids = [&](const char* field, const std::vector<int>& ids, int limit) {
      for (int id : ids) {
        if (id < 0 || id >= limit) {
          place.FailOp(
              ops,
              v,
              limit == 0
                  ? fmt::format("{}: dangling id {}; no ids exist", field, id)
                  : fmt::format("{}: dangling id {}; ids are 0 .. {}", field, id, limit - 1));
        }
      }
    };
    if (op.name.empty()) place.FailOp(ops, v, "name: is empty; expected a unique name");
    check_ids("inputs", op.inputs, num_tensors);
    check_ids("outputs", op.outputs, num_tensors);
    check_ids("control_inputs", op.control_inputs, count);
    CheckNumber(ops, v, "flops", op.flops, place);
    if (op.bytes_accessed < -1) {
      CheckNumber(ops, v, "bytes_accessed", static_cast<double>(op.bytes_accessed), place);
    }
    CheckNumber(ops, v, "workspace_bytes", static_cast<double>(op.workspace_bytes), place);
    for (const auto& [kind, cost] : op.cost_ns) CheckNumber(ops, v, "cost_ns." + kind, cost, place);
  }
}

void SetProducers(std::vector<Tensor>& tensors, const std::vector<Op>& ops, const Place& place) {
  for (Tensor& tensor : tensors) tensor.producer = -1;
  for (int v = 0; v < static_cast<int>(ops.size()); ++v) {
    for (int t : ops[v].outputs) {
      const int first = tensors[t].producer;
      if (first >= 0) {
        place.FailTensor(
            tensors,
            t,
            first == v
                ? fmt::format("is listed twice in outputs of op \"{}\"", ops[v].name)
                : fmt::format(
                      "two producers: ops[{}] \"{}\" and ops[{}] \"{}\"; expected at most one",
                      first,
                      ops[first].name,
                      v,
                      ops[v].name));
      }
      tensors[t].producer = v;
    }
  }
}

std::vector<int> AliasRoots(const std::vector<Tensor>& tensors, const Place& place) {
  const int count = static_cast<int>(tensors.size());
  std::vector<int> roots(count, -1);
  std::vector<int> chain;
  for (int t = 0; t < count; ++t) {
    chain.clear();
    int at = t;
    while (roots[at] == -1 && tensors[at].alias_of >= 0) {
      roots[at] = -2;  // on the current chain
      chain.push_back(at);
      at = tensors[at].alias_of;
    }
    if (roots[at] == -2) place.FailTensor(tensors, t, "alias_of: the aliases make a cycle");
    const int root = roots[at] >= 0 ? roots[at] : at;
    roots[at] = root;
    for (int link : chain) roots[link] = root;
  }
  return roots;
}

// Returns the topological order that takes the least available id at each position. Schedules and
// placements depend on the order, so it is part of the results. Boost's topological_sort does not
// specify which order it returns.
std::vector<int> TopologicalOrder(const std::vector<Op>& ops,
                                  const Adjacency& predecessors,
                                  const Adjacency& successors,
                                  const Place& place) {
  std::vector<int> missing(ops.size()), order;
  std::priority_queue<int, std::vector<int>, std::greater<>> available;
  for (int v = 0; v < static_cast<int>(ops.size()); ++v) {
    missing[v] = static_cast<int>(predecessors[v].size());
    if (missing[v] == 0) available.push(v);
  }
  order.reserve(ops.size());
  while (!available.empty()) {
    const int v = available.top();
    available.pop();
    order.push_back(v);
    for (int next : successors[v]) {
      if (--missing[next] == 0) available.push(next);
    }
  }
  if (order.size() < ops.size()) {
    const auto name_of = [&](int v) -> std::string_view { return ops[v].name; };
    place.Fail("ops: the dependencies make a cycle: " +
               internal::DescribeCycle(internal::FindCycle(successors), name_of, "ops"));
  }
  return order;
}

}  // namespace

std::string_view ToString(TensorRole role) {
  return kRoleNames[static_cast<int>(role)];
}
std::string_view ToString(Phase phase) {
  return kPhaseNames[static_cast<int>(phase)];
}
std::optional<TensorRole> ParseTensorRole(std::string_view text) {
  return Parse<TensorRole>(text, kRoleNames);
}
std::optional<Phase> ParsePhase(std::string_view text) {
  return Parse<Phase>(text, kPhaseNames);
}

Graph::Graph(std::string name,
             std::vector<Tensor> tensors,
             std::vector<Op> ops,
             std::string source,
             const std::string& where,
             std::string extra,
             int ranks)
    : name_(std::move(name)),
      source_(std::move(source)),
      extra_(std::move(extra)),
      ranks_(ranks),
      tensors_(std::move(tensors)),
      ops_(std::move(ops)) {
  const Place place(where);
  CheckTensors(tensors_, place);
  CheckOps(ops_, num_tensors(), place);
  SetProducers(tensors_, ops_, place);
  alias_root_ = AliasRoots(tensors_, place);

  by_name_.resize(ops_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0);
  std::sort(by_name_.begin(), by_name_.end(), [&](int a, int b) {
    return ops_[a].name != ops_[b].name ? ops_[a].name < ops_[b].name : a < b;
  });
  for (size_t i = 1; i < by_name_.size(); ++i) {
    if (ops_[by_name_[i - 1]].name == ops_[by_name_[i]].name) {
      place.FailOp(ops_, by_name_[i], fmt::format("name: duplicate of ops[{}]", by_name_[i - 1]));
    }
  }

  Adjacency control_inputs;
  for (Op& op : ops_) {
    if (op.bytes_accessed < 0) {
      op.bytes_accessed = 0;
      for (const auto* ids : {&op.inputs, &op.outputs}) {
        for (int t : *ids) {
          op.bytes_accessed = SaturatingAdd(op.bytes_accessed, tensors_[t].bytes);
        }
      }
    }
    const std::vector<int> read = SortedUnique(op.inputs);
    const std::vector<int> awaited = SortedUnique(op.control_inputs);
    AppendRow(reads_, read);
    AppendRow(control_inputs, awaited);
    std::vector<int> before = awaited;
    for (int t : read) {
      if (tensors_[t].producer >= 0) before.push_back(tensors_[t].producer);
    }
    AppendRow(predecessors_, SortedUnique(std::move(before)));
  }
  readers_ = Transpose(reads_, num_tensors());
  control_readers_ = Transpose(control_inputs, num_ops());
  successors_ = Transpose(predecessors_, num_ops());
  topological_order_ = TopologicalOrder(ops_, predecessors_, successors_, place);
}

int Graph::FindOp(std::string_view name) const {
  const auto found = std::lower_bound(
      by_name_.begin(), by_name_.end(), name, [&](int id, std::string_view wanted) {
        return ops_[id].name < wanted;
      });
  return found != by_name_.end() && ops_[*found].name == name ? *found : -1;
}

}  // namespace emplace
