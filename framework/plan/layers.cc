#include "framework/plan/layers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/base/error.h"
#include "framework/base/json.h"
#include "framework/cost/op_kind.h"
#include "framework/graph/coarsen.h"
#include "framework/plan/planned_graph.h"

namespace emplace {
namespace {

constexpr int kNone = -1, kMostUnits = 32;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

/// A part of a name up to a component with a number at its end.
struct Block {
  std::string family;  ///< with '*' for each number
  std::string name;    ///< "h.3"
};

/// Returns the blocks of a name, the outermost first.
std::vector<Block> BlocksOf(const std::string& name) {
  std::vector<Block> blocks;
  std::string family;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find_first_of("./", begin), name.size());
    std::size_t digits = end;
    while (digits > begin && IsDigit(name[digits - 1])) --digits;
    if (digits < end && end < name.size()) {
      blocks.push_back({family + name.substr(begin, digits - begin) + '*', name.substr(0, end)});
      family = blocks.back().family;
    } else {
      family += name.substr(begin, end - begin);
    }
    if (end < name.size()) family += name[end];
    begin = end + 1;
  }
  return blocks;
}

/// Returns the block of a name for a pattern with one '*'; empty if the pattern does not match.
std::string BlockByPattern(const std::string& name,
                           std::string_view before,
                           std::string_view after) {
  if (!name.starts_with(before)) return "";
  std::size_t end = before.size();
  while (end < name.size() && IsDigit(name[end])) ++end;
  if (end == before.size()) return "";
  if (name.compare(end, after.size(), after) != 0) return "";
  end += after.size();
  const bool whole = end == name.size() || name[end] == '.' || name[end] == '/' ||
                     after.ends_with('.') || after.ends_with('/');
  return whole ? name.substr(0, end) : "";
}

bool IsForwardWork(const Op& op) {
  return op.phase == Phase::kForward && !op.IsStorage();
}

struct Family {
  int ops = 0;
  std::set<std::string> blocks;
};

/// Returns the families that FindLayers() chooses; empty if no blocks repeat.
std::set<std::string> ChooseFamilies(const Graph& graph) {
  std::vector<std::vector<Block>> blocks;  // of each forward op
  std::map<std::string, Family> families;
  for (const Op& op : graph.ops()) {
    if (!IsForwardWork(op)) continue;
    for (const Block& block : blocks.emplace_back(BlocksOf(op.name))) {
      Family& family = families[block.family];
      ++family.ops;
      family.blocks.insert(block.name);
    }
  }
  std::set<std::string> chosen;
  int total = static_cast<int>(blocks.size()), missing = total;
  while (missing > 0) {
    // The family with the most ops that are in no chosen one; of equals the shortest name.
    std::map<std::string, int> gains;
    for (const std::vector<Block>& of_op : blocks) {
      if (std::ranges::any_of(of_op, [&](const Block& b) { return chosen.contains(b.family); }))
        continue;
      for (const Block& block : of_op) {
        if (families[block.family].blocks.size() >= 2) ++gains[block.family];
      }
    }
    const auto best = std::ranges::max_element(gains, [](const auto& a, const auto& b) {
      if (a.second != b.second) return a.second < b.second;
      return a.first.size() > b.first.size();
    });
    if (best == gains.end()) break;
    if ((chosen.empty() ? 3 : 10) * best->second < total) break;
    chosen.insert(best->first);
    missing -= best->second;
  }
  // One level below, where nearly all ops of a family are in blocks of a further number.
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::string& outer : std::set<std::string>(chosen)) {
      std::set<std::string> below;
      int inside = 0;
      for (const std::vector<Block>& of_op : blocks) {
        for (std::size_t i = 0; i + 1 < of_op.size(); ++i) {
          // The next component is a number alone: "layer2.0", not "layer2.norm1".
          if (of_op[i].family != outer || of_op[i + 1].family.size() != outer.size() + 2) continue;
          below.insert(of_op[i + 1].family);
          ++inside;
        }
      }
      if (10 * inside < 9 * families[outer].ops || below.empty()) continue;
      chosen.erase(outer);
      chosen.insert(below.begin(), below.end());
      changed = true;
    }
  }
  return chosen;
}

/// Returns the name of each op's block; empty without one.
std::vector<std::string> FindBlocks(const Graph& graph,
                                    std::string_view pattern,
                                    std::string& found_by) {
  std::vector<std::string> block_of_op;
  if (!pattern.empty()) {
    const std::size_t star = pattern.find('*');
    if (star == pattern.npos || pattern.find('*', star + 1) != pattern.npos) {
      throw InputError(
          fmt::format("{}: expected a pattern with one '*' for the number of the layer, got {}",
                      graph.name(),
                      QuoteJson(std::string(pattern))));
    }
    for (const Op& op : graph.ops()) {
      block_of_op.push_back(
          BlockByPattern(op.name, pattern.substr(0, star), pattern.substr(star + 1)));
    }
    found_by = pattern;
    return block_of_op;
  }
  const std::set<std::string> families = ChooseFamilies(graph);
  for (const Op& op : graph.ops()) {
    block_of_op.emplace_back();
    for (const Block& block : BlocksOf(op.name)) {
      if (families.contains(block.family)) block_of_op.back() = block.name;
    }
  }
  found_by = fmt::format("{}", fmt::join(families, ", "));
  return block_of_op;
}

/// Throws the refusal of a pattern with less than two blocks.
[[noreturn]] void RefusePattern(const Graph& graph, std::string_view pattern, std::size_t blocks) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Op& op : graph.ops()) {
    if (!IsForwardWork(op)) continue;
    const std::vector<Block> of_op = BlocksOf(op.name);
    const std::string name = of_op.empty() ? op.name : of_op.front().family;
    if (names.size() < 8 && seen.insert(name).second) names.push_back(QuoteJson(name));
  }
  throw InputError(
      fmt::format("{}: layers {} match {} of the model; expected a pattern of at least "
                  "2; choices: {}",
                  graph.name(),
                  QuoteJson(std::string(pattern)),
                  blocks == 1 ? "1 block" : "no block",
                  fmt::join(names, ", ")));
}

/// Returns a pattern of the names of a block's ops.
std::string PatternOf(const Graph& graph, const std::string& block) {
  const bool longer = std::ranges::any_of(graph.ops(), [&](const Op& op) {
    return IsForwardWork(op) && op.name.size() > block.size() && op.name.starts_with(block) &&
           !IsDigit(op.name[block.size()]);
  });
  return longer ? block + "?*" : block;
}

/// Numbers labels 0, 1, ... without gaps, in their order.
std::vector<int> Compacted(std::vector<int> labels, std::vector<int>& number_of) {
  std::set<int> used(labels.begin(), labels.end());
  number_of.assign(used.empty() ? 0 : static_cast<std::size_t>(*used.rbegin()) + 1, kNone);
  int next = 0;
  for (int label : used) number_of[label] = next++;
  for (int& label : labels) label = number_of[label];
  return labels;
}

/// Returns the groups of ops that are in one layer. A view may be in another layer than its tensor:
/// residual connections pass a gradient from layer to layer through views alone.
Grouping TiedOps(const Graph& graph) {
  std::vector<Tensor> tensors(graph.tensors().begin(), graph.tensors().end());
  for (Tensor& tensor : tensors) {
    const bool view =
        tensor.producer >= 0 && ClassifyOp(graph.op(tensor.producer).kind) == OpClass::kView;
    if (view) tensor.alias_of = -1;
  }
  const Graph without_views =
      GraphLike(graph, std::move(tensors), {graph.ops().begin(), graph.ops().end()});
  return ColocateByLabel(without_views,
                         ColocateGradients(graph, Grouping::Identity(graph.num_ops())));
}

/// Returns the layer of each op from those of the forward ops, kNone elsewhere.
std::vector<int> WithTiedOps(const Graph& graph, std::vector<int> layer) {
  const Grouping tied = TiedOps(graph);
  std::vector<int> of_group(tied.num_groups(), kNone);
  const auto lower = [&](int op, int value) {
    int& least = of_group[tied.group_of(op)];
    if (value != kNone && (least == kNone || value < least)) least = value;
  };
  for (int op = 0; op < graph.num_ops(); ++op) lower(op, layer[op]);
  // Parameters of no block: their first reader's layer.
  std::vector<int> readers = of_group;
  for (int op = 0; op < graph.num_ops(); ++op) {
    if (!graph.op(op).IsStorage() || of_group[tied.group_of(op)] != kNone) continue;
    for (int reader : graph.successors(op)) {
      const int value = of_group[tied.group_of(reader)];
      int& least = readers[tied.group_of(op)];
      if (value != kNone && (least == kNone || value < least)) least = value;
    }
  }
  of_group = std::move(readers);
  // Other ops follow their predecessors, then their successors.
  const auto order = graph.topological_order();
  for (int op : order) {
    int& own = of_group[tied.group_of(op)];
    if (own != kNone) continue;
    for (int before : graph.predecessors(op)) {
      if (!graph.op(before).IsStorage()) own = std::max(own, of_group[tied.group_of(before)]);
    }
  }
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    int& own = of_group[tied.group_of(*op)];
    if (own != kNone) continue;
    for (int after : graph.successors(*op)) own = std::max(own, of_group[tied.group_of(after)]);
  }
  for (int op = 0; op < graph.num_ops(); ++op) {
    layer[op] = std::max(0, of_group[tied.group_of(op)]);
  }
  return layer;
}

/// Returns the layers of a model without repeated blocks: the merged groups that have forward ops.
ModelLayers MergedOps(const Graph& graph, const std::vector<double>& weight) {
  Grouping units =
      ColocateByLabel(graph, ColocateGradients(graph, Grouping::Identity(graph.num_ops())));
  units = MergeCheapest(graph, units, weight, kMostUnits);
  std::vector<double> sum(units.num_groups());
  std::vector<int> count(units.num_groups());
  int position = 0;
  for (int op : graph.topological_order()) {
    ++position;
    if (!IsForwardWork(graph.op(op))) continue;
    sum[units.group_of(op)] += position;
    ++count[units.group_of(op)];
  }
  std::vector<int> order, rank(units.num_groups(), kNone);
  for (int unit = 0; unit < units.num_groups(); ++unit) {
    if (count[unit] > 0) order.push_back(unit);
  }
  std::ranges::stable_sort(order, {}, [&](int unit) { return sum[unit] / count[unit]; });
  ModelLayers layers;
  for (std::size_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = static_cast<int>(i);
    layers.names.push_back(fmt::format("unit {}", i));
  }
  std::vector<int> layer;
  for (int op = 0; op < graph.num_ops(); ++op) layer.push_back(rank[units.group_of(op)]);
  layers.layer_of_op = WithTiedOps(graph, std::move(layer));
  layers.patterns.resize(layers.names.size());
  layers.found_by = "merged ops";
  return layers;
}

}  // namespace

std::vector<std::string> ModelLayers::RecomputeAll() const {
  std::vector<std::string> all;
  for (const std::string& pattern : patterns) {
    if (!pattern.empty()) all.push_back(pattern);
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &std::string::size);
  return all;
}

ModelLayers FindLayers(const Graph& graph,
                       std::string_view pattern,
                       const std::vector<double>& weight) {
  ModelLayers layers;
  const std::vector<std::string> block_of_op = FindBlocks(graph, pattern, layers.found_by);
  std::vector<std::string> blocks;  // in topological order
  std::map<std::string, int> number;
  for (int op : graph.topological_order()) {
    if (!IsForwardWork(graph.op(op)) || block_of_op[op].empty()) continue;
    const bool is_new = number.emplace(block_of_op[op], static_cast<int>(blocks.size())).second;
    if (is_new) blocks.push_back(block_of_op[op]);
  }
  const int count = static_cast<int>(blocks.size());
  if (count < 2) {
    if (!pattern.empty()) RefusePattern(graph, pattern, blocks.size());
    return MergedOps(graph, weight);
  }
  // 0: input; block b: b + 1; count + 1: output.
  std::vector<int> layer(graph.num_ops(), kNone);
  for (int op : graph.topological_order()) {
    const auto own = number.find(block_of_op[op]);
    if (own != number.end()) {
      layer[op] = own->second + 1;
    } else if (IsForwardWork(graph.op(op))) {
      int last = 0;
      for (int before : graph.predecessors(op)) {
        if (!graph.op(before).IsStorage()) last = std::max(last, layer[before]);
      }
      layer[op] = last >= count ? count + 1 : last;
    }
  }
  std::vector<int> number_of;
  layers.layer_of_op = Compacted(WithTiedOps(graph, std::move(layer)), number_of);
  for (int i = 0; i < static_cast<int>(number_of.size()); ++i) {
    if (number_of[i] == kNone) continue;
    const bool block = i > 0 && i <= count;
    layers.names.push_back(block ? blocks[i - 1] : i == 0 ? "input" : "output");
    layers.patterns.push_back(block ? PatternOf(graph, blocks[i - 1]) : "");
  }
  return layers;
}

}  // namespace emplace
