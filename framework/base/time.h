#pragma once

#include <cstdint>

namespace emplace {

/// Simulated time and durations: integer nanoseconds. No timeline holds a floating-point number.
using Nanos = std::int64_t;

/// Larger than every legal time (2.3 years); leaves room for sums and for keys with a few bits
/// more. [ns]
inline constexpr Nanos kMaxNanos = std::int64_t{1} << 56;

}  // namespace emplace
