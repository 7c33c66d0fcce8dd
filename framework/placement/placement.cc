#include "framework/placement/placement.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/json.h"
#include "framework/base/json_record.h"
#include "framework/graph/op_order.h"

namespace emplace {
namespace {

constexpr std::string_view kFormat = "emplace-placement";
constexpr int kVersion = 1;
constexpr std::array<std::string_view, 7> kKeys =
    {"format", "version", "graph", "cluster", "simulated", "devices", "issue_order"};
constexpr size_t kLongestName = 100;  // of an unknown name in a message
constexpr int kUnplaced = -1;

std::string ReadName(const Json& value, const std::string& where, const std::string& key) {
  return AtPlace(where + ": " + key, [&] { return JsonText(value, "a name"); });
}

// Returns the op of a name. @param place  stands at the beginning of the message
int FindOp(const Graph& graph, const std::string& name, const std::string& place) {
  const int op = graph.FindOp(name);
  if (op >= 0) return op;
  std::vector<std::string> choices;
  for (const Op& choice : graph.ops()) choices.push_back(choice.name);
  ThrowUnknown(place, "op", name.substr(0, kLongestName), choices);
}

std::vector<DeviceIndex> ReadDevices(const Json& devices,
                                     const Graph& graph,
                                     const Cluster& cluster,
                                     const std::string& where) {
  if (!devices.is_object()) {
    throw InputError(
        fmt::format("{}: devices: got {}; expected an object of op name -> device name",
                    where,
                    ClippedJson(devices)));
  }
  std::vector<int> device_of_op(graph.num_ops(), kUnplaced);
  for (const auto& [op_name, value] : devices.get_ref<const Json::object_t&>()) {
    const int op = FindOp(graph, op_name, where + ": devices");
    const std::string place = fmt::format("devices.{}", op_name);
    const std::string device = ReadName(value, where, place);
    device_of_op[op] = cluster.FindDevice(device);
    if (device_of_op[op] < 0) {
      ThrowUnknown(fmt::format("{}: {}", where, place),
                   "device",
                   device.substr(0, kLongestName),
                   cluster.DeviceNames());
    }
  }

  const auto missing = std::count(device_of_op.begin(), device_of_op.end(), kUnplaced);
  if (missing > 0) {
    const auto first = std::find(device_of_op.begin(), device_of_op.end(), kUnplaced);
    throw InputError(fmt::format(
        "{}: devices: op \"{}\"{} has no device; expected every op of graph \"{}\" once",
        where,
        graph.op(static_cast<int>(first - device_of_op.begin())).name,
        missing > 1 ? fmt::format(" (and {} more)", missing - 1) : "",
        graph.name()));
  }
  return {device_of_op.begin(), device_of_op.end()};
}

std::vector<int> ReadIssueOrder(const Json& names, const Graph& graph, const std::string& where) {
  if (!names.is_array()) {
    throw InputError(fmt::format(
        "{}: issue_order: got {}; expected a list of op names", where, ClippedJson(names)));
  }
  std::vector<int> order;
  for (const Json& name : names) {
    const std::string place = fmt::format("issue_order.{}", order.size());
    order.push_back(FindOp(graph, ReadName(name, where, place), where + ": " + place));
  }
  RequireOpOrder(graph, order, where + ": issue_order");
  return order;
}

SimulatedAs ReadSimulated(const Json& object,
                          const std::string& where,
                          std::vector<std::string>& warnings) {
  if (!object.is_object()) {
    throw InputError(fmt::format(
        "{}: simulated: got {}; expected an object of settings", where, ClippedJson(object)));
  }
  SimulatedAs simulated;
  const std::map<std::string_view, std::string*> texts = {{"semantics", &simulated.semantics},
                                                          {"priority", &simulated.priority},
                                                          {"objective", &simulated.objective},
                                                          {"costs", &simulated.costs},
                                                          {"contracted", &simulated.contracted}};
  for (const auto& [key, value] : object.get_ref<const Json::object_t&>()) {
    const std::string place = "simulated." + key;
    if (const auto text = texts.find(key); text != texts.end()) {
      *text->second = ReadName(value, where, place);
    } else if (key == "count_gaps") {
      simulated.count_gaps = AtPlace(where + ": " + place, [&] { return JsonBool(value); });
    } else if (key == "step_time_ns") {
      simulated.step_time = AtPlace(where + ": " + place, [&] { return JsonCount(value); });
    } else {
      warnings.push_back(fmt::format("{}: unknown key {} ignored", where, QuoteJson(place)));
    }
  }
  return simulated;
}

std::string FormatSimulated(const SimulatedAs& simulated) {
  Json json = {{"semantics", simulated.semantics},
               {"priority", simulated.priority},
               {"objective", simulated.objective},
               {"count_gaps", simulated.count_gaps},
               {"costs", simulated.costs}};
  if (!simulated.contracted.empty()) json["contracted"] = simulated.contracted;
  if (simulated.step_time) json["step_time_ns"] = *simulated.step_time;
  return json.dump();
}

}  // namespace

std::vector<DeviceIndex> ExpandPlacement(const Placement& placement, const Grouping& grouping) {
  EMPLACE_CHECK(static_cast<int>(placement.device.size()) == grouping.num_groups());
  std::vector<DeviceIndex> device_of_op(grouping.num_ops());
  for (int v = 0; v < grouping.num_ops(); ++v) {
    device_of_op[v] = placement.device[grouping.group_of(v)];
  }
  return device_of_op;
}

Placement ContractPlacement(std::span<const DeviceIndex> device_of_op,
                            const Grouping& grouping,
                            const Graph& graph,
                            const Cluster& cluster,
                            const std::string& where) {
  EMPLACE_CHECK(static_cast<int>(device_of_op.size()) == grouping.num_ops());
  EMPLACE_CHECK(graph.num_ops() == grouping.num_ops());
  Placement placement;
  for (int group = 0; group < grouping.num_groups(); ++group) {
    const auto members = grouping.members(group);
    const DeviceIndex device = device_of_op[members[0]];
    for (int v : members) {
      if (device_of_op[v] == device) continue;
      throw InputError(
          fmt::format("{}: op \"{}\" is on \"{}\" and op \"{}\" is on \"{}\", but they belong to "
                      "one group; expected one device for both",
                      where,
                      graph.op(members[0]).name,
                      cluster.device(device).name,
                      graph.op(v).name,
                      cluster.device(device_of_op[v]).name));
    }
    placement.device.push_back(device);
  }
  return placement;
}

void RequireLabelsTogether(std::span<const DeviceIndex> device_of_op,
                           const Graph& graph,
                           const Cluster& cluster,
                           const std::string& where) {
  std::map<std::string_view, int> first;
  for (int v = 0; v < graph.num_ops(); ++v) {
    const std::string& label = graph.op(v).colocate;
    if (label.empty()) continue;
    const int other = first.emplace(label, v).first->second;
    if (device_of_op[v] == device_of_op[other]) continue;
    throw InputError(
        fmt::format("{}: ops \"{}\" (on {}) and \"{}\" (on {}) have the colocate label \"{}\" and "
                    "must share a device",
                    where,
                    graph.op(other).name,
                    cluster.device(device_of_op[other]).name,
                    graph.op(v).name,
                    cluster.device(device_of_op[v]).name,
                    label));
  }
}

bool IsPlacementFile(std::string_view path) {
  return path.ends_with(".json") || path.ends_with(".json.gz");
}

PlacementFile ParsePlacement(const std::string& json,
                             const Graph& graph,
                             const Cluster& cluster,
                             const std::string& where,
                             const WarningSink& warn) {
  std::array<Json, kKeys.size()> values;
  values.fill(Json(Json::value_t::discarded));
  auto& [format, version, graph_name, cluster_name, simulated, devices, issue_order] = values;
  std::vector<std::string> warnings;
  VisitJson(json, where, {}, [&](const JsonPart& part) {
    const auto known = std::find(kKeys.begin(), kKeys.end(), part.key);
    if (known == kKeys.end()) {
      warnings.push_back(fmt::format("{}: unknown key {} ignored", where, QuoteJson(part.key)));
    } else {
      values[known - kKeys.begin()] = std::move(part.value);
    }
  });
  CheckJsonFormat(format, version, kFormat, kVersion, where);
  if (devices.is_discarded()) {
    throw InputError(fmt::format("{}: required key \"devices\" is missing", where));
  }
  for (const auto& [value, key, name] : {std::tuple(&graph_name, "graph", &graph.name()),
                                         {&cluster_name, "cluster", &cluster.name()}}) {
    if (value->is_discarded()) continue;
    const std::string made_for = ReadName(*value, where, key);
    if (made_for != *name) {
      warnings.push_back(fmt::format(
          "{}: {}: made for {}, used with {}", where, key, QuoteJson(made_for), QuoteJson(*name)));
    }
  }
  PlacementFile file{ReadDevices(devices, graph, cluster, where), {}, {}};
  if (!simulated.is_discarded()) file.simulated = ReadSimulated(simulated, where, warnings);
  if (!issue_order.is_discarded()) file.issue_order = ReadIssueOrder(issue_order, graph, where);
  if (warn) {
    for (const std::string& warning : warnings) warn(warning);
  }
  return file;
}

PlacementFile ReadPlacement(const std::filesystem::path& path,
                            const Graph& graph,
                            const Cluster& cluster,
                            const WarningSink& warn) {
  return ParsePlacement(ReadFile(path), graph, cluster, path.string(), warn);
}

std::string FormatPlacement(std::span<const DeviceIndex> device_of_op,
                            const Graph& graph,
                            const Cluster& cluster,
                            std::span<const int> issue_order,
                            const std::optional<SimulatedAs>& simulated) {
  EMPLACE_CHECK(static_cast<int>(device_of_op.size()) == graph.num_ops());
  std::string text =
      fmt::format("{{\"format\":\"{}\",\n\"version\":{},\n\"graph\":{},\n\"cluster\":{},\n",
                  kFormat,
                  kVersion,
                  QuoteJson(graph.name()),
                  QuoteJson(cluster.name()));
  if (simulated) text += fmt::format("\"simulated\":{},\n", FormatSimulated(*simulated));
  text += "\"devices\":{";
  for (int v = 0; v < graph.num_ops(); ++v) {
    text += fmt::format("{}\n{}:{}",
                        v > 0 ? "," : "",
                        QuoteJson(graph.op(v).name),
                        QuoteJson(cluster.device(device_of_op[v]).name));
  }
  text += "\n}";
  if (!issue_order.empty()) {
    text += ",\n\"issue_order\":[";
    for (size_t i = 0; i < issue_order.size(); ++i) {
      text += fmt::format("{}\n{}", i > 0 ? "," : "", QuoteJson(graph.op(issue_order[i]).name));
    }
    text += "\n]";
  }
  return text + "}\n";
}

}  // namespace emplace
