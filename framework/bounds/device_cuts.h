#pragma once

// What a device must have in common, and what it must pay, in every placement with a period of
// less than T: by least cuts.
//
// Let S be the set of groups on a device that pays for transfers, c(S) the sum of their least costs
// on such devices, and t(S) that of the least times w_i of the items with groups on both sides of
// S, which the device sends or receives. Its load is at least c(S) + t(S). Both p c(S) + q t(S) and
// its least value over all S with one group u and without another one are a least cut (E. Lawler,
// Cutsets and partitions of hypergraphs, Networks 3, 1973), found by a maximum flow.
//
// Together. Be u and v on different devices. If the least cut between S with u and without v has a
// load of T or more, no such placement is better than T; likewise for v. So u and v become one
// group.
//
// Room. If M is the least value of p c(S) + q t(S), p < q, over the S with u, then
// c(S) + t(S) <= T - 1 leaves t(S) >= t_u = (M - p (T - 1)) / (q - p), for whichever p and q are
// best, and c(S) <= T - 1 - t_u. So u takes at least a share c_u / (T - 1 - t_u) of its device; on
// a device that does not pay c_ud / (T - 1). There is no placement if for some price r >= 0, with m
// devices that pay and n that do not,
//
//   sum over u of min(share of u where it pays, r * share of u where it does not) > m + r n.
//
// Memory is left out, which only makes bounds smaller.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/search/compiled_period.h"
#include "framework/search/problem.h"

namespace emplace {

/// The problem with groups merged that all placements with a period of less than `known` have on
/// one device; again and again, until no more are found or an end is wanted. Nothing is merged
/// where two devices or more do not pay for transfers.
/// @param stop  asked often; true ends it with what is found, or it may throw
std::shared_ptr<const Problem> MergeInseparable(const Problem& problem,
                                                Nanos known,
                                                const std::function<bool()>& stop);

/// t_u of the header for each of some groups: what a device pays for transfers at least if it pays,
/// has the group, and has a load of less than `period`; kMaxNanos if no such device can have it.
/// @param groups  [n]
/// @return [n] [ns]
std::vector<Nanos> LeastTransfers(const CompiledPeriod& problem,
                                  std::span<const int> groups,
                                  Nanos period);

/// Whether it is proved that no placement has a period of less than `period`: after merging, a
/// group has no device or there is too little room.
/// @param period  > 0 [ns]
/// @param stop    asked often; true ends it with false, or it may throw
bool IsRefuted(const Problem& problem, Nanos period, const std::function<bool()>& stop);

/// The largest period that IsRefuted() refutes, to a thousandth, by bisection.
/// @param least  > 0, a bound known already [ns]
/// @param known  of some placement or larger; no bound is larger [ns]
/// @param stop   asked often; true ends it, or it may throw
/// @param told   gets each better bound [ns]
void ProveByCuts(const Problem& problem,
                 Nanos least,
                 Nanos known,
                 const std::function<bool()>& stop,
                 const std::function<void(Nanos)>& told);

}  // namespace emplace
