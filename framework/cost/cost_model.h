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
//   roofline   without a table for the device kind, its kernel fit (framework/cluster/kernel_fit.h)
//              for ops of the fit's element type and classes
//   roofline   a roofline with published parameters:
//
//     cost(v, d) = overhead_d + max(F_v / (P_d * e_d[class v]), B_v / (W_d * e_d["memory"]))
//
// F FLOPs, B bytes accessed, P peak of the op's dtype, W memory bandwidth, e efficiency. Only this
// last model adds the kind's overhead. Kinds of class network have neither a kernel fit nor a
// roofline with published parameters. The dtype is that of the op's largest floating-point tensor,
// or f32 without one. A kind without a peak for that dtype uses its f32 peak. Times are rounded to
// the nearest ns. An efficiency that the kind does not give comes from the class defaults (a table
// in cost_model.cc). A cost has the source CostSource::kDefault if such a default determines it or
// the op class is unknown, and CostSource::kRoofline otherwise.
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

/// Returns whether an op may run on devices of a kind, if their names match Op::devices: its
/// device_kinds are empty or name the kind or its class. On a kind of class network, also one of
/// device_kinds and devices must not be empty: such devices run only the ops that ask for them.
bool MayRunOn(const Op& op, const DeviceKind& kind);

/// Computes the cost of every op on every device. If the cluster has neighbours, also computes the
/// interference: from the table if the time is the table's, else that of the op's class on the
/// device's kind. An op may run on a device if MayRunOn() its kind and, if the op has `devices`,
/// one of them matches the device's name; elsewhere it gets kMaxNanos.
/// @param where  prefix of error messages
/// @throws InputError naming op and device: a kind without peak or memory bandwidth where an op
///   needs the model; a kind of class network where it needs the roofline; a cost beyond kMaxNanos
///   / num_ops; an op allowed on no device of the cluster (with the kinds and devices that it
///   allows and those of the cluster); one of its `devices` that matches no device (with graph and
///   choices); a table that has no kind of the cluster (with its machine)
Costs ComputeCosts(const Graph& graph,
                   const Cluster& cluster,
                   const std::string& where = "costs",
                   const CostInputs& sources = {});

/// Returns the share of each cost source in the sum over ops of cost(v, device_of_op[v]).
/// @param device_of_op  [num_ops]
CostSourceShares ComputeCostSourceShares(const Costs& costs,
                                         std::span<const std::uint8_t> device_of_op);

}  // namespace emplace
