#pragma once

// How long channels need at least for items that are sent: on each channel one goes after another,
// none before its head and none without its tail (one_machine.h).

#include <cstdint>
#include <vector>

#include "framework/base/time.h"
#include "framework/bounds/one_machine.h"
#include "framework/cluster/cluster.h"

namespace emplace {

/// An item that an op makes on one device and another op awaits on a second one.
struct SentItem {
  int maker;           ///< of equal makers and destinations only one counts
  int from, to;        ///< devices, not the same
  std::int64_t bytes;  ///< [B]
  Nanos head;          ///< it is made no earlier [ns]
  Nanos tail;          ///< from its arrival to the end of all [ns]
};

class ChannelBound {
 public:
  /// @param cluster  outlives this
  explicit ChannelBound(const Cluster& cluster);

  /// The largest bound of any channel on which there are two items or more; 0 without. Of several
  /// items from one maker to one device only the largest counts, with the longest tail of equals.
  /// Broadcast channels count nothing, as items may share a transfer there.
  /// @param sent  left in another order
  Nanos operator()(std::vector<SentItem>& sent);

 private:
  const Cluster& cluster_;
  std::vector<std::vector<Job>> jobs_;  // [num_channels]
};

}  // namespace emplace
