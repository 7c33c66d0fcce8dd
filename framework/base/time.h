#pragma once

#include <cstdint>

namespace emplace {

/// Simulated time and durations: integer nanoseconds. No timeline holds a floating-point number.
using Nanos = std::int64_t;

/// Above every legal time (2.3 years) [ns]. It stands for "never" and "not allowed"; sums of
/// several and sort keys with a few bits more still fit 64 bits.
inline constexpr Nanos kMaxNanos = std::int64_t{1} << 56;

}  // namespace emplace
