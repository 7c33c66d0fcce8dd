#pragma once

// Checks of the placements that evaluators receive.

#include <cstddef>

#include "framework/placement/placement.h"
#include "framework/search/evaluator.h"

namespace emplace {

/// Every function throws InputError naming group, op and device, or the missing route.
class PlacementCheck {
 public:
  /// @param problem  outlives this
  explicit PlacementCheck(const Problem& problem);
  /// Returns whether each device has a route to each other: then no placement lacks one.
  bool all_routes() const { return all_routes_; }
  /// Refuses a number of groups other than the problem's.
  void Size(std::size_t num_groups) const;
  /// Refuses a group on a device where it may not run, and a transfer without a route.
  /// @param device  [num_groups]
  void operator()(const DeviceIndex* device) const;
  /// Refuses a base or a move that is not allowed. The caller checks the routes of neighbours.
  void Base(const Neighbors& neighbors);

 private:
  void Device(int group, int d) const;

  const Problem& problem_;
  const bool all_routes_;
  Placement valid_base_;  // the last base that was accepted
};

}  // namespace emplace
