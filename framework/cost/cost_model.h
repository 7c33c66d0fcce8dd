#pragma once

// What ops cost. Of these rungs of the cost ladder the first that knows an op and a device kind
// decides:
//
//   measured   `cost_ns` of the graph file for the kind, as it is
//   free       storage ops and views (reshape, identity: op class "view") that no table timed
//   measured   the op's signature in the cost table, as it was timed
//   neighbour  the table's fit for the op's kind ("aten.mm"), else
//   roofline   its fit for the op's class ("matmul"); either corrected by the measured ops of the
//              op's kind that are near it (fitted_costs.h)
//   roofline   without a table that knows the device kind, a roofline of published figures:
//
//     cost(v, d) = overhead_d + max(F_v / (P_d * e_d[class v]), B_v / (W_d * e_d["memory"]))
//
// F FLOPs, B bytes accessed, P peak of the op's dtype, W memory bandwidth, e efficiency. Only this
// last model adds the kind's overhead. The dtype is that of the op's largest floating tensor, f32
// without one; a kind without a peak for it uses its f32 peak. Times are rounded to the nearest ns.
// An efficiency that the kind does not tell comes from the class defaults (one table in
// cost_model.cc); a cost is flagged Rung::kDefault when such a default decides it, or when the op
// class is unknown, and Rung::kRoofline otherwise.
//
// Uncertainties: of a timing its 95 % interval, of a fit its leave-one-signature-out error (as a
// standard error), of everything else a default per rung. FORMAT.md has all of this as a table,
// with the default efficiencies.

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

/// Where costs may come from besides the graph file and the model.
struct CostSources {
  const CostTable* table = nullptr;  ///< measured ops; nullptr: none
  bool prefer_in_situ = true;        ///< false: isolated timings, for the ablation
  /// OpMeasurement::apart_ns where a timing in situ would count: for simulations that count what
  /// neighbours cost by themselves
  bool apart = false;
  /// Called for each device kind of the cluster that the table does not know, if ops cost there
  /// what the model says. Give one wherever a person sees the results.
  std::function<void(const std::string&)> warn = {};
};

/// The cost of every op on every device, and its interference where the cluster has neighbours: the
/// table's if the table's time counts, else that of its class on the device's kind. Ops that may
/// not run on a device (device_kinds) get kMaxNanos there.
/// @param where  stands for the file in messages
/// @throws InputError naming op and device: a kind without peak or memory bandwidth while an op
///   falls to the model there; a cost beyond kMaxNanos / num_ops; an op allowed on no device of the
///   cluster (with what it allows and what the cluster has); a table that knows no kind of the
///   cluster (with its machine)
Costs ComputeCosts(const Graph& graph,
                   const Cluster& cluster,
                   const std::string& where = "costs",
                   const CostSources& sources = {});

/// Which share of sum over ops of cost(v, device_of_op[v]) came from which rung.
/// @param device_of_op  [num_ops]
RungShares ComputeRungShares(const Costs& costs, std::span<const std::uint8_t> device_of_op);

}  // namespace emplace
