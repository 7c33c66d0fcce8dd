#include "framework/graph/coarsen_internal.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/json.h"
#include "framework/base/saturating.h"

namespace emplace::internal {
namespace {

struct Pair {
  int from, to;
  std::int64_t bytes;

  bool operator<(const Pair& other) const {
    return std::pair(from, to) < std::pair(other.from, other.to);
  }
};

}  // namespace

Grouping Merged(const Grouping& grouping, UnionFind& sets) {
  std::vector<int> label(grouping.num_ops());
  for (int v = 0; v < grouping.num_ops(); ++v) label[v] = sets.Find(grouping.group_of(v));
  return Grouping(label);
}

std::vector<double> GroupWeights(const Grouping& grouping, const std::vector<double>& weight) {
  EMPLACE_CHECK(static_cast<int>(weight.size()) == grouping.num_ops());
  std::vector<double> sums(grouping.num_groups(), 0.0);
  for (int v = 0; v < grouping.num_ops(); ++v) sums[grouping.group_of(v)] += weight[v];
  return sums;
}

GroupEdges MakeGroupEdges(const Graph& graph, const Grouping& grouping) {
  std::vector<Pair> pairs;
  VisitCrossings(graph, grouping, [&](const Tensor* tensor, int from, int to) {
    const std::int64_t bytes = tensor != nullptr ? tensor->bytes : 0;
    pairs.push_back({from, to, bytes});
    pairs.push_back({to, from, bytes});
  });
  std::sort(pairs.begin(), pairs.end());

  GroupEdges result;
  result.offsets.assign(1, 0);
  for (size_t i = 0; i < pairs.size();) {
    const Pair& first = pairs[i];
    result.offsets.resize(first.from + 1, static_cast<int>(result.edges.size()));
    std::int64_t bytes = 0;
    size_t end = i;
    for (; end < pairs.size() && !(first < pairs[end]); ++end) {
      bytes = SaturatingAdd(bytes, pairs[end].bytes);
    }
    result.edges.push_back({first.to, bytes});
    i = end;
  }
  result.offsets.resize(grouping.num_groups() + 1, static_cast<int>(result.edges.size()));
  return result;
}

Adjacency GroupSuccessors(const Graph& graph, const Grouping& grouping) {
  Adjacency result;
  std::vector<int> row;
  for (int group = 0; group < grouping.num_groups(); ++group) {
    row.clear();
    for (int v : grouping.members(group)) {
      for (int next : graph.successors(v)) {
        if (grouping.group_of(next) != group) row.push_back(grouping.group_of(next));
      }
    }
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    result.values.insert(result.values.end(), row.begin(), row.end());
    result.offsets.push_back(static_cast<int>(result.values.size()));
  }
  return result;
}

std::optional<std::string> TextAttribute(const Op& op, const std::string& key) {
  if (op.attributes.find('"' + key + '"') == std::string::npos) return std::nullopt;
  const Json object = Json::parse(op.attributes, nullptr, /*allow_exceptions=*/false);
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

int ForwardOp(const Graph& graph, int op) {
  const std::string& attributes = graph.op(op).attributes;
  if (attributes.find("\"forward_op\"") == std::string::npos) return -1;
  const std::string where = fmt::format(
      "{}: ops[{}] {}: attributes.forward_op", graph.name(), op, QuoteJson(graph.op(op).name));
  const Json object = Json::parse(attributes, nullptr, /*allow_exceptions=*/false);
  EMPLACE_CHECK(object.is_object(), where);  // a guarantee of Op::attributes
  const auto found = object.find("forward_op");
  if (found == object.end()) return -1;
  if (!found->is_string()) {
    throw InputError(fmt::format("{}: got {}; expected an op name", where, ClippedJson(*found)));
  }
  const std::string name = found->get<std::string>();
  const int forward = graph.FindOp(name);
  if (forward < 0) {
    std::vector<std::string> choices;
    for (const Op& choice : graph.ops()) choices.push_back(choice.name);
    ThrowUnknown(where, "op", name, choices);
  }
  return forward;
}

std::string_view ScopeOf(std::string_view name, int depth) {
  const char separator = name.find('/') != name.npos ? '/' : '.';
  const size_t whole = name.rfind(separator);
  if (whole == name.npos) return {};
  size_t end = 0;
  for (int i = 0; i < depth && end < whole; ++i) end = name.find(separator, end + (i > 0));
  return name.substr(0, end);
}

}  // namespace emplace::internal
