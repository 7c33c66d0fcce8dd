#pragma once

// A lower bound for the period by linear programming, from spreading metrics.
//
// An item is *cut* if its maker and its readers are on several devices; then l_i = 1, else l_i = 0.
// Both ends of a cut item pay at least w_i, the least time of any of its transfers. An end on a
// device that does not pay is not counted. The groups on one device fit into a period T. With c_u
// the least cost of group u on any device,
//
//   sum over u in U of c_u dist(v, u) >= sum over U of c_u - T    for every group v, every set U
//
// where dist(v, u) is the length of a shortest path of items from v to u, which is at least 1 if
// they are on different devices. (Spreading metrics: G. Even, J. Naor, S. Rao, B. Schieber, Journal
// of the ACM 47, 2000.) Let y_uk be the share of u on class k, a set of n_k equal devices, and Q_k
// the time that they pay for transfers. Then
//
//   min T  s.t.  sum_k y_uk = 1,   sum_u c_uk y_uk + Q_k <= n_k T,
//                sum_k Q_k >= sum_i w_i (2 l_i - m z_i),   z_i <= l_i, z_i <= y of i's groups there
//
// with z_i for items that reach one of the m devices that do not pay (m counts at most 2). Violated
// inequalities are found by shortest paths. Each linear program proves a bound (mip.h).

#include <functional>

#include "framework/base/time.h"
#include "framework/search/compiled_period.h"

namespace emplace {

/// Proves increasing bounds until no more can be gained or an end is requested.
/// @param known  > 0, the period of a placement or larger; no reported bound is larger [ns]
/// @param stop   called often; may throw
/// @param told   called with each bound [ns]; true ends the proof
void ProveSpreading(const CompiledPeriod& problem,
                    Nanos known,
                    const std::function<bool()>& stop,
                    const std::function<bool(Nanos)>& told);

}  // namespace emplace
