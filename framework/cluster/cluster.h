#pragma once

// The machine: devices, the channels that serialise transfers between them, and the route between
// each pair of devices. Immutable; cluster_io.h reads the YAML (FORMAT.md).

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
#include "framework/cluster/kernel_fit.h"
#include "framework/config/units.h"

namespace emplace {

/// kNetwork: not a processor but a place where communication takes time, such as a communicator.
/// An op runs there only if it asks for it (MayRunOn(), framework/cost/allowed_devices.h).
enum class DeviceClass : std::uint8_t { kCpu, kGpu, kNetwork };
std::string_view ToString(DeviceClass device_class);
/// Returns the names of all values in their order: "cpu", "gpu", "network".
const std::vector<std::string>& DeviceClassNames();

/// The common properties of all devices of one model. If every op has a measured cost for the kind,
/// only `device_class` is needed: the others serve to model costs
/// (framework/cost/allowed_devices.h).
struct DeviceKind {
  std::string name;
  DeviceClass device_class = DeviceClass::kGpu;
  std::map<std::string, double> peak;  ///< [FLOP/s] by dtype ("f32", "bf16"); may be empty
  double memory_bandwidth = 0;         ///< [B/s]; 0: unknown
  Nanos overhead = 0;                  ///< [ns] fixed part of every modelled op cost
  Nanos gap = 0;                       ///< [ns] idle time after an op
  Nanos issue = 0;                     ///< [ns] host time to issue one command
  Nanos launch = 0;                    ///< [ns] from issue to the earliest start
  bool pays_transfers = true;          ///< period objective: transfers count as its work
  /// Rate at which an op reads a tensor that arrived from another device, if the op is its first
  /// reader on this device. The op takes longer by that time (simulator/README.md, "Cold reads").
  /// nullopt: the op takes no longer.
  std::optional<Bandwidth> cold_read;
  std::map<std::string, Interference> interference;  ///< by InterferenceKeys(); default 0
  std::map<std::string, double> efficiency;          ///< share of peak by op class, in (0, 1]
  int multiprocessors = 0;                           ///< that execute thread blocks; 0: unknown
  double power = 0;                                  ///< [W] limit of the device; 0: unknown
  /// Replace `efficiency` for their element types and ops; FindKernelFit() chooses. They need peak,
  /// memory_bandwidth, multiprocessors and power.
  std::vector<KernelFit> fitted;
  std::string source;  ///< publication of these figures
};

/// Returns the allowed keys of `peak:` of a device kind: f32, bf16, ... (`efficiency:`: op_class.h)
const std::vector<std::string>& PeakKeys();

inline constexpr std::int64_t kUnlimitedMemory = std::numeric_limits<std::int64_t>::max();

/// A place that executes ops and stores tensors.
struct Device {
  std::string name;
  int kind = 0;                            ///< index into Cluster::kinds()
  std::int64_t memory = kUnlimitedMemory;  ///< [B]
  int slots = 1;                           ///< ops that run concurrently, >= 1
  /// Mask of the device indices with which it shares caches or memory bandwidth.
  std::uint64_t neighbors = 0;
};

/// The devices of a transfer that are occupied for its wire time, besides the channel. An occupied
/// device gives the transfer a slot, as it does to an op (simulator/README.md).
enum class Occupies : std::uint8_t { kNone, kSource, kDestination, kBoth };
std::string_view ToString(Occupies occupies);
/// Returns the names of all values in their order: "none", "source", "destination", "both".
const std::vector<std::string>& OccupiesNames();
inline bool OccupiesSource(Occupies occupies) {
  return occupies == Occupies::kSource || occupies == Occupies::kBoth;
}
inline bool OccupiesDestination(Occupies occupies) {
  return occupies == Occupies::kDestination || occupies == Occupies::kBoth;
}

/// A channel carries one transfer at a time. A transfer of b bytes that starts at t arrives at t +
/// latency + WireTime(b). The channel is free from t + WireTime(b) + gap (simulator/README.md).
struct Channel {
  std::string name;
  Nanos latency = 0;       ///< [ns]
  Nanos setup = 0;         ///< [ns] part of the wire time of a transfer of at least one byte
  Bandwidth bandwidth;     ///< > 0
  Nanos gap = 0;           ///< [ns] idle after each transfer
  bool broadcast = false;  ///< one transfer serves every destination
  /// kSource: only for first hops. kDestination: only for last hops, and not with `broadcast`.
  /// kBoth: only for routes of one hop.
  Occupies occupies = Occupies::kNone;
};

/// Returns the time of `bytes` at this rate: bytes / bandwidth, exact, rounded up.
/// @param bytes  >= 0 [B]   @return [ns]; kMaxNanos if the time is longer
Nanos TimeAtRate(std::int64_t bytes, const Bandwidth& bandwidth);
/// Returns the time for which `bytes` occupy a channel: setup + bytes / bandwidth; 0 for 0 bytes.
/// @param bytes  >= 0 [B]   @return [ns]; kMaxNanos if the time is longer
Nanos WireTime(std::int64_t bytes, const Channel& channel);
/// Returns the extra time of an op on a device of this kind that is the first to read `bytes` from
/// another device: bytes / cold_read, rounded up; 0 without a cold_read. [ns]
Nanos ColdReadTime(std::int64_t bytes, const DeviceKind& kind);

/// Device indices fit 64-bit masks.
inline constexpr int kMaxDevices = 64;

class Cluster {
 public:
  /// @param routes  [num_devices * num_devices] channel indices of each route, at from *
  ///   num_devices + to; empty if there is no route, and on the diagonal. A channel that is a
  ///   broadcast channel or occupies the source may only be a first hop. A channel that occupies
  ///   the destination may only be a last hop.
  /// @throws InputError naming `where` and the device or channel: no devices, more than
  ///   kMaxDevices, empty or duplicate names, bad indices, a negative size or time, slots < 1, a
  ///   bandwidth of 0, a neighbour that is the device itself or does not have it as a neighbour,
  ///   interference of an unknown class or out of range, a route from a device to itself, a
  ///   broadcast or occupying channel at a wrong hop, a broadcast channel that occupies a
  ///   destination
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
  /// Returns the channels of a route in their order; empty: no route. @pre from != to
  std::span<const int> route(int from, int to) const { return routes_[from * num_devices() + to]; }
  /// Returns whether some device has neighbours, so that their ops slow each other down.
  bool has_neighbors() const;
  /// Returns the index of a device by name, or -1.
  int FindDevice(std::string_view name) const;
  std::vector<std::string> DeviceNames() const;
  /// Returns the time for `bytes` on an idle route: sum of latency + wire time of its hops.
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
