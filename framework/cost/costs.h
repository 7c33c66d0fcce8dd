#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/time.h"
#include "framework/cluster/interference.h"

namespace emplace {

/// The source of a cost, best first (FORMAT.md, "How the cost of an op is found").
enum class CostSource : std::uint8_t {
  kMeasured,   ///< `cost_ns` of the graph file, or the exact signature of a cost table
  kNeighbour,  ///< same kind, neighbouring shapes, fitted
  kRoofline,   ///< same op class, fitted; or a roofline with published efficiencies
  kDefault,    ///< op class without known efficiency: default efficiency, flagged
  kFree,       ///< storage and views: no work by definition
};
inline constexpr int kNumCostSources = 5;
std::string_view ToString(CostSource source);

/// The cost of every op on every device. Entries of forbidden pairs are kMaxNanos.
struct Costs {
  int num_ops = 0, num_devices = 0;
  std::vector<Nanos> time;         ///< [num_ops, num_devices] [ns], >= 0
  std::vector<CostSource> source;  ///< [num_ops, num_devices]
  std::vector<float> uncertainty;  ///< [num_ops, num_devices] relative standard error, 0.5 = 50 %
  /// [num_ops, num_devices]; empty if no device has neighbours
  std::vector<Interference> interference;

  Nanos at(int op, int device) const { return time[size_t(op) * num_devices + device]; }
  CostSource source_at(int op, int device) const {
    return source[size_t(op) * num_devices + device];
  }
  Interference interference_at(int op, int device) const {
    return interference.empty() ? Interference{} : interference[size_t(op) * num_devices + device];
  }
  /// Returns whether the op may run on the device.
  bool allowed(int op, int device) const { return at(op, device) < kMaxNanos; }
};

/// Returns for each device the first one on which every op has the same cost and the same
/// interference; this may be the device itself. [num_devices]
std::vector<int> DevicesOfEqualCosts(const Costs& costs);

/// Shares of the cost sources in the time of a placement. Their sum is 1, or 0 without work.
using CostSourceShares = std::array<double, kNumCostSources>;

}  // namespace emplace
