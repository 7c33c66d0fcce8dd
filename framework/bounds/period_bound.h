#pragma once

// Lower bounds for the period objective (simulator/README.md, "The second objective: pipelined
// steps"), and its mixed-integer programme.
//
// Spreading. Let an item be *cut* if its maker and its readers are on several devices, l_i = 1 then
// and 0 else. A cut item is paid for at both ends, at least w_i each, the least time of any of its
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
//
// Together. Let S be the set of groups on the device of u. If v is elsewhere, the device has a load
// of at least the least cut between u and v, of items at w_i and of groups of S at c_u. Where that
// is no less than a known period, all better placements have u and v on one device: they become one
// group (maximum flows; E. Lawler, Cutsets and partitions of hypergraphs, Networks 3, 1973).
//
// Programme. x_ud is 1 if u is on device d; the transfers of each item into d and out of d are
// columns of their own, so that solutions with whole x have the period as value, on any routes.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/bounds/lower_bound.h"
#include "framework/bounds/mip.h"
#include "framework/placement/placement.h"
#include "framework/search/compiled_period.h"
#include "framework/search/problem.h"

namespace emplace {

/// Of each device the first one that is interchangeable with it: of equal costs, memory and routes.
/// @return [num_devices]
std::vector<int> InterchangeableDevices(const CompiledPeriod& problem);

/// Every op at its dearest and every item at its dearest once, and 1: more than any period. [ns]
Nanos MostPeriod(const CompiledPeriod& problem);

/// The problem with groups merged that all placements with a period of less than `known` have on
/// one device; again and again, until no more are found or an end is wanted. Nothing is merged
/// where two devices or more do not pay for transfers.
/// @param stop  asked often; true ends it with what is found, or it may throw
std::shared_ptr<const Problem> MergeInseparable(const Problem& problem,
                                                Nanos known,
                                                const std::function<bool()>& stop);

/// Bounds by spreading, better and better, until nothing is to be gained or an end is wanted.
/// @param known  > 0, of some placement or larger; no bound is larger [ns]
/// @param stop   asked often; may throw
/// @param told   gets each bound [ns]; true ends it
void ProveSpreading(const CompiledPeriod& problem,
                    Nanos known,
                    const std::function<bool()>& stop,
                    const std::function<bool(Nanos)>& told);

/// The programme of the placements with a period of less than `known`.
struct PeriodProgramme {
  /// @param known  > 0, of some placement or larger [ns]
  PeriodProgramme(const CompiledPeriod& problem, Nanos known);

  /// The best device of each group in a solution, whole or not.
  Placement Round(std::span<const double> solution) const;
  /// The least whole number of ns that a value bounds from below; 0 for negative ones.
  Nanos ToNanos(double value) const;
  /// The least value of no interest when a placement of this period is known: half a nanosecond
  /// less, or a share of 1e-7, so that what is as good within rounding is not searched.
  double Cutoff(Nanos known_period) const;
  /// The columns of a group to try: of interchangeable devices without a group, the first.
  std::vector<int> Branches(int group, std::span<const int> decided) const;

  LinearModel model;
  double unit = 1;                        ///< ns of one unit of value
  std::vector<std::vector<int>> columns;  ///< [num_groups] of x, one per device that is tried
  std::vector<double> weight;             ///< [num_groups] order of decisions

 private:
  std::vector<int> device_, first_alike_;  // [columns] (-1: no x), [num_devices]
};

/// The best bound that `options.seconds` prove, `known` at most: with 0 seconds the work of
/// bounds.h or the dearest group on its best device (method "work" or "group"), else spreading
/// ("spreading") and then branch and bound ("branch_and_bound"). @throws Interrupted
LowerBound ProvePeriodBound(const Problem& problem, const ProofOptions& options = {});

}  // namespace emplace
