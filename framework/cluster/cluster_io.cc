#include "framework/cluster/cluster_io.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/glob.h"
#include "framework/cluster/device_kind_io.h"

namespace emplace {
namespace {

constexpr int kMaxSlots = 65536;

void RequireKeys(const ConfigNode& node, const std::vector<std::string>& known) {
  node.RequireKnownKeys(known);
}

std::string ReadName(const ConfigNode& node) {
  std::string name = node.AsString();
  if (name.empty()) node.Fail("expected a name, got an empty text");
  return name;
}

// Reads a name that cannot be confused with a pattern.
std::string ReadDeviceName(const ConfigNode& node) {
  std::string name = ReadName(node);
  if (name.find_first_of("*?") != std::string::npos) {
    node.Fail(fmt::format("expected a name without * and ?, got \"{}\"", name));
  }
  return name;
}

// Reads a cluster key by key; the vectors are the arguments of Cluster's constructor.
class ClusterReader {
 public:
  ClusterReader(const ConfigNode& node, const std::map<std::string, DeviceKind>& library)
      : node_(node), library_(library) {}

  Cluster Read() {
    RequireKeys(node_,
                {"name",
                 "devices",
                 "channels",
                 "routes",
                 "all_to_all",
                 "egress_bus",
                 "shares",
                 "device_kinds"});
    const std::string name = ReadName(node_.At("name"));
    if (node_.Has("device_kinds")) {
      std::map<std::string, KernelFit> fits;
      for (const auto& [unused, kind] : library_) {
        for (const KernelFit& fit : kind.fitted) {
          if (!fit.name.empty()) fits.emplace(fit.name, fit);
        }
      }
      inline_kinds_ = ParseDeviceKinds(node_.At("device_kinds"), fits);
    }
    ReadDevices(node_.At("devices"));
    routes_.resize(devices_.size() * devices_.size());
    if (node_.Has("channels")) {
      for (const ConfigNode& channel : node_.At("channels").Elements()) ReadChannel(channel);
    }
    if (node_.Has("all_to_all") && node_.Has("egress_bus")) {
      node_.At("egress_bus").Fail("expected either all_to_all or egress_bus, got both");
    }
    if (node_.Has("all_to_all")) ExpandAllToAll(node_.At("all_to_all"));
    if (node_.Has("egress_bus")) ExpandEgressBus(node_.At("egress_bus"));
    if (node_.Has("routes")) {
      for (const ConfigNode& route : node_.At("routes").Elements()) ReadRoute(route);
    }
    if (node_.Has("shares")) {
      for (const ConfigNode& group : node_.At("shares").Elements()) ReadShares(group);
    }
    return Cluster(name,
                   std::move(kinds_),
                   std::move(devices_),
                   std::move(channels_),
                   std::move(routes_),
                   node_.Where());
  }

 private:
  void ReadDevices(const ConfigNode& list) {
    const std::vector<ConfigNode> nodes = list.Elements();
    if (nodes.empty()) list.Fail("expected at least one device, got an empty list");
    if (nodes.size() > size_t{kMaxDevices}) {
      list.Fail(fmt::format("expected at most {} devices, got {}", kMaxDevices, nodes.size()));
    }
    for (const ConfigNode& node : nodes) {
      RequireKeys(node, {"name", "kind", "memory", "slots"});
      Device device;
      device.name = ReadDeviceName(node.At("name"));
      for (const Device& other : devices_) {
        if (other.name == device.name) {
          node.At("name").Fail(fmt::format("duplicate device name \"{}\"", device.name));
        }
      }
      device.kind = FindKind(node.At("kind"));
      if (node.Has("memory")) device.memory = node.At("memory").AsBytes();
      if (node.Has("slots")) {
        const ConfigNode slots = node.At("slots");
        const std::int64_t count = slots.AsInt();
        if (count < 1 || count > kMaxSlots) {
          slots.Fail(fmt::format("expected 1 to {} slots, got {}", kMaxSlots, count));
        }
        device.slots = static_cast<int>(count);
      }
      devices_.push_back(std::move(device));
    }
  }

  // Returns the index of a kind. At its first use, copies the kind from the file or the library.
  int FindKind(const ConfigNode& node) {
    const std::string name = node.AsString();
    for (size_t i = 0; i < kinds_.size(); ++i) {
      if (kinds_[i].name == name) return static_cast<int>(i);
    }
    const auto own = inline_kinds_.find(name);
    const auto shared = library_.find(name);
    if (own == inline_kinds_.end() && shared == library_.end()) {
      std::vector<std::string> choices;
      for (const auto& [known, kind] : inline_kinds_) choices.push_back(known);
      for (const auto& [known, kind] : library_) {
        if (!inline_kinds_.count(known)) choices.push_back(known);
      }
      std::sort(choices.begin(), choices.end());
      ThrowUnknown(node.Where(), "device kind", name, choices);
    }
    kinds_.push_back(own != inline_kinds_.end() ? own->second : shared->second);
    return static_cast<int>(kinds_.size()) - 1;
  }

  void ReadChannel(const ConfigNode& node) {
    RequireKeys(node, {"name", "latency", "setup", "bandwidth", "gap", "broadcast", "occupies"});
    Channel channel = ReadLink(node);
    channel.name = ReadName(node.At("name"));
    AddChannel(std::move(channel), node.At("name"));
  }

  static Channel ReadLink(const ConfigNode& node) {
    Channel channel;
    if (node.Has("latency")) channel.latency = node.At("latency").AsTime();
    if (node.Has("setup")) channel.setup = node.At("setup").AsTime();
    channel.bandwidth = node.At("bandwidth").AsBandwidth();
    if (node.Has("gap")) channel.gap = node.At("gap").AsTime();
    if (node.Has("broadcast")) channel.broadcast = node.At("broadcast").AsBool();
    if (node.Has("occupies")) channel.occupies = ReadOccupies(node.At("occupies"));
    if (channel.broadcast && OccupiesDestination(channel.occupies)) {
      node.At("occupies")
          .Fail(fmt::format("a broadcast channel may occupy its source only, got {}",
                            ToString(channel.occupies)));
    }
    return channel;
  }

  static Occupies ReadOccupies(const ConfigNode& node) {
    const std::vector<std::string>& names = OccupiesNames();
    const auto found = std::find(names.begin(), names.end(), node.AsString());
    if (found == names.end()) {
      node.Fail(fmt::format("expected {}, got \"{}\"", fmt::join(names, ", "), node.AsString()));
    }
    return static_cast<Occupies>(found - names.begin());
  }

  int AddChannel(Channel channel, const ConfigNode& place) {
    if (FindChannel(channel.name) >= 0) {
      place.Fail(fmt::format("duplicate channel name \"{}\"", channel.name));
    }
    channels_.push_back(std::move(channel));
    return static_cast<int>(channels_.size()) - 1;
  }

  int FindChannel(std::string_view name) const {
    for (size_t i = 0; i < channels_.size(); ++i) {
      if (channels_[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  void ExpandAllToAll(const ConfigNode& node) {
    RequireKeys(node, {"latency", "setup", "bandwidth", "gap", "occupies"});
    const Channel link = ReadLink(node);
    for (size_t from = 0; from < devices_.size(); ++from) {
      for (size_t to = 0; to < devices_.size(); ++to) {
        if (from == to) continue;
        Channel channel = link;
        channel.name = devices_[from].name + "->" + devices_[to].name;
        Route(from, to) = {AddChannel(std::move(channel), node)};
      }
    }
  }

  void ExpandEgressBus(const ConfigNode& node) {
    RequireKeys(node, {"latency", "setup", "bandwidth", "gap", "broadcast", "occupies"});
    const Channel link = ReadLink(node);
    for (size_t from = 0; from < devices_.size(); ++from) {
      Channel channel = link;
      channel.name = devices_[from].name + "->*";
      const int index = AddChannel(std::move(channel), node);
      for (size_t to = 0; to < devices_.size(); ++to) {
        if (from != to) Route(from, to) = {index};
      }
    }
  }

  void ReadRoute(const ConfigNode& node) {
    RequireKeys(node, {"from", "to", "via"});
    const std::vector<int> sources = MatchDevices(node.At("from"));
    const std::vector<int> destinations = MatchDevices(node.At("to"));
    std::vector<int> hops;
    for (const ConfigNode& name : node.At("via").Elements()) {
      const int channel = FindChannel(name.AsString());
      if (channel < 0) {
        std::vector<std::string> choices;
        for (const Channel& known : channels_) choices.push_back(known.name);
        ThrowUnknown(name.Where(), "channel", name.AsString(), choices);
      }
      if (!hops.empty() && channels_[channel].broadcast) {
        name.Fail(
            fmt::format("the broadcast channel \"{}\" may only be a first hop", name.AsString()));
      }
      hops.push_back(channel);
    }
    if (hops.empty()) node.At("via").Fail("expected at least one channel, got an empty list");
    for (const int from : sources) {
      for (const int to : destinations) {
        if (from != to) Route(from, to) = hops;
      }
    }
  }

  void ReadShares(const ConfigNode& node) {
    std::uint64_t mask = 0;
    for (const int d : MatchDevices(node)) mask |= std::uint64_t{1} << d;
    if (std::popcount(mask) < 2)
      node.Fail("expected at least two devices, which share caches or memory bandwidth");
    for (size_t d = 0; d < devices_.size(); ++d) {
      const std::uint64_t self = std::uint64_t{1} << d;
      if (mask & self) devices_[d].neighbors |= mask & ~self;
    }
  }

  // Returns the devices whose names match a pattern, or one of a list of patterns.
  std::vector<int> MatchDevices(const ConfigNode& node) const {
    const std::vector<ConfigNode> patterns =
        node.IsSequence() ? node.Elements() : std::vector<ConfigNode>{node};
    if (patterns.empty()) node.Fail("expected at least one device pattern, got an empty list");
    std::vector<bool> matches(devices_.size());
    for (const ConfigNode& pattern : patterns) {
      bool any = false;
      for (size_t d = 0; d < devices_.size(); ++d) {
        if (!MatchesGlob(pattern.AsString(), devices_[d].name)) continue;
        any = true;
        matches[d] = true;
      }
      if (any) continue;
      std::vector<std::string> choices;
      for (const Device& device : devices_) choices.push_back(device.name);
      pattern.Fail(fmt::format("no device matches \"{}\"{}",
                               pattern.AsString(),
                               ChoicesHint(pattern.AsString(), choices)));
    }
    std::vector<int> devices;
    for (size_t d = 0; d < devices_.size(); ++d) {
      if (matches[d]) devices.push_back(static_cast<int>(d));
    }
    return devices;
  }

  std::vector<int>& Route(size_t from, size_t to) { return routes_[from * devices_.size() + to]; }

  const ConfigNode& node_;
  const std::map<std::string, DeviceKind>& library_;
  std::map<std::string, DeviceKind> inline_kinds_;
  std::vector<DeviceKind> kinds_;
  std::vector<Device> devices_;
  std::vector<Channel> channels_;
  std::vector<std::vector<int>> routes_;
};

}  // namespace

Cluster ParseCluster(const ConfigNode& node, const std::map<std::string, DeviceKind>& library) {
  return ClusterReader(node, library).Read();
}

namespace {

// Writes each pair by itself: two neighbours of a device need not be neighbours of each other.
std::string FormatShares(const Cluster& cluster) {
  std::string text;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    for (int e = d + 1; e < cluster.num_devices(); ++e) {
      if (!(cluster.device(d).neighbors >> e & 1)) continue;
      text += fmt::format(
          "  - [{}, {}]\n", QuoteYaml(cluster.device(d).name), QuoteYaml(cluster.device(e).name));
    }
  }
  return text.empty() ? text : "shares:\n" + text;
}

}  // namespace

std::string FormatCluster(const Cluster& cluster) {
  std::string text = fmt::format("name: {}\n", QuoteYaml(cluster.name()));
  text += "device_kinds:\n";
  for (const DeviceKind& kind : cluster.kinds()) text += FormatDeviceKind(kind);
  text += "devices:\n";
  for (const Device& device : cluster.devices()) {
    text += fmt::format("  - {{name: {}, kind: {}",
                        QuoteYaml(device.name),
                        QuoteYaml(cluster.kinds()[device.kind].name));
    if (device.memory != kUnlimitedMemory) text += fmt::format(", memory: {}B", device.memory);
    text += fmt::format(", slots: {}}}\n", device.slots);
  }
  text += cluster.num_channels() == 0 ? "channels: []\n" : "channels:\n";
  for (const Channel& channel : cluster.channels()) {
    text += fmt::format("  - {{name: {}, latency: {}ns, bandwidth: {}, gap: {}ns, broadcast: {}",
                        QuoteYaml(channel.name),
                        channel.latency,
                        FormatBandwidth(channel.bandwidth),
                        channel.gap,
                        channel.broadcast);
    if (channel.setup > 0) text += fmt::format(", setup: {}ns", channel.setup);
    if (channel.occupies != Occupies::kNone) {
      text += fmt::format(", occupies: {}", ToString(channel.occupies));
    }
    text += "}\n";
  }
  std::string routes;
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      if (from == to || cluster.route(from, to).empty()) continue;
      std::vector<std::string> via;
      for (const int hop : cluster.route(from, to)) {
        via.push_back(QuoteYaml(cluster.channel(hop).name));
      }
      routes += fmt::format("  - {{from: {}, to: {}, via: [{}]}}\n",
                            QuoteYaml(cluster.device(from).name),
                            QuoteYaml(cluster.device(to).name),
                            fmt::join(via, ", "));
    }
  }
  text += routes.empty() ? "routes: []\n" : "routes:\n" + routes;
  return text + FormatShares(cluster);
}

}  // namespace emplace
