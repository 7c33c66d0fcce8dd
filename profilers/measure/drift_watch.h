#pragma once

// Whether the machine stayed the same while it was measured: clocks where they can be read, and one
// fixed matrix product that is timed again and again.

#include <map>
#include <string>
#include <vector>

#include "framework/cost/cost_table.h"
#include "profilers/executor/backend.h"

namespace emplace {

class DriftWatch {
 public:
  static constexpr double kTolerance = 0.05;

  /// @param devices  to watch, indices @param backend  outlives this
  DriftWatch(Backend& backend, std::vector<int> devices);

  /// Times the product on every device and reads the clocks. The first call is what later ones are
  /// compared with; each of those adds a warning per device or clock that is more than kTolerance
  /// away.
  /// @param when  "after the links"
  /// @throws RunError naming a device that cannot do the product
  void Check(const std::string& when, std::vector<std::string>& warnings);
  /// Clock and temperature at the first and the last check.
  void Describe(std::map<std::string, std::string>& properties) const;

  /// Whether a device still computes: why not, or empty.
  std::string WhyBroken(int device);

 private:
  double TimeProduct(int device);  // [ns]
  double TimeOrThrow(const std::string& when, int device);

  Backend& backend_;
  std::vector<int> devices_;
  std::map<int, double> first_time_;  // by device [ns]
  std::vector<ClockReading> first_clocks_, last_clocks_;
};

}  // namespace emplace
