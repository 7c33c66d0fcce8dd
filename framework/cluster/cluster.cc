#include "framework/cluster/cluster.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

// Requirement on a route that uses a channel, for each value of Occupies.
constexpr const char* kOccupiedEnds[] = {
    "nothing",
    "its source and may only be a first hop",
    "its destination and may only be a last hop",
    "its source and its destination and may only be the only hop of a route"};

__extension__ using Wide = unsigned __int128;

[[noreturn]] void Refuse(const std::string& where,
                         const char* what,
                         const std::string& name,
                         const std::string& reason) {
  throw InputError(fmt::format("{}: {} \"{}\": {}", where, what, name, reason));
}

template <class Named>
void RequireNames(const std::string& where, const char* what, const std::vector<Named>& items) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].name.empty()) {
      throw InputError(fmt::format("{}: {} {} has an empty name", where, what, i));
    }
    if (!names.insert(items[i].name).second) {
      Refuse(where, what, items[i].name, "the name is used twice");
    }
  }
}

void RequireRange(const std::string& where,
                  const char* what,
                  const std::string& name,
                  const char* quantity,
                  std::int64_t value,
                  std::int64_t least) {
  if (value < least) {
    Refuse(
        where, what, name, fmt::format("{} is {}, expected at least {}", quantity, value, least));
  }
}

void CheckRoute(const std::string& where,
                const std::string& from,
                const std::string& to,
                const std::vector<int>& route,
                const std::vector<Channel>& channels) {
  const std::string name = from + " -> " + to;
  if (from == to && !route.empty()) {
    Refuse(where, "route", name, "a device has no route to itself");
  }
  for (size_t hop = 0; hop < route.size(); ++hop) {
    const int channel = route[hop];
    if (channel < 0 || channel >= static_cast<int>(channels.size())) {
      Refuse(where,
             "route",
             name,
             fmt::format("hop {} is channel {} of {}", hop, channel, channels.size()));
    }
    if (hop > 0 && channels[channel].broadcast) {
      Refuse(where,
             "route",
             name,
             fmt::format("the broadcast channel \"{}\" may only be a first hop, but it is hop {}",
                         channels[channel].name,
                         hop));
    }
    const Occupies occupies = channels[channel].occupies;
    if ((OccupiesSource(occupies) && hop > 0) ||
        (OccupiesDestination(occupies) && hop + 1 < route.size())) {
      Refuse(where,
             "route",
             name,
             fmt::format("the channel \"{}\" occupies {}, but it is hop {} of {}",
                         channels[channel].name,
                         kOccupiedEnds[static_cast<size_t>(occupies)],
                         hop,
                         route.size()));
    }
  }
}

void CheckInterference(const std::string& where, const DeviceKind& kind) {
  const std::vector<std::string>& keys = InterferenceKeys();
  for (const auto& [key, figures] : kind.interference) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      Refuse(where, "device kind", kind.name, fmt::format("interference of \"{}\"", key));
    }
    for (const int figure : {figures.sensitivity, figures.pressure}) {
      if (figure >= 0 && figure <= kMostInterference) continue;
      Refuse(where,
             "device kind",
             kind.name,
             fmt::format("interference of {} is {}, expected 0 to {} (in 1/{})",
                         key,
                         figure,
                         kMostInterference,
                         kInterferenceOne));
    }
  }
}

void CheckNeighbors(const std::string& where, const std::vector<Device>& devices) {
  for (size_t d = 0; d < devices.size(); ++d) {
    for (size_t e = 0; e < size_t{kMaxDevices}; ++e) {
      if (!(devices[d].neighbors >> e & 1)) continue;
      if (e == d || e >= devices.size() || !(devices[e].neighbors >> d & 1)) {
        Refuse(where,
               "device",
               devices[d].name,
               fmt::format("device {} cannot be its neighbour; neighbours are two devices that "
                           "name each other",
                           e));
      }
    }
  }
}

}  // namespace

const std::vector<std::string>& DeviceClassNames() {
  static const std::vector<std::string> names{"cpu", "gpu", "network"};
  return names;
}

std::string_view ToString(DeviceClass device_class) {
  return DeviceClassNames()[static_cast<size_t>(device_class)];
}

const std::vector<std::string>& OccupiesNames() {
  static const std::vector<std::string> names{"none", "source", "destination", "both"};
  return names;
}

std::string_view ToString(Occupies occupies) {
  return OccupiesNames()[static_cast<size_t>(occupies)];
}

const std::vector<std::string>& PeakKeys() {
  static const std::vector<std::string> keys{
      "f64", "f32", "tf32", "bf16", "f16", "f8", "f4", "i32", "i8"};
  return keys;
}

Nanos TimeAtRate(std::int64_t bytes, const Bandwidth& bandwidth) {
  EMPLACE_CHECK(bytes >= 0 && bandwidth.bytes > 0 && bandwidth.per_seconds > 0);
  Wide numerator = Wide(bytes) * 1'000'000'000u;  // below 2^93
  if (__builtin_mul_overflow(numerator, Wide(bandwidth.per_seconds), &numerator)) return kMaxNanos;
  const Wide rate = bandwidth.bytes;
  const Wide nanos = numerator / rate + (numerator % rate != 0);
  return nanos < Wide(kMaxNanos) ? static_cast<Nanos>(nanos) : kMaxNanos;
}

Nanos WireTime(std::int64_t bytes, const Channel& channel) {
  if (bytes == 0) return 0;
  return std::min(channel.setup + TimeAtRate(bytes, channel.bandwidth), kMaxNanos);
}

Nanos ColdReadTime(std::int64_t bytes, const DeviceKind& kind) {
  return kind.cold_read ? TimeAtRate(bytes, *kind.cold_read) : 0;
}

Cluster::Cluster(std::string name,
                 std::vector<DeviceKind> kinds,
                 std::vector<Device> devices,
                 std::vector<Channel> channels,
                 std::vector<std::vector<int>> routes,
                 const std::string& where)
    : name_(std::move(name)),
      kinds_(std::move(kinds)),
      devices_(std::move(devices)),
      channels_(std::move(channels)),
      routes_(std::move(routes)) {
  if (devices_.empty()) throw InputError(fmt::format("{}: there are no devices", where));
  if (num_devices() > kMaxDevices) {
    throw InputError(
        fmt::format("{}: {} devices, expected at most {}", where, num_devices(), kMaxDevices));
  }
  RequireNames(where, "device kind", kinds_);
  RequireNames(where, "device", devices_);
  RequireNames(where, "channel", channels_);
  for (const DeviceKind& kind : kinds_) {
    RequireRange(where, "device kind", kind.name, "overhead", kind.overhead, 0);
    RequireRange(where, "device kind", kind.name, "gap", kind.gap, 0);
    RequireRange(where, "device kind", kind.name, "issue", kind.issue, 0);
    RequireRange(where, "device kind", kind.name, "launch", kind.launch, 0);
    CheckInterference(where, kind);
  }
  for (const Device& device : devices_) {
    if (device.kind < 0 || device.kind >= static_cast<int>(kinds_.size())) {
      Refuse(where,
             "device",
             device.name,
             fmt::format("its kind is {} of {}", device.kind, kinds_.size()));
    }
    RequireRange(where, "device", device.name, "memory", device.memory, 0);
    RequireRange(where, "device", device.name, "slots", device.slots, 1);
  }
  CheckNeighbors(where, devices_);
  for (const Channel& channel : channels_) {
    RequireRange(where, "channel", channel.name, "latency", channel.latency, 0);
    RequireRange(where, "channel", channel.name, "setup", channel.setup, 0);
    RequireRange(where, "channel", channel.name, "gap", channel.gap, 0);
    if (channel.bandwidth.bytes <= 0 || channel.bandwidth.per_seconds <= 0) {
      Refuse(where, "channel", channel.name, "the bandwidth must be greater than 0");
    }
    if (channel.broadcast && OccupiesDestination(channel.occupies)) {
      Refuse(where,
             "channel",
             channel.name,
             fmt::format("a broadcast channel may occupy its source only, not \"{}\"",
                         ToString(channel.occupies)));
    }
  }
  if (routes_.size() != devices_.size() * devices_.size()) {
    throw InputError(fmt::format("{}: routes for {} ordered pairs, expected {} x {}",
                                 where,
                                 routes_.size(),
                                 num_devices(),
                                 num_devices()));
  }
  for (int from = 0; from < num_devices(); ++from) {
    for (int to = 0; to < num_devices(); ++to) {
      CheckRoute(where,
                 devices_[from].name,
                 devices_[to].name,
                 routes_[size_t(from) * num_devices() + to],
                 channels_);
    }
  }
}

bool Cluster::has_neighbors() const {
  return std::ranges::any_of(devices_, [](const Device& d) { return d.neighbors != 0; });
}

int Cluster::FindDevice(std::string_view name) const {
  const auto found = std::find_if(
      devices_.begin(), devices_.end(), [&](const Device& device) { return device.name == name; });
  return found == devices_.end() ? -1 : static_cast<int>(found - devices_.begin());
}

std::vector<std::string> Cluster::DeviceNames() const {
  std::vector<std::string> names;
  for (const Device& device : devices_) names.push_back(device.name);
  return names;
}

Nanos Cluster::TransferTime(int from, int to, std::int64_t bytes) const {
  if (from == to) return 0;
  const std::span<const int> hops = route(from, to);
  if (hops.empty()) return kMaxNanos;
  Nanos time = 0;
  for (const int hop : hops) {
    const Channel& channel = channels_[hop];
    const Nanos wire = WireTime(bytes, channel);
    time = std::min(time + channel.latency, kMaxNanos);  // no sum of two legal times overflows
    time = std::min(time + wire, kMaxNanos);
  }
  return time;
}

}  // namespace emplace
