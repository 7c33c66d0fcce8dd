#pragma once

// Delays from the ops between two ops. If paths lead from op a to op b, all ops on them (the
// *segment* of a and b) run after the finish of a and before the start of b. So the time between
// the two is at least
//
//   F(s, d) = the least makespan of the segment if a is on device s and b on d
//
// in every schedule of every placement, since other ops and transfers only take time of devices and
// channels away. F becomes an edge of the DelayGraph. Consecutive segments are disjoint in time, so
// the longest path adds up their delays. An edge of a small segment also helps to bound larger
// segments that contain it. The smallest case is a fork and its join: either two branches share a
// device, and their work adds up, or one of them pays for its transfers. segment_search.h bounds F.
//
// Joins after forks: E. B. Fernandez, B. Bussell, Bounds on the number of processors and time for
// multiprocessor optimal schedules, IEEE Transactions on Computers 22 (1973); with transfers M. A.
// Al-Mouhamed, Lower bound on the number of processors and time for scheduling precedence graphs
// with communication costs, IEEE Transactions on Software Engineering 16 (1990).

#include <cstdint>
#include <functional>

#include "framework/bounds/delay_graph.h"

namespace emplace {

/// A value of SegmentLimits::share that selects critical segments.
inline constexpr double kCriticalShare = 0.99;

struct SegmentLimits {
  int ops = 12;             ///< maximum in a segment, both ends included
  int window = 60;          ///< latest ancestors of an op that are searched for its segments
  std::int64_t nodes = 16;  ///< limit of one search, in addition to one per group
  /// Only segments are tried that end in an op on a path of at least this share of the longest
  /// path, with the edges at the beginning of the call; 0: all.
  double share = 0;

  /// Returns the limits for the first, second, ... call with one graph, for ever larger segments.
  static SegmentLimits OfRound(int round);
};

/// Adds edges for segments that end in joins and begin on a longest path to them, smaller ones
/// first. A segment is tried only if the work of all its ops on one device would take longer than
/// the longest path through it. Segments that already have an edge are left unchanged. The result
/// depends only on the arguments, unless it is stopped.
/// @param effort  number of delays to read, about 3 ns each; no further op is tried after it
/// @param stop    called at every node of a search; true ends the call and keeps its edges. May
///   throw.
/// @return the remaining effort; <= 0 if it was too little for all ops
std::int64_t AddSegments(DelayGraph& graph,
                         const SegmentLimits& limits,
                         std::int64_t effort,
                         const std::function<bool()>& stop = {});

/// Runs the first round and the critical segments of the next three, within a limit of effort: a
/// fraction of a second, or a second or two on graphs of tens of thousands of ops. Adds the same
/// edges on every machine.
/// @return number of complete rounds: 0 or 1
int AddQuickSegments(DelayGraph& graph);

}  // namespace emplace
