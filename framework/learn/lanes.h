#pragma once

// A vector register of floats for the sources that multiply matrices. Private to framework/learn.

#include <algorithm>
#include <type_traits>
#include <utility>

#include "framework/learn/matrix.h"

#ifdef __AVX__
#include <immintrin.h>
#endif

namespace emplace::internal {

#ifdef __AVX512F__
inline constexpr int kLanes = 16;
#else
inline constexpr int kLanes = 8;
#endif
/// A register of kLanes floats, as a vector extension of GCC and Clang: + and * act on each lane.
/// LanesAnywhere is the same type in memory at any address.
using Lanes [[gnu::vector_size(4 * kLanes)]] = float;
using LanesAnywhere [[gnu::vector_size(4 * kLanes), gnu::aligned(4), gnu::may_alias]] = float;

inline Lanes Load(const float* from) {
  return *reinterpret_cast<const LanesAnywhere*>(from);
}

inline void Store(Lanes lanes, float* to) {
  *reinterpret_cast<LanesAnywhere*>(to) = lanes;
}

// Versions for the first `count` lanes, 0 to kLanes. The other lanes are 0, and their memory is
// neither read nor written.
#if defined(__AVX512F__)
inline Lanes Load(const float* from, int count) {
  return Lanes(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1), from));
}
inline void Store(Lanes lanes, float* to, int count) {
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1U << count) - 1), __m512(lanes));
}
#elif defined(__AVX2__)
inline __m256i FirstLanes(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline Lanes Load(const float* from, int count) {
  return Lanes(_mm256_maskload_ps(from, FirstLanes(count)));
}
inline void Store(Lanes lanes, float* to, int count) {
  _mm256_maskstore_ps(to, FirstLanes(count), __m256(lanes));
}
#else
inline Lanes Load(const float* from, int count) {
  Lanes lanes = {};
  std::copy_n(from, count, reinterpret_cast<float*>(&lanes));
  return lanes;
}
inline void Store(Lanes lanes, float* to, int count) {
  std::copy_n(reinterpret_cast<const float*>(&lanes), count, to);
}
#endif

/// Calls f with `count`, which is 1 to kMost, as a constant.
template <int kMost, typename Function>
void WithConstant(int count, const Function& f) {
  [&]<int... kBefore>(std::integer_sequence<int, kBefore...>) {
    (void)((count == kBefore + 1 && (f(std::integral_constant<int, kBefore + 1>()), true)) || ...);
  }
  (std::make_integer_sequence<int, kMost>());
}

}  // namespace emplace::internal
