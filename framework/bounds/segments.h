#pragma once

// Delays by what lies between two ops. If paths lead from op a to op b, all ops on them (the
// *segment* of a and b) run after the finish of a and before the start of b. So the time between
// the two is at least
//
//   F(s, d) = the least makespan of the segment if a is on device s and b on d
//
// in every schedule of every placement, whatever runs besides: other ops and transfers only take
// devices and channels away. F becomes an edge of the DelayGraph. Segments one behind another are
// disjoint in time, and the longest path adds them up; an edge of a small segment also serves
// inside of larger ones. A fork and its join is the smallest case: either two branches share a
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

/// What counts as critical in SegmentLimits::share.
inline constexpr double kCriticalShare = 0.99;

struct SegmentLimits {
  int ops = 12;             ///< in a segment, both ends included
  int window = 60;          ///< ancestors of an op, latest first, among which its segments lie
  std::int64_t nodes = 16;  ///< of one search, besides one for each group
  /// Only segments that end in an op through which a path of at least this share of the longest
  /// leads; 0: all. What is there at the beginning counts.
  double share = 0;

  /// For the first, second, ... call with one graph: ever larger segments.
  static SegmentLimits OfRound(int round);
};

/// Adds edges for segments that end in joins and begin on a longest path to them, smaller ones
/// first: those in which the work of all ops, done on one device, would take longer than the
/// longest path through them. Segments that have an edge already are left as they are. The result
/// depends on nothing but the arguments, unless it is stopped.
/// @param effort  delays looked at, some 3 ns each, after which no further op is gone to
/// @param stop    asked at every node of a search; true ends all, what was added holds. May throw.
/// @return what is left of the effort; not above 0 if it was too little for all ops
std::int64_t AddSegments(DelayGraph& graph,
                         const SegmentLimits& limits,
                         std::int64_t effort,
                         const std::function<bool()>& stop = {});

/// The first round and the critical segments of the next three, as far as they go in a fraction of
/// a second, or a second or two on graphs of tens of thousands of ops; the same edges everywhere.
/// @return rounds that are complete: 0 or 1
int AddQuickSegments(DelayGraph& graph);

}  // namespace emplace
