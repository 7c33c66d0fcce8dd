#pragma once

// A lower bound for the period by linear programming: spreading.
//
// Let an item be *cut* if its maker and its readers are on several devices, l_i = 1 then and 0
// else. A cut item is paid for at both ends, at least w_i each, the least time of any of its
// transfers; only once, or not at all, where the other end does not pay. And what is together on a
// device fits into a period T: with c_u the least cost of group u on any device,
//
//   sum over u in U of c_u dist(v, u) >= sum over U of c_u - T    for every group v, every set U
//
// where dist(v, u) is the length of a shortest path of items from v to u: at least 1 if they are on
// different devices. (Spreading metrics: G. Even, J. Naor, S. Rao, B. Schieber, Journal of the ACM
// 47, 2000.) With y_uk the share of u on devices of class k, n_k devices alike, and Q_k what they
// pay for transfers,
//
//   min T  s.t.  sum_k y_uk = 1,   sum_u c_uk y_uk + Q_k <= n_k T,
//                sum_k Q_k >= sum_i w_i (2 l_i - m z_i),   z_i <= l_i, z_i <= y of i's groups there
//
// with z_i for items that reach one of the m <= 2 (at most counted) devices that do not pay. The
// inequalities are found by shortest paths; each linear programme proves a bound (mip.h).

#include <functional>

#include "framework/base/time.h"
#include "framework/search/compiled_period.h"

namespace emplace {

/// Bounds by spreading, better and better, until nothing is to be gained or an end is wanted.
/// @param known  > 0, of some placement or larger; no bound is larger [ns]
/// @param stop   asked often; may throw
/// @param told   gets each bound [ns]; true ends it
void ProveSpreading(const CompiledPeriod& problem,
                    Nanos known,
                    const std::function<bool()>& stop,
                    const std::function<bool(Nanos)>& told);

}  // namespace emplace
