#pragma once

#include <cstdint>

namespace emplace {

/// a + b, or the largest integer where that would overflow. Sums of bytes from files use it; a
/// problem whose sums are that large is refused later (Problem).
inline std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

}  // namespace emplace
