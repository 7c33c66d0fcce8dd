#pragma once

#include <cstdint>

namespace emplace {

/// Simulated time and durations in integer nanoseconds, never in floating point.
using Nanos = std::int64_t;

/// Larger than every legal time (2.3 years) [ns]. Stands for "never" and "not allowed". A sum of
/// several, or a sort key with a few more bits, still fits 64 bits.
inline constexpr Nanos kMaxNanos = std::int64_t{1} << 56;

}  // namespace emplace
