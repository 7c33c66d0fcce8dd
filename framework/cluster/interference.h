#pragma once

// How ops and transfers on devices that share caches or memory bandwidth slow one another down:
// simulator/README.md, "Interference semantics".

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace emplace {

/// The figures of an op on a device, or of the transfers that a device makes. Beside b on a
/// neighbouring device, a takes 1 + sensitivity(a) * pressure(b) times as long. Integers in 1/1024.
struct Interference {
  int sensitivity = 0;  ///< how much it suffers from its neighbours
  int pressure = 0;     ///< how much its neighbours suffer from it
  bool operator==(const Interference&) const = default;
};
/// A figure of 1, and the largest.
inline constexpr int kInterferenceOne = 1024, kMostInterference = 16 * kInterferenceOne;

/// By how much longer `victim` takes beside `aggressor`, in 1/1024.
inline std::int64_t InterferenceExcess(const Interference& victim, const Interference& aggressor) {
  return std::int64_t{victim.sensitivity} * aggressor.pressure / kInterferenceOne;
}
/// Work, in 1/1024 ns, that is done in a nanosecond beside others: 1024 alone, never less than 16.
/// @param excess  sum of InterferenceExcess() over all that runs beside
inline std::int64_t InterferenceRate(std::int64_t excess) {
  return std::max<std::int64_t>(
      16, std::int64_t{kInterferenceOne} * kInterferenceOne / (kInterferenceOne + excess));
}

/// A figure from the number that files have: times 1024, to the nearest integer, halves up; nullopt
/// for a number outside of [0, 16].
std::optional<int> ParseInterference(double number);

/// Its number for files: exact, ParseInterference() gives the figure back.
double InterferenceNumber(int figure);

/// The figure next to a number that was measured or fitted: 0 for a negative one and for none
/// (NaN), the largest for what is above.
int NearestInterference(double number);

/// The keys that `interference:` of a device kind may have: OpClassNames() and kTransferClass.
const std::vector<std::string>& InterferenceKeys();
/// The class of transfers that occupy a device.
inline constexpr const char* kTransferClass = "transfer";

}  // namespace emplace
