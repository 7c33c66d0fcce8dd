#include "experiments/export/export_modules.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/graph/coarsen_internal.h"

namespace emplace {
namespace {

using Sources = std::set<std::string>;
const std::string kOutside;  // a source; no child has this path

// Returns "h", "h.0", "h.0.attn" of "h.0.attn".
std::vector<std::string> PathsTo(const std::string& module) {
  std::vector<std::string> paths;
  for (size_t end = 0; end < module.size();) {
    end = std::min(module.find('.', end + 1), module.size());
    paths.push_back(module.substr(0, end));
  }
  return paths;
}

class UnitFinder {
 public:
  UnitFinder(const Graph& graph, std::set<std::string> blocks)
      : graph_(graph), modules_(ModulePaths(graph)), blocks_(std::move(blocks)) {
    for (const std::string& module : modules_) {
      std::string parent;
      for (const std::string& path : PathsTo(module)) parents_.insert(std::exchange(parent, path));
    }
  }

  ModuleUnits Find() {
    FindBlocks();
    found_.unit_of_op.assign(graph_.num_ops(), kNoUnit);
    for (int v = 0; v < graph_.num_ops(); ++v) {
      const std::string name = UnitName(v);
      if (name.empty()) continue;
      const auto [unit, is_new] = unit_of_name_.emplace(name, found_.names.size());
      if (is_new) found_.names.push_back(name);
      found_.unit_of_op[v] = unit->second;
    }
    inside_ = found_.unit_of_op;
    FollowInputs();
    FollowReaders();
    Bind();
    return std::move(found_);
  }

 private:
  bool IsForward(int op) const {
    return graph_.op(op).phase == Phase::kForward && !graph_.op(op).IsStorage();
  }
  bool IsLoss(int op) const {
    return modules_[op].empty() && graph_.op(op).name.starts_with("loss/");
  }
  bool IsState(int op) const {
    const std::vector<int>& outputs = graph_.op(op).outputs;
    return graph_.op(op).kind == "parameter" && !outputs.empty() &&
           graph_.tensor(outputs.front()).role != TensorRole::kOptimizerState;
  }

  // Finds the sources of the inputs of an op of module `m`, relative to m: a child, m's own state
  // ("m" itself) or outside. The outputs of m's own ops have the sources of their inputs.
  void FindBlocks() {
    std::vector<Sources> sources(graph_.num_ops());
    for (const int v : graph_.topological_order()) {
      const std::string& module = modules_[v];
      if (!IsForward(v) || !parents_.contains(module) || module.empty()) continue;
      for (const int tensor : graph_.op(v).inputs) {
        const int from = graph_.tensor(tensor).producer;
        if (from < 0) continue;
        if (modules_[from] == module && IsState(from)) {
          sources[v].insert(module);
        } else if (modules_[from] == module) {
          sources[v].insert(sources[from].begin(), sources[from].end());
        } else if (IsWithin(modules_[from], module)) {
          sources[v].insert(modules_[from].substr(0, modules_[from].find('.', module.size() + 1)));
        } else {
          sources[v].insert(kOutside);
        }
      }
      if (sources[v].size() > 1 && sources[v].contains(kOutside)) blocks_.insert(module);
    }
  }

  // Returns the name of the op's unit; empty for an op outside of all units.
  std::string UnitName(int op) const {
    for (const std::string& path : PathsTo(modules_[op])) {
      if (blocks_.contains(path) || !parents_.contains(path)) return path;
    }
    return IsState(op) ? graph_.op(op).name : "";
  }

  void FollowInputs() {
    std::vector<int>& unit = found_.unit_of_op;
    for (const int v : graph_.topological_order()) {
      if (unit[v] != kNoUnit) continue;
      const int forward =
          graph_.FindOp(internal::TextAttribute(graph_.op(v), "forward_op").value_or(""));
      if (forward >= 0) unit[v] = unit[forward];
      for (const int tensor : graph_.op(v).inputs) {
        const int from = graph_.tensor(tensor).producer;
        if (unit[v] == kNoUnit && from >= 0) unit[v] = unit[from];
      }
    }
  }

  void FollowReaders() {
    std::vector<int>& unit = found_.unit_of_op;
    const auto order = graph_.topological_order();
    for (auto v = order.rbegin(); v != order.rend(); ++v) {
      for (const int reader : graph_.successors(*v)) {
        if (unit[*v] == kNoUnit) unit[*v] = unit[reader];
      }
    }
  }

  void Bind() {
    const auto num_units = static_cast<int>(found_.names.size());
    internal::UnionFind sets(num_units);
    std::vector<std::pair<int, std::string>> joins;  // a unit of the group, and the op
    for (int v = 0; v < graph_.num_ops(); ++v) {
      if (!IsForward(v) || IsLoss(v) || found_.unit_of_op[v] == kNoUnit) continue;
      for (const int tensor : graph_.op(v).inputs) {
        const int from = graph_.tensor(tensor).producer;
        if (from < 0 || found_.unit_of_op[from] == kNoUnit) continue;
        if (inside_[v] != kNoUnit && !IsState(from)) continue;  // inputs of a module are moved
        const int a = found_.unit_of_op[v], b = found_.unit_of_op[from];
        if (sets.Find(a) == sets.Find(b)) continue;
        sets.Union(a, b);
        joins.emplace_back(a, graph_.op(v).name);
      }
    }
    std::map<int, BoundUnits> groups;
    for (int unit = 0; unit < num_units; ++unit) groups[sets.Find(unit)].units.push_back(unit);
    for (auto& [unit, op] : joins) {
      std::vector<std::string>& names = groups[sets.Find(unit)].joins;
      if (names.empty() || names.back() != op) names.push_back(std::move(op));
    }
    for (auto& [first, group] : groups) found_.groups.push_back(std::move(group));
  }

  const Graph& graph_;
  std::vector<std::string> modules_;  // [num_ops] path; "": the root, or none
  std::set<std::string> parents_;     // modules with children, the root among them
  std::set<std::string> blocks_;
  std::unordered_map<std::string, int> unit_of_name_;
  std::vector<int> inside_;  // [num_ops] unit of the ops inside it, without those that follow
  ModuleUnits found_;
};

}  // namespace

std::vector<std::string> ModulePaths(const Graph& graph) {
  std::vector<std::string> paths;
  for (const Op& op : graph.ops()) {
    paths.push_back(internal::TextAttribute(op, "module").value_or(""));
  }
  return paths;
}

bool IsWithin(const std::string& path, const std::string& module) {
  return module.empty() || path == module || path.starts_with(module + ".");
}

ModuleUnits FindModuleUnits(const Graph& graph, const std::set<std::string>& blocks) {
  const std::vector<std::string> paths = ModulePaths(graph);
  const auto is_root = [](const std::string& path) { return path.empty(); };
  if (std::all_of(paths.begin(), paths.end(), is_root)) {
    throw InputError(
        fmt::format("graph \"{}\": no op names its module (attributes.module), so a device_map has "
                    "no modules; expected a graph of `emplace import --from torch`",
                    graph.name()));
  }
  return UnitFinder(graph, blocks).Find();
}

}  // namespace emplace
