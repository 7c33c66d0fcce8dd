#pragma once

// Lower bounds on the step time of all placements that put every group on one of some devices: what
// branch and bound prunes with. They are those of window_bounds.h, over the delays of delay_graph.h
// and those between the ends of small segments (segments.h). Valid in every semantics and with
// every issue order.

#include <cstdint>
#include <span>

#include "framework/base/time.h"
#include "framework/bounds/delay_graph.h"
#include "framework/bounds/window_bounds.h"
#include "framework/search/problem.h"

namespace emplace {

class PartialBound {
 public:
  /// Takes well under a second on a graph of thousands of ops.
  /// @param problem  outlives this
  explicit PartialBound(const Problem& problem);
  PartialBound(const PartialBound&) = delete;
  PartialBound& operator=(const PartialBound&) = delete;

  /// By paths and devices.
  /// @param masks  [num_groups] devices that each group may have: a part of allowed_devices(), not
  ///   0
  /// @return no placement within the masks has a shorter step [ns]
  Nanos operator()(std::span<const std::uint64_t> masks);

  /// Of the steps that take at most `target`, by groups, too; takes longer.
  /// @param masks  as above; those devices go that no placement with such a step uses
  /// @return more than `target` if no placement within the masks has such a step [ns]
  Nanos Exclude(DeviceMasks& masks, Nanos target);

 private:
  DelayGraph graph_;
  WindowBounds windows_;
  DeviceMasks masks_;
};

}  // namespace emplace
