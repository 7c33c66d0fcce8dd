#pragma once

// Whether the machine stayed the same while it was measured. Looks at the clocks, where they can be
// read, and times one fixed matrix product (256 x 256, the reference product) again and again.

#include <map>
#include <string>
#include <vector>

#include "framework/cost/cost_table.h"
#include "profilers/executor/backend.h"

namespace emplace {

/// How far the reference product is off its value at the start, on the device where that is most.
struct Drift {
  double change = 0;  ///< signed share
  std::string text;  ///< "the reference product on cpu:1 takes 240.0 us, +20.0 % against the start"
};

/// Watches some devices of a backend.
class DriftWatch {
 public:
  static constexpr double kTolerance = 0.05;  ///< changes up to this share are no drift

  /// @param backend  outlives this    @param devices  indices of those to watch
  DriftWatch(Backend& backend, std::vector<int> devices);

  /// Times the product on every device and reads the clocks. Later calls are compared with the
  /// first: each device or clock that is more than kTolerance away adds a warning.
  /// @param when  begins the warnings: "after the links"
  /// @throws RunError naming a device that cannot do the product
  Drift Check(const std::string& when, std::vector<std::string>& warnings);
  /// Times the product only, and warns of nothing. @throws likewise
  Drift Look(const std::string& when);
  /// Forgets the first check. Later ones are compared with the next one.
  void Restart();
  /// Compares with the first check of an earlier profile, as far as Describe() has written it.
  void Resume(const std::map<std::string, std::string>& properties);
  /// Adds clock and temperature at the first and the last check, and the times of the product at
  /// the first, to a cost table's properties.
  void Describe(std::map<std::string, std::string>& properties) const;

  /// Does the product on a device. @return why it failed; empty if it did not
  std::string WhyBroken(int device);

 private:
  double TimeProduct(int device);  // [ns]
  double TimeOrThrow(const std::string& when, int device);
  Drift DriftOf(int device, double time) const;
  std::string PropertyOf(int device) const;

  Backend& backend_;
  std::vector<int> devices_;
  std::map<int, double> first_time_;  // by device [ns]
  std::vector<ClockReading> first_clocks_, last_clocks_;
};

}  // namespace emplace
