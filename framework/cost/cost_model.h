#pragma once

// Costs without measurements: a roofline per op class.
//
//   cost(v, d) = overhead_d + max(F_v / (P_d * e_d[class v]), B_v / (W_d * e_d["memory"]))
//
// F FLOPs, B bytes accessed, P peak of the op's dtype, W memory bandwidth, e efficiency. A
// `cost_ns` for the device's kind beats the model and is taken as it is (no overhead added).
// Storage ops and views (reshape, identity: op class "view") are free. The dtype is that of the
// op's largest floating tensor, f32 without one; a kind without a peak for it uses its f32 peak.
// Times are rounded to the nearest ns. An efficiency that the kind does not tell comes from the
// class defaults (one table in cost_model.cc); a cost is flagged Rung::kDefault when such a default
// decides it, or when the op class is unknown, and Rung::kRoofline otherwise.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/cluster/cluster.h"
#include "framework/cost/costs.h"
#include "framework/graph/graph.h"

namespace emplace {

/// Classes ops fall into, by kind; the keys of `efficiency:`.
enum class OpClass : std::uint8_t {
  kMatmul,
  kConvolution,
  kElementwise,
  kReduction,
  kNormalization,
  kPooling,
  kGather,
  kCopy,
  kUpdate,
  kView,
  kUnknown
};
std::string_view ToString(OpClass op_class);
/// All class names, the order of the enum, without "view".
std::vector<std::string> OpClassNames();
/// TensorFlow and ATen op names -> class; kUnknown for a name never heard of.
OpClass ClassifyOp(std::string_view kind);

struct CostTable;

/// Where costs may come from besides the graph file and the model.
struct CostSources {
  const CostTable* table = nullptr;  ///< measured ops; nullptr: none
  bool prefer_in_situ = true;        ///< false: isolated timings, for the ablation
};

/// The whole table. Ops that may not run on a device (device_kinds) get kMaxNanos there.
/// @throws InputError naming op and device: a kind without peak or memory bandwidth while the op
/// has no
///   `cost_ns` for it; a cost beyond kMaxNanos / num_ops; an op allowed on no device of the cluster
///   (with what it allows and what the cluster has)
Costs ComputeCosts(const Graph& graph,
                   const Cluster& cluster,
                   const std::string& where = "costs",
                   const CostSources& sources = {});

/// Which share of sum over ops of cost(v, device_of_op[v]) came from which rung.
/// @param device_of_op  [num_ops]
RungShares ComputeRungShares(const Costs& costs, std::span<const std::uint8_t> device_of_op);

}  // namespace emplace
