#pragma once

// The least time that every device of a class spends on transfers, for placements with a period of
// less than T.
//
// The devices of a class have equal costs, and all pay for transfers. If the other devices cannot
// take the work of one of them within T, each has a set S of groups whose cost c(S) is at least
// some least work and at most T. Like the whole of the groups, a set without groups transfers
// nothing, but neither is of such a cost. With t(S) as in device_cuts.h, the least payment is the
// minimum of t(S) over the sets with
//
//   least work <= c(S),  c(S) + t(S) < T.
//
// Branch and bound finds it. A node demands some groups in S and others outside. It relaxes the
// first or the second limit by Lagrange: the minimum of t(S) - r c(S), or of p c(S) + q t(S), is a
// minimum cut. Of the two sets that are best for the best factor, the larger one has the smaller
// one's groups and others. The node branches on the most expensive one of these.
//
// Let u be the most expensive group of the set with the least payment. At most one device has u. So
// the least payment of all others is that of the sets without u, and so on.
//
// On a chain of layers each set with the work of a device has two ends, at which it pays.

#include <functional>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/search/compiled_period.h"

namespace emplace {

/// Returns a lower bound on the costs of the groups that one device of a class has, in each
/// placement with a period of less than `known`. May be negative. [ns]
/// @param devices  of the class
Nanos LeastWork(const CompiledPeriod& problem, std::span<const int> devices, Nanos known);

/// Least transfer times of devices, in each placement with a period of less than some time.
/// An item counts with the least time between two devices. Both are empty if nothing is known.
struct LeastPayments {
  std::vector<Nanos> own;       ///< [num_devices] of the device [ns]
  std::vector<Nanos> of_class;  ///< [num_devices] of all devices of its class together [ns]
};

/// Returns the least payments for placements with a period of less than `known`. None is larger
/// than `known` for each device. A device that does not pay, or may be without work, has 0.
/// @param class_of  [num_devices] the first device of the class of each
/// @param stop      called often; true ends the search, whose bounds are then smaller; or it may
///   throw
LeastPayments FindLeastPayments(const CompiledPeriod& problem,
                                std::span<const int> class_of,
                                Nanos known,
                                const std::function<bool()>& stop);

}  // namespace emplace
