#pragma once

#include <cstdint>

namespace emplace {

/// Returns a + b, or the largest integer if that overflows. For sums of bytes from files: Problem
/// refuses a problem with sums that large.
inline std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

}  // namespace emplace
