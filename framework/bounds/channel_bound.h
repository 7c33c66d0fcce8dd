#pragma once

// A lower bound on the time that channels need for the items sent over them. A channel sends one
// item at a time; each has a head before it and a tail after it (one_machine.h).

#include <cstdint>
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
};

class ChannelBound {
 public:
  /// @param cluster  outlives this
  explicit ChannelBound(const Cluster& cluster);

  /// Returns the largest bound over the channels with at least two items; 0 if there is none. Of
  /// several items from one maker to one device only the largest counts; of equally large items,
  /// that with the longest tail. Broadcast channels are left out, as items may share a transfer
  /// there.
  /// @param sent  is reordered
  Nanos operator()(std::vector<SentItem>& sent);

 private:
  const Cluster& cluster_;
  std::vector<std::vector<Job>> jobs_;  // [num_channels]
};

}  // namespace emplace
