#pragma once

// A lower bound on the period of all placements that put every group on one of some devices: what
// branch and bound prunes with when the objective is the period (simulator/README.md, "The second
// objective: pipelined steps"). It is the larger of
//
//   fixed   the largest load of a device, counting only the ops of groups that have one device left
//           and the items that go from one such group to another
//   work    cost of all groups, each where it costs least of what it may have, over all devices
//
// Valid because a group more on a device only adds to loads: its ops, items into its device, and
// destinations among which an item's dearest is counted.

#include <cstdint>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/search/problem.h"

namespace emplace {

/// What crosses if its makers and readers are on different devices: a tensor, or the control item
/// of an op.
struct GroupItem {
  int maker = 0;             ///< group of the op that makes it
  std::int64_t bytes = 0;    ///< [B]
  std::vector<int> readers;  ///< other groups that await it, ascending
};

/// Every item that some group other than its maker awaits, in the order of ops.
std::vector<GroupItem> GroupItems(const Problem& problem);

class PartialLoad {
 public:
  /// @param problem  outlives this
  explicit PartialLoad(const Problem& problem);

  /// @param masks  [num_groups] devices that each group may have: a part of allowed_devices(), not
  ///   0
  /// @return no placement within the masks has a shorter period [ns]
  Nanos operator()(std::span<const std::uint64_t> masks);

 private:
  const Problem& problem_;
  std::vector<GroupItem> items_;
  std::vector<Nanos> load_;  // [num_devices]
};

}  // namespace emplace
