#pragma once

// Quantities with units, parsed exactly. The decimal text is a rational number and is never
// converted to floating point, so "5.7us" is 5700 ns and "7.6GB/s" is 7600000000 B/s on every
// machine. SI prefixes are powers of 1000 (k, M, G, T, P), IEC prefixes of 1024 (Ki, Mi, Gi, Ti).

#include <cstdint>
#include <string>
#include <string_view>

#include "framework/base/time.h"

namespace emplace {

/// A transfer rate as an exact fraction of bytes per second.
struct Bandwidth {
  std::int64_t bytes = 0;        ///< numerator [B], > 0
  std::int64_t per_seconds = 1;  ///< denominator [s], > 0

  double BytesPerSecond() const { return static_cast<double>(bytes) / per_seconds; }
  bool operator==(const Bandwidth&) const = default;
};

// Each function below throws InputError with the expected form ("expected a time with a unit such
// as 25us, got \"25\": the unit is missing; units: ns, us, ms, s") for a missing or unknown unit, a
// negative or non-finite number, or a number out of range. The caller adds file and key.

/// Parses a time: "25us" -> 25000 [ns]. Units are ns, us (or µs), ms, s. Rounds to the nearest ns,
/// exact halves up. A bare 0 is allowed.
Nanos ParseTime(std::string_view text);
/// Parses a size: "11GiB" -> 11 * 2^30 [B]. Units are B, kB, MB, ... KiB, MiB ... Refuses a
/// fraction of a byte. A bare 0 is allowed.
std::int64_t ParseBytes(std::string_view text);
/// Parses a positive rate: "7.6GB/s", "7600B/us", "100Gb/s" (bits; also Gbit/s, Gbps), "2B/3s".
/// @return a fraction in lowest terms
Bandwidth ParseBandwidth(std::string_view text);
/// Returns "7600000000B/s" or "2B/3s", which ParseBandwidth() reads back equal.
std::string FormatBandwidth(const Bandwidth& bandwidth);
/// Parses a positive rate: "2.8TFLOP/s" (also TFLOPS) -> 2.8e12 [FLOP/s].
double ParseFlopRate(std::string_view text);

}  // namespace emplace
