#pragma once

// The time of channels for the items sent over them, and that of the devices which transfers
// occupy.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "framework/base/time.h"
#include "framework/bounds/one_machine.h"
#include "framework/cluster/cluster.h"

namespace emplace {

/// An item that an op makes on one device and another op awaits on another device.
struct SentItem {
  int maker;           ///< items with equal maker and destination count once
  int from, to;        ///< two distinct devices
  std::int64_t bytes;  ///< [B]
  Nanos head;          ///< earliest time at which it is made [ns]
  Nanos tail;          ///< least time from its arrival to the end of the step [ns]

  /// Orders items by maker and destination.
  static bool ComesBefore(const SentItem& a, const SentItem& b) {
    return std::pair(a.maker, a.to) < std::pair(b.maker, b.to);
  }
};

/// The hops of transfers, as jobs of channels and of the devices that they occupy. Those over
/// broadcast channels are left out, as items may share a transfer there.
class TransferJobs {
 public:
  /// @param cluster  outlives this
  explicit TransferJobs(const Cluster& cluster);

  void Clear();
  /// @param from, to  devices at the ends of the whole route
  void Add(int channel, int from, int to, const Job& hop);
  /// Returns the largest bound over the channels with at least two hops; 0 if there is none. A
  /// channel does one hop at a time, with gaps between. [ns]
  Nanos Bound();
  /// Returns the hops that occupy a slot of a device.
  std::span<const Job> occupying(int device) const { return occupying_[device]; }

 private:
  const Cluster& cluster_;
  std::vector<std::vector<Job>> jobs_;       // [num_channels]
  std::vector<std::vector<Job>> occupying_;  // [num_devices]
};

/// Sets `jobs` to the hops of items. Of several items from one maker to one device only the largest
/// counts; of equally large items, that with the longest tail.
/// @param sent  is reordered
void SetTransfers(const Cluster& cluster, std::vector<SentItem>& sent, TransferJobs& jobs);

}  // namespace emplace
