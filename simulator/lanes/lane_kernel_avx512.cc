// The AVX-512 kernel: 16 placements a pass. Only the code below the pragma is compiled for AVX-512,
// so headers of other libraries stay above it.

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <immintrin.h>

#include "simulator/lanes/lane_kernel.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")

#include "simulator/lanes/lane_load.h"
#include "simulator/lanes/lane_memory_plan.h"
#include "simulator/lanes/lane_pass.h"

namespace emplace {

// Sixteen lanes of 32 bits. Every operation works lane by lane on unsigned numbers.
struct Avx512Lanes {
  static constexpr int kLanes = 16;
  static constexpr int kTable = 16;  ///< entries that a fast Lookup() reaches
  using V = __m512i;                 ///< a number per lane
  using M = __mmask16;               ///< yes or no per lane
  using Word = std::uint16_t;        ///< the same in memory: a bit per lane

  static V Zero() { return _mm512_setzero_si512(); }
  static V Set(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static V Load(const void* from) { return _mm512_loadu_si512(from); }
  static void Store(void* to, V x) { _mm512_storeu_si512(to, x); }
  static V FromBytes(const std::uint8_t* bytes) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
  }
  static V Add(V x, V y) { return _mm512_add_epi32(x, y); }
  static V Max(V x, V y) { return _mm512_max_epu32(x, y); }
  static V Min(V x, V y) { return _mm512_min_epu32(x, y); }
  /// Returns table[index[lane]] per lane, an arbitrary number where the index is not below
  /// kEntries. Reads kEntries rounded up to a multiple of 16.
  template <int kEntries>
  static V Lookup(const std::uint32_t* table, V index) {
    static_assert(kEntries <= 2 * kTable);
    if constexpr (kEntries <= kTable) return _mm512_permutexvar_epi32(index, Load(table));
    return _mm512_permutex2var_epi32(Load(table), index, Load(table + kTable));
  }

  using FourWords = std::uint64_t;
  /// Returns the words of devices d .. d + 3.
  static FourWords OnDevices(const std::uint8_t* devices, int d) {
    const __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(devices));
    constexpr std::int64_t kOnes = 0x0101010101010101;
    const V four = _mm512_add_epi8(
        _mm512_set1_epi8(static_cast<char>(d)),
        _mm512_set_epi64(3 * kOnes, 3 * kOnes, 2 * kOnes, 2 * kOnes, kOnes, kOnes, 0, 0));
    return _mm512_cmpeq_epi8_mask(_mm512_broadcast_i32x4(row), four);
  }
  static M ToMask(Word word) { return word; }
  static M And(M x, M y) { return static_cast<M>(x & y); }
  static bool Any(M m) { return m != 0; }
  static M Equal(V x, V y) { return _mm512_cmpeq_epu32_mask(x, y); }
  static M NotEqual(V x, V y) { return _mm512_cmpneq_epu32_mask(x, y); }
  static M AtMost(V x, V y) { return _mm512_cmple_epu32_mask(x, y); }
  static V Select(M m, V yes, V no) { return _mm512_mask_blend_epi32(m, no, yes); }
  static V MaxIf(V x, M m, V y) { return _mm512_mask_max_epu32(x, m, x, y); }
  static V AddIf(V x, M m, V y) { return _mm512_mask_add_epi32(x, m, x, y); }
  static V SubIf(V x, M m, V y) { return _mm512_mask_sub_epi32(x, m, x, y); }

  /// The lanes as 64-bit numbers below 2^63, in two vectors.
  struct Wide {
    V low, high;
  };
  static Wide SetWide(std::uint64_t x) {
    const V v = _mm512_set1_epi64(static_cast<long long>(x));
    return {v, v};
  }
  static Wide Add(Wide x, Wide y) {
    return {_mm512_add_epi64(x.low, y.low), _mm512_add_epi64(x.high, y.high)};
  }
  static __mmask8 Low(M m) { return static_cast<__mmask8>(m); }
  static __mmask8 High(M m) { return static_cast<__mmask8>(m >> 8); }
  static Wide MaxIf(Wide x, M m, Wide y) {
    return {_mm512_mask_max_epu64(x.low, Low(m), x.low, y.low),
            _mm512_mask_max_epu64(x.high, High(m), x.high, y.high)};
  }
  static Wide AddIf(Wide x, M m, Wide y) {
    return {_mm512_mask_add_epi64(x.low, Low(m), x.low, y.low),
            _mm512_mask_add_epi64(x.high, High(m), x.high, y.high)};
  }
  static Wide SubIf(Wide x, M m, Wide y) {
    return {_mm512_mask_sub_epi64(x.low, Low(m), x.low, y.low),
            _mm512_mask_sub_epi64(x.high, High(m), x.high, y.high)};
  }
};

const LaneKernel kAvx512Kernel{
    .name = "AVX-512",
    .lanes = Avx512Lanes::kLanes,
    .word_bytes = sizeof(Avx512Lanes::Word),
    .load = &LoadPlacements<Avx512Lanes>,
    .add_residents = &AddLaneResidents<Avx512Lanes>,
    .find_last_uses = &FindLaneLastUses<Avx512Lanes>,
    .pass = &RunLanePass<Avx512Lanes>,
};

}  // namespace emplace
