#pragma once

// A lower bound on the period of all placements that put every group on one of some devices. Branch
// and bound prunes with it if the objective is the period (simulator/README.md, "The second
// objective: pipelined steps"). It is the larger of
//
//   fixed   the largest load of a device, counting only the ops of groups that have one device left
//           and the items that go from one such group to another
//   work    the cost of all groups, each on its cheapest remaining device, divided by the number of
//           devices
//
// It is valid because a further group on a device only adds to loads: its ops, the items into its
// device, and further destinations of an item. Of the destinations of an item, the sender counts
// the most expensive one.

#include <cstdint>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/search/problem.h"

namespace emplace {

/// An item that is transferred if its makers and readers are on different devices: a tensor, or the
/// control item of an op.
struct GroupItem {
  int maker = 0;             ///< group of the op that makes it
  std::int64_t bytes = 0;    ///< [B]
  std::vector<int> readers;  ///< other groups that wait for it, ascending
};

/// Returns all items for which a group other than the maker waits, in the order of ops.
std::vector<GroupItem> GroupItems(const Problem& problem);

class PartialLoad {
 public:
  /// @param problem  outlives this
  explicit PartialLoad(const Problem& problem);

  /// Computes the bound.
  /// @param masks  [num_groups] devices that each group may have: a non-empty part of
  ///   allowed_devices()
  /// @return lower bound [ns]: no placement within the masks has a shorter period
  Nanos operator()(std::span<const std::uint64_t> masks);

 private:
  const Problem& problem_;
  std::vector<GroupItem> items_;
  std::vector<Nanos> load_;  // [num_devices]
};

}  // namespace emplace
