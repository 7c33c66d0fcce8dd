#pragma once

// Bounds for placements with a period of less than T, by minimum cuts: groups that must share a
// device, and the least time that a device spends on transfers.
//
// Consider a device that pays for transfers, and the set S of groups on it. Let c(S) be the sum of
// their least costs on such devices. Let t(S) be the sum of the least times w_i of the items with
// groups on both sides of S, which the device sends or receives. Its load is at least c(S) + t(S).
// The minimum of p c(S) + q t(S) over all S that contain a group u, and not another group v, is a
// minimum cut (E. Lawler, Cutsets and partitions of hypergraphs, Networks 3, 1973), found by a
// maximum flow.
//
// Merging. Suppose that u and v are on different devices. If the minimum cut over the sets with u
// and without v has a load of T or more, no such placement is better than T; likewise with u and v
// exchanged. In that case u and v are merged into one group.
//
// Room. Let M be the minimum of p c(S) + q t(S), p < q, over the sets S with u. Then c(S) + t(S) <=
// T - 1 implies t(S) >= t_u = (M - p (T - 1)) / (q - p), for the best p and q, and c(S) <= T - 1 -
// t_u. So u takes at least a share c_u / (T - 1 - t_u) of its device; on a device that does not
// pay, the share is c_ud / (T - 1). With m devices that pay and n that do not, there is no
// placement if for some price r >= 0
//
//   sum over u of min(share of u if it pays, r * share of u if it does not) > m + r n.
//
// Memory is left out, which can only make bounds smaller.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/search/compiled_period.h"
#include "framework/search/problem.h"

namespace emplace {

/// Returns the problem in which groups are merged that share a device in all placements with a
/// period of less than `known`. Repeats until no more are found or an end is requested. Merges
/// nothing if at least two devices do not pay for transfers.
/// @param stop  called often; true ends the search and keeps its merges, or it may throw
std::shared_ptr<const Problem> MergeInseparable(const Problem& problem,
                                                Nanos known,
                                                const std::function<bool()>& stop);

/// Computes t_u (see above) for some groups: the least transfer time of a device that pays, has the
/// group, and has a load of less than `period`; kMaxNanos if no such device can have it.
/// @param groups  [n]
/// @return [n] [ns]
std::vector<Nanos> LeastTransfers(const CompiledPeriod& problem,
                                  std::span<const int> groups,
                                  Nanos period);

/// Returns true if it proves that no placement has a period of less than `period`, since after
/// merging a group has no device or there is too little room.
/// @param period  > 0 [ns]
/// @param stop    called often; true ends the proof, which returns false; or it may throw
bool IsRefuted(const Problem& problem, Nanos period, const std::function<bool()>& stop);

/// Finds by bisection the largest period that IsRefuted() refutes, to a thousandth.
/// @param least  > 0, a known bound [ns]
/// @param known  the period of a placement or larger; no reported bound is larger [ns]
/// @param stop   called often; true ends the proof, or it may throw
/// @param told   called with each better bound [ns]
void ProveByCuts(const Problem& problem,
                 Nanos least,
                 Nanos known,
                 const std::function<bool()>& stop,
                 const std::function<void(Nanos)>& told);

}  // namespace emplace
