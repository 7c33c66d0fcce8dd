#pragma once

// Which placements evaluators refuse.

#include <cstddef>

#include "framework/placement/placement.h"
#include "framework/search/evaluator.h"

namespace emplace {

/// Every function throws InputError naming group, op and device, or the route that is missing.
class PlacementCheck {
 public:
  /// @param problem  outlives this
  explicit PlacementCheck(const Problem& problem);
  /// Whether each device has a route to each other: then no placement lacks one.
  bool all_routes() const { return all_routes_; }
  /// Refuses another number of groups than the problem's.
  void Size(std::size_t num_groups) const;
  /// Refuses a device on which a group may not run, and a transfer without a route.
  /// @param device  [num_groups]
  void operator()(const DeviceIndex* device) const;
  /// Refuses a base or a move that is not allowed. The routes of a neighbour are left to the
  /// caller.
  void Base(const Neighbors& neighbors);

 private:
  void Device(int group, int d) const;

  const Problem& problem_;
  const bool all_routes_;
  Placement valid_base_;  // of the last neighbours
};

}  // namespace emplace
