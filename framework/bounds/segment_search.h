#pragma once

// How long a segment of a DelayGraph takes at least. The *segment* of ops a and b are all ops on
// paths from a to b. With a on device s and b on d,
//
//   F(s, d) = the least makespan of the ops between them, when nothing else runs
//
// is not computed but bounded, by asking for times T whether the segment can be done within T. A
// search gives one group of ops after another a device. What it knows at a node:
//
//   paths      heads and tails of every op on every device that it may have. A device on which
//              head, cost and tail exceed T is excluded for the whole group of the op.
//   devices    the ops of the groups that have no other device must fit on it one after another
//              (one_machine.h; with several slots each takes its share of the time of all)
//   exclusion  so must they with a further group, or that group is not there
//   channels   likewise what crosses a channel between such groups (channel_bound.h)
//
// A search that ends without a solution proves F > T; one that finds a solution or does not end
// within its limit of nodes proves nothing. T is found by bisection. Devices that nothing tells
// apart are tried once (device_pairs.h).

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/bounds/delay_graph.h"
#include "framework/bounds/device_pairs.h"

namespace emplace {

struct SegmentDelays {
  /// [num_devices, num_devices] at most F, from the finish of the first op on s to the start of the
  /// last on d; kMaxNanos if they cannot be there [ns]
  std::vector<Nanos> delays;
  std::int64_t effort = 0;  ///< delays looked at, some 3 ns each
};

/// @param ops    the segment, in topological order, both ends included
/// @param nodes  of one search, besides one for each group
/// @param stop   asked at every node, if set; true ends all: what is proved until then holds. May
///   throw.
SegmentDelays BoundSegment(const DelayGraph& graph,
                           const DevicePairs& pairs,
                           std::span<const int> ops,
                           std::int64_t nodes,
                           const std::function<bool()>& stop = {});

}  // namespace emplace
