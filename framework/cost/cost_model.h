#pragma once

// The costs of ops. They come from a ladder of cost sources (`CostSource`). For an op and a device
// kind, the first of these sources that has a value is used:
//
//   measured   `cost_ns` of the graph file for the kind, unchanged
//   free       storage ops and views (reshape, identity: op class "view") that no table has timed
//   measured   the time of the op's signature in the cost table
//   neighbour  the table's fit for the op's kind ("aten.mm"), or else
//   roofline   its fit for the op's class ("matmul"); both corrected by the measured ops of the
//              op's kind that are near it (fitted_costs.h)
//   roofline   without a table for the device kind, a model of the kind (kind_model.h)
//
// Times are rounded to the nearest ns.
//
// The uncertainty of a timing comes from its 95 % interval, that of a fit from its
// leave-one-signature-out error (as a standard error). Every other source has a default. FORMAT.md
// has all of this as a table, with the default efficiencies.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/cluster/cluster.h"
#include "framework/cost/costs.h"
#include "framework/graph/graph.h"

namespace emplace {

struct CostTable;

/// Sources of costs other than the graph file and the model.
struct CostInputs {
  const CostTable* table = nullptr;  ///< measured ops; nullptr for none
  bool prefer_in_situ = true;        ///< false: use isolated timings, for the ablation
  /// Uses OpMeasurement::apart_ns instead of a timing in situ, for simulations that add the
  /// interference of neighbouring devices themselves.
  bool apart = false;
  /// Called for each device kind of the cluster that the table lacks, if the model gives costs of
  /// ops there. Set it in programs that show results to a person.
  std::function<void(const std::string&)> warn = {};
};

/// Computes the cost of every op on every device. If the cluster has neighbours, also computes the
/// interference: from the table if the time is the table's, else that of the op's class on the
/// device's kind. Elsewhere than on its AllowedDevices, an op gets kMaxNanos.
/// @param where  prefix of error messages
/// @throws InputError naming op and device: the errors of AllowedDevices::Of() and
///   KindModel::Find(); a cost beyond kMaxNanos / num_ops; a table that has no kind of the cluster
///   (with its machine)
Costs ComputeCosts(const Graph& graph,
                   const Cluster& cluster,
                   const std::string& where = "costs",
                   const CostInputs& inputs = {});

/// Returns the share of each cost source in the sum over ops of cost(v, device_of_op[v]).
/// @param device_of_op  [num_ops]
CostSourceShares ComputeCostSourceShares(const Costs& costs,
                                         std::span<const std::uint8_t> device_of_op);

}  // namespace emplace
