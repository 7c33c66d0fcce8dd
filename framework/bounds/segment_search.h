#pragma once

// Lower bounds on the time of a segment of a DelayGraph. The *segment* of ops a and b consists of
// all ops on paths from a to b. With a on device s and b on d, let
//
//   F(s, d) = the least makespan of the ops between them, if nothing else runs.
//
// F is not computed but bounded, by testing whether the segment can be done within a time T. A
// search assigns devices to groups of ops, one group after another. At each node it excludes
// devices by these rules:
//
//   paths      Every op has a head and a tail on every device that it may have. A device on which
//              head, cost and tail exceed T is excluded for the whole group of the op.
//   devices    The ops of the groups that have no other device must fit on it one after another
//              (one_machine.h; with several slots they share the time of all slots).
//   exclusion  They must also fit together with a further group; else that group is excluded.
//   channels   The items sent over a channel between such groups must fit (TransferJobs). If the
//              channel occupies a device, they must also fit on it together with its ops.
//
// A search that ends without a solution proves F > T. A search that finds a solution, or reaches
// its limit of nodes, proves nothing. T is found by bisection. Only one of several interchangeable
// devices is tried (DevicePairs).

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/bounds/delay_graph.h"

namespace emplace {

/// The interchangeable devices of a problem, and the interchangeable ordered pairs of devices
/// (framework/cluster/symmetry.h). A proof about one of them holds for the others.
struct DevicePairs {
  /// Finds the symmetries of at most 16 devices. For more devices, tries only exchanges of two.
  explicit DevicePairs(const Problem& problem);

  std::vector<int> exchangeable;  ///< [num_devices] first device exchangeable with each
  /// [num_devices, num_devices] the first equivalent pair, as an index into this matrix
  std::vector<int> like;
};

struct SegmentDelays {
  /// [num_devices, num_devices] a lower bound on F, from the finish of the first op on s to the
  /// start of the last on d; kMaxNanos if they cannot be there [ns]
  std::vector<Nanos> delays;
  std::int64_t effort = 0;  ///< number of delays read, about 3 ns each
};

/// @param ops    the segment, in topological order, both ends included
/// @param nodes  limit of one search, in addition to one per group
/// @param stop   called at every node, if set; true ends the search, and the bounds proved until
///   then hold. May throw.
SegmentDelays BoundSegment(const DelayGraph& graph,
                           const DevicePairs& pairs,
                           std::span<const int> ops,
                           std::int64_t nodes,
                           const std::function<bool()>& stop = {});

}  // namespace emplace
