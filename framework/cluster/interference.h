#pragma once

// Interference: ops and transfers on devices that share caches or memory bandwidth slow each other
// down (simulator/README.md, "Interference semantics").

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace emplace {

/// Interference of an op on a device, or of the transfers of a device. While b runs on a
/// neighbouring device, a takes 1 + sensitivity(a) * pressure(b) times as long. Integers in 1/1024.
struct Interference {
  int sensitivity = 0;  ///< effect of its neighbours on it
  int pressure = 0;     ///< its effect on its neighbours
  bool operator==(const Interference&) const = default;
};
/// The value 1, and the largest value.
inline constexpr int kInterferenceOne = 1024, kMostInterference = 16 * kInterferenceOne;

/// Returns the relative extra time of `victim` while `aggressor` runs, in 1/1024.
inline std::int64_t InterferenceExcess(const Interference& victim, const Interference& aggressor) {
  return std::int64_t{victim.sensitivity} * aggressor.pressure / kInterferenceOne;
}
/// Returns the work done in a nanosecond, in 1/1024 ns: 1024 without interference, at least 16.
/// @param excess  sum of InterferenceExcess() over all concurrent activities on neighbours
inline std::int64_t InterferenceRate(std::int64_t excess) {
  return std::max<std::int64_t>(
      16, std::int64_t{kInterferenceOne} * kInterferenceOne / (kInterferenceOne + excess));
}

/// Converts a number of a file: times 1024, rounded to the nearest integer, exact halves up.
/// Returns nullopt for a number outside of [0, 16].
std::optional<int> ParseInterference(double number);

/// Returns the number for files. It is exact: ParseInterference() returns `figure` again.
double InterferenceNumber(int figure);

/// Converts a measured or fitted number to the nearest allowed value. Returns 0 for negative
/// numbers and NaN, and the largest value for numbers above it.
int NearestInterference(double number);

/// Returns the allowed keys of `interference:` of a device kind: OpClassNames() and kTransferClass.
const std::vector<std::string>& InterferenceKeys();
/// The class of transfers that occupy a device.
inline constexpr const char* kTransferClass = "transfer";

}  // namespace emplace
