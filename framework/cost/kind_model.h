#pragma once

// Times of ops on a device kind without measurements: by the kernel fits of the kind
// (framework/cluster/kernel_fit.h) for ops of their element types and classes, and otherwise by a
// roofline with published parameters:
//
//   time(v, d) = overhead_d + max(F_v / (P_d * e_d[class v]), B_v / (W_d * e_d["memory"]))
//
// F FLOPs, B bytes accessed, P peak of the op's dtype, W memory bandwidth, e efficiency. Only the
// roofline adds the kind's overhead. Kinds of class network have neither model. The dtype is that
// of the op's largest floating-point tensor, or f32 without one. A kind without a peak for that
// dtype uses its f32 peak. An efficiency that the kind does not give comes from the class defaults
// (a table in kind_model.cc). A time has the source CostSource::kDefault if such a default
// determines it or the op class is unknown, and CostSource::kRoofline otherwise.

#include <array>
#include <optional>
#include <string>

#include "framework/cluster/cluster.h"
#include "framework/cluster/op_class.h"
#include "framework/cost/costs.h"
#include "framework/graph/graph.h"

namespace emplace {

/// The models of one device kind.
class KindModel {
 public:
  struct Found {
    double nanos = 0;  ///< [ns]
    CostSource source = CostSource::kDefault;
    std::optional<double> error = {};  ///< median relative error of a kernel fit
  };

  /// @param kind  outlives this object
  explicit KindModel(const DeviceKind& kind);

  /// Returns the time of an op.
  /// @param where  prefix of error messages
  /// @throws InputError naming op and kind: no peak for the op's dtype, no memory bandwidth, or a
  ///   kind of class network
  Found Find(const Graph& graph, const Op& op, OpClass op_class, const std::string& where) const;

 private:
  static constexpr int kNumClasses = static_cast<int>(OpClass::kUnknown) + 1;

  Found FindByRoofline(const Op& op, OpClass op_class, int dtype, const std::string& where) const;

  const DeviceKind& kind_;
  std::array<double, 5> peak_{};                  // [FLOP/s] by dtype; 0: not given
  std::array<double, kNumClasses> efficiency_{};  // including defaults
  std::array<bool, kNumClasses> is_told_{};
  double memory_rate_ = 0;  // [B/s] reached
  bool memory_is_told_ = false;
};

}  // namespace emplace
