// The AVX2 kernel: 8 placements a pass. Only the code below the pragma is compiled for AVX2, so
// headers of other libraries stay above it.

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <immintrin.h>

#include "simulator/lanes/lane_kernel.h"

#pragma GCC target("avx2")

#include "simulator/lanes/lane_load.h"
#include "simulator/lanes/lane_memory_plan.h"
#include "simulator/lanes/lane_pass.h"

namespace emplace {

// Eight lanes of 32 bits. Every operation works lane by lane on unsigned numbers.
struct Avx2Lanes {
  static constexpr int kLanes = 8;
  static constexpr int kTable = 8;  ///< entries that a fast Lookup() reaches
  using V = __m256i;                ///< a number per lane
  using M = __m256i;                ///< yes or no per lane: all bits or none
  using Word = std::uint8_t;        ///< the same in memory: a bit per lane

  static V Zero() { return _mm256_setzero_si256(); }
  static V Set(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static V Load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  static void Store(void* to, V x) { _mm256_storeu_si256(static_cast<__m256i*>(to), x); }
  static V FromBytes(const std::uint8_t* bytes) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
  }
  static V Add(V x, V y) { return _mm256_add_epi32(x, y); }
  static V Max(V x, V y) { return _mm256_max_epu32(x, y); }
  static V Min(V x, V y) { return _mm256_min_epu32(x, y); }
  /// Returns table[index[lane]] per lane, an arbitrary number where the index is not below
  /// kEntries. Reads kEntries rounded up to a multiple of 8.
  template <int kEntries>
  static V Lookup(const std::uint32_t* table, V index) {
    V entry = _mm256_permutevar8x32_epi32(Load(table), index);
    for (int i = kTable; i < kEntries; i += kTable) {  // faster than a gather
      const V higher = _mm256_permutevar8x32_epi32(Load(table + i), index);
      entry = Select(_mm256_cmpgt_epi32(index, Set(i - 1)), higher, entry);
    }
    return entry;
  }

  using FourWords = std::uint32_t;
  /// Returns the words of devices d .. d + 3.
  static FourWords OnDevices(const std::uint8_t* devices, int d) {
    std::int64_t row;
    std::memcpy(&row, devices, sizeof(row));
    constexpr std::int64_t kOnes = 0x0101010101010101;
    const V four = _mm256_add_epi8(_mm256_set1_epi8(static_cast<char>(d)),
                                   _mm256_set_epi64x(3 * kOnes, 2 * kOnes, kOnes, 0));
    const V here = _mm256_cmpeq_epi8(_mm256_set1_epi64x(row), four);
    return static_cast<FourWords>(_mm256_movemask_epi8(here));
  }
  static M ToMask(Word word) {
    const V lanes = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
    return Equal(And(Set(word), lanes), lanes);
  }
  static M And(M x, M y) { return _mm256_and_si256(x, y); }
  static bool Any(M m) { return _mm256_testz_si256(m, m) == 0; }
  static M Equal(V x, V y) { return _mm256_cmpeq_epi32(x, y); }
  static M NotEqual(V x, V y) { return _mm256_xor_si256(Equal(x, y), _mm256_set1_epi32(-1)); }
  static M AtMost(V x, V y) { return Equal(_mm256_min_epu32(x, y), x); }
  static V Select(M m, V yes, V no) { return _mm256_blendv_epi8(no, yes, m); }
  static V MaxIf(V x, M m, V y) { return Max(x, And(m, y)); }
  static V AddIf(V x, M m, V y) { return Add(x, And(m, y)); }
  static V SubIf(V x, M m, V y) { return _mm256_sub_epi32(x, And(m, y)); }

  /// The lanes as 64-bit numbers below 2^63, in two vectors.
  struct Wide {
    V low, high;
  };
  static Wide SetWide(std::uint64_t x) {
    const V v = _mm256_set1_epi64x(static_cast<long long>(x));
    return {v, v};
  }
  static Wide Add(Wide x, Wide y) {
    return {_mm256_add_epi64(x.low, y.low), _mm256_add_epi64(x.high, y.high)};
  }
  static Wide If(M m, Wide x) {
    return {And(x.low, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(m))),
            And(x.high, _mm256_cvtepi32_epi64(_mm256_extracti128_si256(m, 1)))};
  }
  static V MaxWideHalf(V x, V y) { return _mm256_blendv_epi8(x, y, _mm256_cmpgt_epi64(y, x)); }
  static Wide MaxIf(Wide x, M m, Wide y) {
    const Wide z = If(m, y);
    return {MaxWideHalf(x.low, z.low), MaxWideHalf(x.high, z.high)};
  }
  static Wide AddIf(Wide x, M m, Wide y) { return Add(x, If(m, y)); }
  static Wide SubIf(Wide x, M m, Wide y) {
    const Wide z = If(m, y);
    return {_mm256_sub_epi64(x.low, z.low), _mm256_sub_epi64(x.high, z.high)};
  }
};

const LaneKernel kAvx2Kernel{
    .name = "AVX2",
    .lanes = Avx2Lanes::kLanes,
    .word_bytes = sizeof(Avx2Lanes::Word),
    .load = &LoadPlacements<Avx2Lanes>,
    .add_residents = &AddLaneResidents<Avx2Lanes>,
    .find_last_uses = &FindLaneLastUses<Avx2Lanes>,
    .pass = &RunLanePass<Avx2Lanes>,
};

}  // namespace emplace
