#pragma once

// Checks that the machine stays the same while it is measured. Reads the clocks, if possible, and
// repeatedly times one fixed matrix product (256 x 256, the reference product).

#include <map>
#include <string>
#include <vector>

#include "framework/cost/cost_table.h"
#include "profilers/executor/backend.h"

namespace emplace {

/// Largest deviation of the reference product from its time at the start, over the devices.
struct Drift {
  double change = 0;  ///< signed share
  std::string text;  ///< "the reference product on cpu:1 takes 240.0 us, +20.0 % against the start"
};

/// Watches some devices of a backend.
class DriftWatch {
 public:
  static constexpr double kTolerance = 0.05;  ///< smaller changes do not count as drift

  /// @param backend  outlives this    @param devices  indices of the devices to watch
  DriftWatch(Backend& backend, std::vector<int> devices);

  /// Times the product on every device and reads the clocks. Later calls are compared with the
  /// first: each device or clock that deviates by more than kTolerance adds a warning.
  /// @param when  begins the warnings: "after the links"
  /// @throws RunError naming a device that cannot compute the product
  Drift Check(const std::string& when, std::vector<std::string>& warnings);
  /// Times the product only and adds no warnings. @throws likewise
  Drift Look(const std::string& when);
  /// Forgets the first check. Later checks are compared with the next one.
  void Restart();
  /// Compares later checks with the first check of an earlier profile, as far as Describe()
  /// recorded it.
  void Resume(const std::map<std::string, std::string>& properties);
  /// Adds to a cost table's properties the clock and temperature at the first and the last check,
  /// and the times of the product at the first.
  void Describe(std::map<std::string, std::string>& properties) const;

  /// Computes the product on a device. @return the reason if it failed, else empty
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
