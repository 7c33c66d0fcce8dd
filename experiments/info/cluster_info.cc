#include "experiments/info/cluster_info.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "experiments/console/output.h"
#include "framework/cluster/symmetry.h"

namespace emplace {
namespace {

constexpr double kGiga = 1e9, kTera = 1e12;

using DevicePair = std::pair<int, int>;  // from, to

// Returns three digits: "6", "15.8", "0.12".
std::string ThreeDigits(double value) {
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string RateText(double bytes_per_second) {
  return fmt::format("{} GB/s", ThreeDigits(bytes_per_second / kGiga));
}

std::string MemoryText(std::int64_t bytes) {
  return bytes == kUnlimitedMemory ? "no limit" : FormatBytes(bytes);
}

// Returns the number at the end of a name; -1 without one.
int NumberAtEnd(const std::string& name) {
  const size_t last = name.find_last_not_of("0123456789");
  const size_t begin = last == std::string::npos ? 0 : last + 1;
  int number = -1;
  std::from_chars(name.data() + begin, name.data() + name.size(), number);
  return number;
}

// Returns runs of devices that have the same kind, memory and number of slots.
std::vector<std::vector<int>> EqualDevices(const Cluster& cluster) {
  std::map<std::tuple<int, std::int64_t, int>, size_t> found;
  std::vector<std::vector<int>> groups;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const Device& device = cluster.device(d);
    const auto [at, is_new] =
        found.emplace(std::tuple(device.kind, device.memory, device.slots), groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(d);
  }
  return groups;
}

std::vector<std::vector<DevicePair>> PairsOfChannels(const Cluster& cluster) {
  std::vector<std::vector<DevicePair>> pairs(cluster.num_channels());
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      if (from == to) continue;
      for (const int channel : cluster.route(from, to)) pairs[channel].emplace_back(from, to);
    }
  }
  return pairs;
}

// Returns a channel's pairs: "cpu:0 <-> gpu:0-1", "among gpu:0-3", "gpu:2 -> gpu:0; ...".
std::string PairsText(const Cluster& cluster, const std::vector<DevicePair>& pairs) {
  constexpr size_t kMostParts = 3;
  if (pairs.empty()) return "no route";
  std::map<int, std::set<int>> destinations;
  std::set<int> all;
  for (const auto& [from, to] : pairs) {
    destinations[from].insert(to);
    all.insert({from, to});
  }
  const std::vector<int> members(all.begin(), all.end());
  if (pairs.size() == all.size() * (all.size() - 1) && all.size() > 2) {
    return "among " + ShortNames(cluster, members);
  }
  std::map<std::set<int>, std::set<int>> sources;  // by destinations
  for (const auto& [from, to] : destinations) sources[to].insert(from);
  const auto names = [&](const std::set<int>& devices) {
    return ShortNames(cluster, {devices.begin(), devices.end()});
  };
  std::vector<std::string> parts;
  for (const auto& [to, from] : sources) {
    const auto back = sources.find(from);
    const bool both = back != sources.end() && back->second == to;
    if (both && to < from) continue;  // the other direction was first
    parts.push_back(fmt::format("{} {} {}", names(from), both ? "<->" : "->", names(to)));
  }
  if (parts.size() > kMostParts) {
    return fmt::format("{} pairs of {}", pairs.size(), ShortNames(cluster, members));
  }
  std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Returns the figures of a channel besides bandwidth and latency.
std::string ChannelNotes(const Channel& channel) {
  std::vector<std::string> notes;
  if (channel.setup > 0) notes.push_back("setup " + FormatTime(channel.setup));
  if (channel.gap > 0) notes.push_back("gap " + FormatTime(channel.gap));
  if (channel.broadcast) notes.emplace_back("broadcast");
  if (channel.occupies != Occupies::kNone) {
    notes.push_back(fmt::format("occupies {}", ToString(channel.occupies)));
  }
  return fmt::format("{}", fmt::join(notes, ", "));
}

// Returns the lines of the channels. Channels with the same figures that serve one pair each share
// a line, which names the first of them.
std::string ChannelLines(const Cluster& cluster, int columns) {
  constexpr size_t kMostAlone = 3;
  const std::vector<std::vector<DevicePair>> pairs = PairsOfChannels(cluster);
  std::map<std::tuple<double, Nanos, std::string>, std::vector<int>> alike;
  const auto key = [&](int k) {
    const Channel& channel = cluster.channel(k);
    return std::tuple(channel.bandwidth.BytesPerSecond(), channel.latency, ChannelNotes(channel));
  };
  for (int k = 0; k < cluster.num_channels(); ++k) {
    if (pairs[k].size() == 1) alike[key(k)].push_back(k);
  }
  std::vector<std::vector<std::string>> rows = {{"channel", "bandwidth", "latency"}};
  std::vector<std::string> serves = {"serves"};
  for (int k = 0; k < cluster.num_channels(); ++k) {
    const Channel& channel = cluster.channel(k);
    std::string name = channel.name, text = PairsText(cluster, pairs[k]);
    if (pairs[k].size() == 1 && alike[key(k)].size() > kMostAlone) {
      if (alike[key(k)].front() != k) continue;
      name = fmt::format("{} and {} more", name, alike[key(k)].size() - 1);
      text = "one pair each";
    }
    if (const std::string notes = ChannelNotes(channel); !notes.empty()) text += "; " + notes;
    rows.push_back(
        {name, RateText(channel.bandwidth.BytesPerSecond()), FormatTime(channel.latency)});
    serves.push_back(text);
  }
  const std::string table = FormatColumns(rows);
  std::string lines;
  size_t begin = 0;
  for (const std::string& text : serves) {
    const size_t end = table.find('\n', begin);
    lines += WrapLines(table.substr(begin, end - begin) + "  " + text, columns, 4) + "\n";
    begin = end + 1;
  }
  return lines;
}

std::string DeviceLines(const Cluster& cluster) {
  std::vector<std::vector<std::string>> rows = {
      {"devices", "number", "kind", "class", "memory", "slots"}};
  for (const std::vector<int>& group : EqualDevices(cluster)) {
    const Device& device = cluster.device(group[0]);
    rows.push_back({ShortNames(cluster, group),
                    std::to_string(group.size()),
                    cluster.kind_of(group[0]).name,
                    std::string(ToString(cluster.kind_of(group[0]).device_class)),
                    MemoryText(device.memory),
                    std::to_string(device.slots)});
  }
  return FormatColumns(rows);
}

// Returns "k80: f32 2.8, f64 0.93 TFLOP/s; memory 240 GB/s; overhead 8.000 us".
std::string KindLine(const DeviceKind& kind) {
  std::vector<std::string> peaks, parts;
  for (const auto& [dtype, rate] : kind.peak) {
    peaks.push_back(fmt::format("{} {}", dtype, ThreeDigits(rate / kTera)));
  }
  if (!peaks.empty()) parts.push_back(fmt::format("{} TFLOP/s", fmt::join(peaks, ", ")));
  if (kind.memory_bandwidth > 0) parts.push_back("memory " + RateText(kind.memory_bandwidth));
  for (const auto& [name, time] : {std::pair("overhead", kind.overhead),
                                   std::pair("gap", kind.gap),
                                   std::pair("issue", kind.issue),
                                   std::pair("launch", kind.launch)}) {
    if (time > 0) parts.push_back(fmt::format("{} {}", name, FormatTime(time)));
  }
  if (parts.empty())
    parts.emplace_back("no figures; the costs come from the graph or a cost table");
  return fmt::format("{}: {}\n", kind.name, fmt::join(parts, "; "));
}

// Returns the sets of devices that slow one another down.
std::string NeighborLines(const Cluster& cluster) {
  std::set<std::vector<int>> sets;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    std::vector<int> members;
    for (int other = 0; other < cluster.num_devices(); ++other) {
      if (other == d || (cluster.device(d).neighbors >> other & 1) != 0) members.push_back(other);
    }
    if (members.size() > 1) sets.insert(members);
  }
  std::string text;
  for (const std::vector<int>& members : sets) {
    text += fmt::format("share caches or memory bandwidth: {}\n", ShortNames(cluster, members));
  }
  return text;
}

// Returns the matrix for groups of devices, each represented by its first device.
std::vector<std::vector<std::string>> MatrixOf(const Cluster& cluster,
                                               const std::vector<std::vector<int>>& groups) {
  std::vector<std::vector<std::string>> rows = {{"from \\ to"}};
  for (const std::vector<int>& group : groups) rows[0].push_back(ShortNames(cluster, group));
  for (const std::vector<int>& from : groups) {
    std::vector<std::string> row = {ShortNames(cluster, from)};
    for (const std::vector<int>& to : groups) {
      // Within a group the second device represents the others.
      const int end = &from == &to ? (to.size() > 1 ? to[1] : -1) : to[0];
      const double rate = end < 0 ? 0 : RouteBandwidth(cluster, from[0], end);
      row.push_back(end < 0 ? "." : rate > 0 ? ThreeDigits(rate / kGiga) : "-");
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string FormatMatrix(const Cluster& cluster,
                         const std::vector<std::vector<int>>& groups,
                         int columns) {
  if (std::ssize(groups) > kMostDrawn) return "";
  std::string text = FormatColumns(MatrixOf(cluster, groups));
  for (size_t begin = 0; columns > 0 && begin < text.size();) {
    const size_t end = text.find('\n', begin);
    if (TextWidth(text.substr(begin, end - begin)) > columns) return "";
    begin = end + 1;
  }
  return text;
}

std::string BandwidthList(const Cluster& cluster) {
  std::map<double, int, std::greater<>> pairs;
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      if (from != to) ++pairs[RouteBandwidth(cluster, from, to)];
    }
  }
  std::vector<std::vector<std::string>> rows = {{"GB/s", "pairs"}};
  for (const auto& [rate, count] : pairs) {
    rows.push_back({rate > 0 ? ThreeDigits(rate / kGiga) : "no route", std::to_string(count)});
  }
  return FormatColumns(rows);
}

}  // namespace

std::string ShortNames(const Cluster& cluster, const std::vector<int>& devices) {
  std::vector<std::string> parts;
  for (size_t first = 0; first < devices.size();) {
    const std::string& name = cluster.device(devices[first]).name;
    const int number = NumberAtEnd(name);
    const std::string stem = name.substr(0, name.find_last_not_of("0123456789") + 1);
    size_t end = first + 1;
    while (number >= 0 && end < devices.size() &&
           cluster.device(devices[end]).name ==
               fmt::format("{}{}", stem, number + static_cast<int>(end - first))) {
      ++end;
    }
    parts.push_back(end - first == 1
                        ? name
                        : fmt::format("{}-{}", name, number + static_cast<int>(end - first) - 1));
    first = end;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

double RouteBandwidth(const Cluster& cluster, int from, int to) {
  double seconds = 0;  // per byte
  for (const int channel : cluster.route(from, to)) {
    seconds += 1 / cluster.channel(channel).bandwidth.BytesPerSecond();
  }
  return seconds > 0 ? 1 / seconds : 0;
}

std::string FormatBandwidths(const Cluster& cluster, int columns) {
  std::vector<std::vector<int>> alone(cluster.num_devices());
  for (int d = 0; d < cluster.num_devices(); ++d) alone[d] = {d};
  if (const std::string text = FormatMatrix(cluster, alone, columns); !text.empty()) return text;
  std::vector<int> kinds;
  for (const Device& device : cluster.devices()) kinds.push_back(device.kind);
  std::map<int, std::vector<int>> equal;
  const std::vector<int> classes = InterchangeableDevices(cluster, kinds);
  for (int d = 0; d < cluster.num_devices(); ++d) equal[classes[d]].push_back(d);
  std::vector<std::vector<int>> groups;
  for (const auto& [least, group] : equal) groups.push_back(group);
  if (const std::string text = FormatMatrix(cluster, groups, columns); !text.empty()) return text;
  return BandwidthList(cluster);
}

std::string FormatClusterInfo(const Cluster& cluster, int columns) {
  std::string text = fmt::format("{}: {} devices, {} channels\n\n",
                                 cluster.name(),
                                 cluster.num_devices(),
                                 cluster.num_channels());
  text += DeviceLines(cluster) + "\n";
  for (const DeviceKind& kind : cluster.kinds()) text += WrapLines(KindLine(kind), columns, 4);
  text += WrapLines(NeighborLines(cluster), columns, 4);
  if (cluster.num_channels() > 0) text += "\n" + ChannelLines(cluster, columns);
  if (cluster.num_devices() > 1) {
    text += "\nbandwidth of a long transfer [GB/s]\n" + FormatBandwidths(cluster, columns);
  }
  return text;
}

std::string FormatClusterInfoJson(const Cluster& cluster) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["name"] = cluster.name();
  json["devices"] = json["kinds"] = json["channels"] = json["routes"] = Json::array();
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const Device& device = cluster.device(d);
    Json neighbors = Json::array();
    for (int other = 0; other < cluster.num_devices(); ++other) {
      if ((device.neighbors >> other & 1) != 0) neighbors.push_back(cluster.device(other).name);
    }
    json["devices"].push_back({{"name", device.name},
                               {"kind", cluster.kind_of(d).name},
                               {"class", ToString(cluster.kind_of(d).device_class)},
                               {"memory_bytes", nullptr},
                               {"slots", device.slots},
                               {"neighbors", neighbors}});
    if (device.memory != kUnlimitedMemory) json["devices"].back()["memory_bytes"] = device.memory;
  }
  for (const DeviceKind& kind : cluster.kinds()) {
    json["kinds"].push_back({{"name", kind.name},
                             {"class", ToString(kind.device_class)},
                             {"peak_flops_per_s", kind.peak},
                             {"memory_bytes_per_s", nullptr},
                             {"overhead_ns", kind.overhead},
                             {"gap_ns", kind.gap},
                             {"issue_ns", kind.issue},
                             {"launch_ns", kind.launch},
                             {"source", kind.source}});
    if (kind.memory_bandwidth > 0)
      json["kinds"].back()["memory_bytes_per_s"] = kind.memory_bandwidth;
  }
  for (const Channel& channel : cluster.channels()) {
    json["channels"].push_back({{"name", channel.name},
                                {"bytes_per_s", channel.bandwidth.BytesPerSecond()},
                                {"latency_ns", channel.latency},
                                {"setup_ns", channel.setup},
                                {"gap_ns", channel.gap},
                                {"broadcast", channel.broadcast},
                                {"occupies", ToString(channel.occupies)}});
  }
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      if (from == to || cluster.route(from, to).empty()) continue;
      Json via = Json::array();
      for (const int channel : cluster.route(from, to)) {
        via.push_back(cluster.channel(channel).name);
      }
      json["routes"].push_back({{"from", cluster.device(from).name},
                                {"to", cluster.device(to).name},
                                {"via", via},
                                {"bytes_per_s", RouteBandwidth(cluster, from, to)},
                                {"latency_ns", cluster.TransferTime(from, to, 0)}});
    }
  }
  return json.dump(2) + "\n";
}

}  // namespace emplace
