#include "framework/cluster/device_kind_io.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/cluster/cluster_io.h"
#include "framework/cluster/op_class.h"

namespace emplace {
namespace {

DeviceClass ParseClass(const ConfigNode& node) {
  const std::vector<std::string>& names = DeviceClassNames();
  const auto found = std::ranges::find(names, node.AsString());
  if (found == names.end()) ThrowUnknown(node.Where(), "device class", node.AsString(), names);
  return static_cast<DeviceClass>(found - names.begin());
}

int ParseFigure(const ConfigNode& node) {
  const double number = node.AsDouble();
  const std::optional<int> figure = ParseInterference(number);
  if (!figure) node.Fail(fmt::format("expected a number from 0 to 16, got {}", number));
  return *figure;
}

std::map<std::string, Interference> ParseKindInterference(const ConfigNode& node) {
  static const std::vector<std::string> keys{"sensitivity", "pressure"};
  node.RequireKnownKeys(InterferenceKeys());
  std::map<std::string, Interference> figures;
  for (const std::string& key : node.Keys()) {
    const ConfigNode entry = node.At(key);
    entry.RequireKnownKeys(keys);
    Interference& read = figures[key];
    if (entry.Has("sensitivity")) read.sensitivity = ParseFigure(entry.At("sensitivity"));
    if (entry.Has("pressure")) read.pressure = ParseFigure(entry.At("pressure"));
  }
  return figures;
}

// Reads a fit of a kind: the name of one of `fits`, or a map.
KernelFit ParseFitted(const ConfigNode& node,
                      const DeviceKind& kind,
                      const std::map<std::string, KernelFit>& fits) {
  KernelFit fit;
  if (!node.IsScalar()) {
    fit = ParseKernelFit(node);
  } else if (const auto found = fits.find(node.AsString()); found != fits.end()) {
    fit = found->second;
  } else {
    std::vector<std::string> names;
    for (const auto& [name, unused] : fits) names.push_back(name);
    ThrowUnknown(node.Where(), "fit", node.AsString(), names);
  }
  if (kind.peak.count(fit.dtype) == 0 || !(kind.memory_bandwidth > 0) || !(kind.power > 0) ||
      kind.multiprocessors == 0) {
    node.Fail(fmt::format(
        "expected a kind with peak of {}, memory_bandwidth, multiprocessors and power", fit.dtype));
  }
  return fit;
}

DeviceKind ParseDeviceKind(const std::string& name,
                           const ConfigNode& node,
                           const std::map<std::string, KernelFit>& fits) {
  static const std::vector<std::string> keys{"class",
                                             "peak",
                                             "memory_bandwidth",
                                             "overhead",
                                             "gap",
                                             "issue",
                                             "launch",
                                             "pays_transfers",
                                             "cold_read",
                                             "interference",
                                             "efficiency",
                                             "multiprocessors",
                                             "power",
                                             "fitted",
                                             "source"};
  node.RequireKnownKeys(keys);
  DeviceKind kind;
  kind.name = name;
  kind.device_class = ParseClass(node.At("class"));
  if (node.Has("peak")) {
    const ConfigNode peak = node.At("peak");
    peak.RequireKnownKeys(PeakKeys());
    for (const std::string& dtype : peak.Keys()) kind.peak[dtype] = peak.At(dtype).AsFlopRate();
  }
  if (node.Has("memory_bandwidth")) {
    kind.memory_bandwidth = node.At("memory_bandwidth").AsBandwidth().BytesPerSecond();
  }
  if (node.Has("overhead")) kind.overhead = node.At("overhead").AsTime();
  if (node.Has("gap")) kind.gap = node.At("gap").AsTime();
  if (node.Has("issue")) kind.issue = node.At("issue").AsTime();
  if (node.Has("launch")) kind.launch = node.At("launch").AsTime();
  if (node.Has("pays_transfers")) kind.pays_transfers = node.At("pays_transfers").AsBool();
  if (node.Has("cold_read")) kind.cold_read = node.At("cold_read").AsBandwidth();
  if (node.Has("interference")) kind.interference = ParseKindInterference(node.At("interference"));
  if (node.Has("efficiency")) {
    const ConfigNode efficiency = node.At("efficiency");
    efficiency.RequireKnownKeys(EfficiencyKeys());
    for (const std::string& op_class : efficiency.Keys()) {
      const double share = efficiency.At(op_class).AsDouble();
      if (!(share > 0 && share <= 1)) {
        efficiency.At(op_class).Fail(
            fmt::format("expected a share of the peak in (0, 1], got {}", share));
      }
      kind.efficiency[op_class] = share;
    }
  }
  if (node.Has("multiprocessors")) {
    constexpr std::int64_t kMost = 65536;
    const std::int64_t number = node.At("multiprocessors").AsInt();
    if (number < 1 || number > kMost) {
      node.At("multiprocessors")
          .Fail(fmt::format("expected a number from 1 to {}, got {}", kMost, number));
    }
    kind.multiprocessors = static_cast<int>(number);
  }
  if (node.Has("power")) {
    kind.power = node.At("power").AsDouble();
    if (!(kind.power > 0)) {
      node.At("power").Fail(fmt::format("expected watts above 0, got {}", kind.power));
    }
  }
  if (node.Has("fitted")) {
    const ConfigNode fitted = node.At("fitted");
    const std::vector<ConfigNode> entries =
        fitted.IsSequence() ? fitted.Elements() : std::vector<ConfigNode>{fitted};
    for (const ConfigNode& entry : entries) kind.fitted.push_back(ParseFitted(entry, kind, fits));
  }
  if (node.Has("source")) kind.source = node.At("source").AsString();
  return kind;
}

}  // namespace

std::map<std::string, DeviceKind> ParseDeviceKinds(const ConfigNode& node,
                                                   const std::map<std::string, KernelFit>& fits) {
  std::map<std::string, DeviceKind> kinds;
  for (const std::string& name : node.Keys()) {
    if (name.empty()) node.Fail("expected the name of a device kind, got an empty text");
    kinds.emplace(name, ParseDeviceKind(name, node.At(name), fits));
  }
  return kinds;
}

std::map<std::string, DeviceKind> ReadDeviceKinds(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path below = folder / "device_kinds";
  const fs::path place = fs::is_directory(below, error) ? below : folder;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(place, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".yaml") files.push_back(entry->path());
  }
  if (error) {
    throw InputError(fmt::format(
        "{}: expected a folder of device kinds (*.yaml): {}", place.string(), error.message()));
  }
  std::sort(files.begin(), files.end());
  static const std::vector<std::string> keys{"kernel_fits", "device_kinds"};
  std::vector<ConfigNode> nodes;
  std::map<std::string, KernelFit> fits;
  for (const fs::path& file : files) {
    nodes.push_back(ConfigNode::FromFile(file));
    nodes.back().RequireKnownKeys(keys);
    if (!nodes.back().Has("kernel_fits")) continue;
    const ConfigNode map = nodes.back().At("kernel_fits");
    for (const std::string& name : map.Keys()) {
      KernelFit fit = ParseKernelFit(map.At(name));
      fit.name = name;
      if (!fits.emplace(name, std::move(fit)).second) {
        map.At(name).Fail(fmt::format("duplicate fit \"{}\"", name));
      }
    }
  }
  std::map<std::string, DeviceKind> kinds;
  std::map<std::string, std::string> file_of;
  for (size_t i = 0; i < files.size(); ++i) {
    if (nodes[i].Has("kernel_fits") && !nodes[i].Has("device_kinds")) continue;
    const ConfigNode map = nodes[i].At("device_kinds");
    for (auto& [name, kind] : ParseDeviceKinds(map, fits)) {
      if (!file_of.emplace(name, files[i].string()).second) {
        map.At(name).Fail(
            fmt::format("duplicate device kind \"{}\", first in {}", name, file_of[name]));
      }
      kinds.emplace(name, kind);
    }
  }
  return kinds;
}

std::string FormatDeviceKind(const DeviceKind& kind) {
  std::string text = fmt::format("  {}:\n", QuoteYaml(kind.name));
  text += fmt::format("    class: {}\n", ToString(kind.device_class));
  const auto format_map = [](const std::map<std::string, double>& map, const char* unit) {
    std::vector<std::string> entries;
    for (const auto& [key, value] : map)
      entries.push_back(fmt::format("{}: {}{}", key, value, unit));
    return fmt::format("{{{}}}", fmt::join(entries, ", "));
  };
  if (!kind.peak.empty()) text += fmt::format("    peak: {}\n", format_map(kind.peak, "FLOP/s"));
  if (kind.memory_bandwidth > 0) {
    text += fmt::format("    memory_bandwidth: {}B/s\n", kind.memory_bandwidth);
  }
  text += fmt::format("    overhead: {}ns\n    gap: {}ns\n    issue: {}ns\n    launch: {}ns\n",
                      kind.overhead,
                      kind.gap,
                      kind.issue,
                      kind.launch);
  text += fmt::format("    pays_transfers: {}\n", kind.pays_transfers);
  if (kind.cold_read) text += fmt::format("    cold_read: {}\n", FormatBandwidth(*kind.cold_read));
  if (!kind.interference.empty()) {
    std::vector<std::string> entries;
    for (const auto& [key, figures] : kind.interference) {
      entries.push_back(fmt::format("{}: {{sensitivity: {}, pressure: {}}}",
                                    key,
                                    InterferenceNumber(figures.sensitivity),
                                    InterferenceNumber(figures.pressure)));
    }
    text += fmt::format("    interference: {{{}}}\n", fmt::join(entries, ", "));
  }
  if (!kind.efficiency.empty()) {
    text += fmt::format("    efficiency: {}\n", format_map(kind.efficiency, ""));
  }
  if (kind.multiprocessors > 0)
    text += fmt::format("    multiprocessors: {}\n", kind.multiprocessors);
  if (kind.power > 0) text += fmt::format("    power: {}\n", kind.power);
  if (!kind.fitted.empty()) {
    std::vector<std::string> texts;
    for (const KernelFit& fit : kind.fitted) texts.push_back(FormatKernelFit(fit));
    const std::string joined = fmt::format("{}", fmt::join(texts, ", "));
    text += "    fitted: " + (texts.size() > 1 ? "[" + joined + "]" : joined) + "\n";
  }
  if (!kind.source.empty()) text += fmt::format("    source: {}\n", QuoteYaml(kind.source));
  return text;
}

}  // namespace emplace
