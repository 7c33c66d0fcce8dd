#include "experiments/export/export_device_map.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "experiments/export/export_modules.h"
#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr size_t kMostConflicts = 20;  // printed one by one

double Percent(Nanos part, Nanos whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// Returns the device for all `ops`, with their times as placed.
ModuleConflict Decide(const Problem& problem,
                      const std::vector<DeviceIndex>& device_of_op,
                      const std::vector<int>& ops,
                      const std::string& first_unit) {
  const Costs& costs = problem.costs();
  ModuleConflict decision;
  decision.time.assign(problem.num_devices(), 0);
  decision.ops.assign(problem.num_devices(), 0);
  std::vector<bool> allowed(problem.num_devices(), true);
  for (const int v : ops) {
    decision.time[device_of_op[v]] += costs.at(v, device_of_op[v]);
    ++decision.ops[device_of_op[v]];
    for (int d = 0; d < problem.num_devices(); ++d) allowed[d] = allowed[d] && costs.allowed(v, d);
  }
  int best = -1;
  for (int d = 0; d < problem.num_devices(); ++d) {
    const auto rank = [&](int device) {
      return std::tuple(decision.time[device], decision.ops[device]);
    };
    if (allowed[d] && (best < 0 || rank(d) > rank(best))) best = d;
  }
  if (best < 0) {
    throw InputError(
        fmt::format("graph \"{}\": a device_map needs one device for module \"{}\", but no device "
                    "may run all of its ops and the ops bound to them (device_kinds, devices)",
                    problem.graph().name(),
                    first_unit));
  }
  decision.device = static_cast<DeviceIndex>(best);
  decision.moved =
      std::accumulate(decision.time.begin(), decision.time.end(), Nanos{0}) - decision.time[best];
  return decision;
}

// Returns the shortest prefix path of `unit` below which all units have its device.
std::string ShortestCover(size_t unit,
                          const std::vector<std::string>& names,
                          const std::vector<DeviceIndex>& devices) {
  const std::string& name = names[unit];
  for (size_t end = 0; end < name.size(); end = std::min(name.find('.', end + 1), name.size())) {
    const std::string module = name.substr(0, end);
    bool agree = true;
    for (size_t u = 0; u < names.size(); ++u) {
      agree = agree && (devices[u] == devices[unit] || !IsWithin(names[u], module));
    }
    if (agree) return module;
  }
  return name;
}

DeviceMap MapUnits(const Problem& problem,
                   const std::vector<DeviceIndex>& device_of_op,
                   const ModuleUnits& units) {
  DeviceMap map;
  map.device_of_op = device_of_op;
  map.num_units = static_cast<int>(units.names.size());
  std::vector<std::vector<int>> ops_of_unit(units.names.size());
  for (int v = 0; v < problem.num_ops(); ++v) {
    if (units.unit_of_op[v] != kNoUnit) ops_of_unit[units.unit_of_op[v]].push_back(v);
    map.total += problem.costs().at(v, device_of_op[v]);
  }
  std::vector<DeviceIndex> devices(units.names.size());
  for (const BoundUnits& group : units.groups) {
    std::vector<int> ops;
    for (const int unit : group.units) {
      ops.insert(ops.end(), ops_of_unit[unit].begin(), ops_of_unit[unit].end());
    }
    ModuleConflict decision = Decide(problem, device_of_op, ops, units.names[group.units.front()]);
    for (const int unit : group.units) {
      devices[unit] = decision.device;
      decision.units.push_back(units.names[unit]);
    }
    for (const int v : ops) map.device_of_op[v] = decision.device;
    map.moved += decision.moved;
    decision.joins = group.joins;
    if (decision.ops[decision.device] < static_cast<int>(ops.size())) {
      map.conflicts.push_back(std::move(decision));
    }
  }
  std::stable_sort(map.conflicts.begin(), map.conflicts.end(), [](const auto& a, const auto& b) {
    return a.moved > b.moved;
  });
  for (size_t unit = 0; unit < units.names.size(); ++unit) {
    DeviceMap::Entry entry{ShortestCover(unit, units.names, devices), devices[unit]};
    if (std::find(map.entries.begin(), map.entries.end(), entry) == map.entries.end()) {
      map.entries.push_back(std::move(entry));
    }
  }
  return map;
}

// Returns the opened modules that an entry covers and one of whose own ops follows a unit on
// another device: entering the module would move the inputs of that op.
std::set<std::string> WronglyOpened(const Graph& graph, const DeviceMap& map) {
  std::set<std::string> modules;
  const std::vector<std::string> paths = ModulePaths(graph);
  for (int v = 0; v < graph.num_ops(); ++v) {
    for (const DeviceMap::Entry& entry : map.entries) {
      if (paths[v].empty() || !IsWithin(paths[v], entry.module)) continue;
      if (map.device_of_op[v] != entry.device) modules.insert(paths[v]);
    }
  }
  return modules;
}

}  // namespace

DeviceMap MakeDeviceMap(const Problem& problem, const std::vector<DeviceIndex>& device_of_op) {
  std::set<std::string> blocks;
  while (true) {
    DeviceMap map = MapUnits(problem, device_of_op, FindModuleUnits(problem.graph(), blocks));
    const std::set<std::string> more = WronglyOpened(problem.graph(), map);
    if (more.empty()) return map;
    const size_t before = blocks.size();
    blocks.insert(more.begin(), more.end());
    EMPLACE_CHECK(blocks.size() > before);
  }
}

std::string FormatConflicts(const DeviceMap& map, const Cluster& cluster) {
  if (map.conflicts.empty()) return "";
  std::string text = fmt::format(
      "conflicts        {} of {} modules had ops on several devices; the export moves {:.1f} % of "
      "the time to another device\n",
      std::accumulate(map.conflicts.begin(),
                      map.conflicts.end(),
                      size_t{0},
                      [](size_t n, auto& c) { return n + c.units.size(); }),
      map.num_units,
      Percent(map.moved, map.total));
  for (size_t i = 0; i < std::min(kMostConflicts, map.conflicts.size()); ++i) {
    const ModuleConflict& conflict = map.conflicts[i];
    const Nanos time = std::accumulate(conflict.time.begin(), conflict.time.end(), Nanos{0});
    std::vector<std::string> shares;
    for (int d = 0; d < cluster.num_devices(); ++d) {
      if (conflict.ops[d] == 0) continue;
      shares.push_back(fmt::format("{} {:.1f} % ({} ops)",
                                   cluster.device(d).name,
                                   Percent(conflict.time[d], time),
                                   conflict.ops[d]));
    }
    text += fmt::format("  {}: {} -> {}{}\n",
                        fmt::join(conflict.units, ", "),
                        fmt::join(shares, ", "),
                        cluster.device(conflict.device).name,
                        conflict.joins.empty()
                            ? ""
                            : fmt::format("; joined by {}", fmt::join(conflict.joins, ", ")));
  }
  if (map.conflicts.size() > kMostConflicts) {
    text += fmt::format("  and {} more\n", map.conflicts.size() - kMostConflicts);
  }
  return text;
}

}  // namespace emplace
