#pragma once

// The machine: devices, the channels that serialise transfers between them, and the route from each
// device to each other. Immutable; cluster_io.h reads the YAML (FORMAT.md).

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/time.h"
#include "framework/cluster/interference.h"
#include "framework/config/units.h"

namespace emplace {

enum class DeviceClass : std::uint8_t { kCpu, kGpu };
std::string_view ToString(DeviceClass device_class);

/// What all devices of one model have in common. Where every op has a measured cost for the kind,
/// only `device_class` is needed: the figures serve to model costs (framework/cost/cost_model.h).
struct DeviceKind {
  std::string name;
  DeviceClass device_class = DeviceClass::kGpu;
  std::map<std::string, double> peak;  ///< [FLOP/s] by dtype ("f32", "bf16"); may be empty
  double memory_bandwidth = 0;         ///< [B/s]; 0: unknown
  Nanos overhead = 0;                  ///< fixed part of every modelled op cost [ns]
  Nanos gap = 0;                       ///< idle time after an op [ns]
  Nanos issue = 0;                     ///< host time to issue one command [ns]
  Nanos launch = 0;                    ///< from issue to the earliest start [ns]
  bool pays_transfers = true;          ///< period objective: transfers load the device
  /// Rate at which an op reads what arrived from another device, where it is the first to read it
  /// there: so much longer it takes (simulator/README.md, "Cold reads"); nullopt: no longer
  std::optional<Bandwidth> cold_read;
  std::map<std::string, Interference> interference;  ///< by InterferenceKeys(); others have none
  std::map<std::string, double> efficiency;  ///< share of peak reached, by op class, in (0, 1]
  std::string source;                        ///< where the figures were published
};

/// The keys that `peak:` of a device kind may have: f32, bf16, ... (op_class.h has those of
/// `efficiency:`).
const std::vector<std::string>& PeakKeys();

inline constexpr std::int64_t kUnlimitedMemory = std::numeric_limits<std::int64_t>::max();

/// Where ops run and tensors lie.
struct Device {
  std::string name;
  int kind = 0;                            ///< index into Cluster::kinds()
  std::int64_t memory = kUnlimitedMemory;  ///< [B]
  int slots = 1;                           ///< ops that run at once, >= 1
  /// Mask of the devices, by index, with which it shares caches or memory bandwidth.
  std::uint64_t neighbors = 0;
};

/// Which of a transfer's two devices work on it for its wire time, besides the channel: each gives
/// it a slot, as to an op (simulator/README.md).
enum class Occupies : std::uint8_t { kNone, kSource, kDestination, kBoth };
std::string_view ToString(Occupies occupies);
/// "none", "source", "destination", "both": the names of all, in their order.
const std::vector<std::string>& OccupiesNames();
inline bool OccupiesSource(Occupies occupies) {
  return occupies == Occupies::kSource || occupies == Occupies::kBoth;
}
inline bool OccupiesDestination(Occupies occupies) {
  return occupies == Occupies::kDestination || occupies == Occupies::kBoth;
}

/// Carries one transfer at a time. One of b bytes arrives latency + WireTime(b) after its start,
/// and the channel is free again WireTime(b) + gap after it (simulator/README.md).
struct Channel {
  std::string name;
  Nanos latency = 0;       ///< [ns]
  Nanos setup = 0;         ///< [ns] part of the wire time of a transfer of at least one byte
  Bandwidth bandwidth;     ///< > 0
  Nanos gap = 0;           ///< [ns] idle after each transfer
  bool broadcast = false;  ///< one transfer serves every destination
  /// Source: first hops only; destination: last hops only, and not with `broadcast`; both: routes
  /// of one hop.
  Occupies occupies = Occupies::kNone;
};

/// How long `bytes` take at this rate: bytes / bandwidth, rounded up, exact.
/// @param bytes  >= 0 [B]   @return [ns]; kMaxNanos for anything longer
Nanos TimeAtRate(std::int64_t bytes, const Bandwidth& bandwidth);
/// How long `bytes` occupy a channel: its setup and their time at its bandwidth; 0 for 0 bytes.
/// @param bytes  >= 0 [B]   @return [ns]; kMaxNanos for anything longer
Nanos WireTime(std::int64_t bytes, const Channel& channel);
/// How much longer an op on a device of this kind takes that is the first to read `bytes` which
/// arrived from another device: bytes / cold_read, rounded up; 0 without one. [ns]
Nanos ColdReadTime(std::int64_t bytes, const DeviceKind& kind);

/// Device indices fit 64-bit masks.
inline constexpr int kMaxDevices = 64;

class Cluster {
 public:
  /// @param routes  [num_devices * num_devices] channel indices of the route from one device to
  ///   another, at from * num_devices + to; empty where there is no route (and on the diagonal). A
  ///   broadcast channel, or one that occupies the source, may only be a first hop; one that
  ///   occupies the destination only a last hop.
  /// @throws InputError naming `where` and the device or channel: no devices, more than
  ///   kMaxDevices, empty or duplicate names, bad indices, a negative size or time, slots < 1, a
  ///   bandwidth of 0, a neighbour that is no other device or does not have this one as neighbour,
  ///   figures of interference of an unknown class or out of range, a route from a device to
  ///   itself, a broadcast or occupying channel where it may not be, a broadcast channel that
  ///   occupies a destination
  Cluster(std::string name,
          std::vector<DeviceKind> kinds,
          std::vector<Device> devices,
          std::vector<Channel> channels,
          std::vector<std::vector<int>> routes,
          const std::string& where = "cluster");

  const std::string& name() const { return name_; }
  int num_devices() const { return static_cast<int>(devices_.size()); }
  int num_channels() const { return static_cast<int>(channels_.size()); }
  const Device& device(int d) const { return devices_[d]; }
  const DeviceKind& kind_of(int d) const { return kinds_[devices_[d].kind]; }
  const Channel& channel(int k) const { return channels_[k]; }
  std::span<const DeviceKind> kinds() const { return kinds_; }
  std::span<const Device> devices() const { return devices_; }
  std::span<const Channel> channels() const { return channels_; }
  /// Channels to take one after another; empty: no route. @pre from != to
  std::span<const int> route(int from, int to) const { return routes_[from * num_devices() + to]; }
  /// Whether ops of some device are slowed down by those of another: it has neighbours.
  bool has_neighbors() const;
  /// Device index by name, or -1.
  int FindDevice(std::string_view name) const;
  std::vector<std::string> DeviceNames() const;
  /// Time for `bytes` along the route when alone on it: sum of latency + wire time of its hops.
  /// @return [ns]; kMaxNanos without a route; 0 if from == to
  Nanos TransferTime(int from, int to, std::int64_t bytes) const;

 private:
  std::string name_;
  std::vector<DeviceKind> kinds_;
  std::vector<Device> devices_;
  std::vector<Channel> channels_;
  std::vector<std::vector<int>> routes_;
};

}  // namespace emplace
