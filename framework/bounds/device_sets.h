#pragma once

// Lower bounds for the period by the sets of groups that one device can have, exact up to rounding.
//
// The load of a device depends only on the set S of its groups: their costs, and the least time of
// each item that has groups on both sides of S (of which it pays the sending or the receiving). Let
// P_k(v, T) be the largest value v(S) = sum over u in S of v_u of a set that a device of class k
// (n_k interchangeable devices) can have within a period of T. No placement has a period of at most
// T if for some values v
//
//   sum over u of v_u  >  sum over classes of n_k P_k(v, T)
//
// since the sets of a placement contain each group once. The best v is the solution of the linear
// program over all sets (Dantzig-Wolfe decomposition; P. C. Gilmore, R. E. Gomory, A linear
// programming approach to the cutting-stock problem, Operations Research 9, 1961), which has no
// symmetric devices. set_cover.h solves it, set_programme.h finds P_k. Values are integers, so the
// proof is exact for any solution of the linear program. Memory is left out, which can only make
// bounds smaller.
//
// A period that the program does not refute is refuted by parts: two groups that are partly
// together in its solution share a device, or do not (D. M. Ryan, B. A. Foster, An integer
// programming approach to scheduling, Computer Scheduling of Public Transport, 1981). Placements
// are found by taking sets of large weight, one after another, with two choices for each
// (C. Joncour, S. Michel, R. Sadykov, D. Sverdlov, F. Vanderbeck, Column generation based primal
// heuristics, Electronic Notes in Discrete Mathematics 36, 2010).

#include <functional>
#include <span>

#include "framework/base/time.h"
#include "framework/placement/placement.h"
#include "framework/search/compiled_period.h"

namespace emplace {

struct SetsProof {
  /// Called often; true ends the proof, or it may throw.
  std::function<bool()> stop;
  /// Called with each better bound [ns].
  std::function<void(Nanos)> told;
  /// If set, called with placements [num_groups]. Returns the period; kMaxNanos if it does not fit.
  /// [ns]
  std::function<Nanos(std::span<const DeviceIndex>)> found;
};

/// Proves increasing bounds until the best placement is proved, its effort is exhausted, or an end
/// is requested. Proves nothing with more than 1,000 groups, or if no order of the groups with few
/// open items is found.
/// @param least  > 0, a known bound [ns]
/// @param known  the period of a placement or larger; no reported bound is larger [ns]
void ProveByDeviceSets(const CompiledPeriod& problem,
                       Nanos least,
                       Nanos known,
                       const SetsProof& proof);

}  // namespace emplace
