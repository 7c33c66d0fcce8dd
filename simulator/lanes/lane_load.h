#pragma once

// Converts placements, a row of devices each, to the layout of lane_pass.h: for every group the
// devices of all lanes side by side, and for every group and device the word of the lanes in which
// the group is there. Only the sources of the kernels include this file, below their target pragma.

#include <cstdint>
#include <cstring>
#include <span>

#include <immintrin.h>

namespace emplace {

/// Transposes kRows rows of 16 bytes to 16 columns of kRows bytes. Unpacking registers i and i +
/// kRows / 2 rotates the bits of a byte's address (row, column) by one.
template <int kRows>
inline void TransposeBytes(__m128i* rows) {
  __m128i next[kRows];
  for (int rest = kRows; rest > 1; rest /= 2) {
    for (int i = 0; i < kRows / 2; ++i) {
      next[2 * i] = _mm_unpacklo_epi8(rows[i], rows[i + kRows / 2]);
      next[2 * i + 1] = _mm_unpackhi_epi8(rows[i], rows[i + kRows / 2]);
    }
    for (int i = 0; i < kRows; ++i) rows[i] = next[i];
  }
}

/// Returns the word of the lanes on device `d` for one group of LaneKernel::load.
template <class Word>
inline Word LanesOnDevice(const std::uint8_t* devices, int d) {
  const __m128i wanted = _mm_set1_epi8(static_cast<char>(d));
  if constexpr (sizeof(Word) == 2) {  // 16 lanes, a bit each
    const __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(devices));
    return static_cast<Word>(_mm_movemask_epi8(_mm_cmpeq_epi8(row, wanted)));
  } else {  // 8 lanes, a byte each
    const __m128i row = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(devices));
    return static_cast<Word>(_mm_cvtsi128_si64(_mm_cmpeq_epi8(row, wanted)));
  }
}

/// LaneKernel::load.
template <int kLanes, class Word>
std::uint64_t LoadPlacements(std::span<const std::uint8_t* const> placements,
                             std::span<const std::uint64_t> allowed,
                             int num_devices,
                             std::uint8_t* devices,
                             void* on_device,
                             std::uint64_t& in_use) {
  const auto num_groups = static_cast<int>(allowed.size());
  constexpr int kPerChunk = sizeof(std::uint64_t) / sizeof(Word);
  const int row = (num_devices + kPerChunk - 1) / kPerChunk * kPerChunk;
  Word* words = static_cast<Word*>(on_device);
  Word wrong = 0;
  for (int first = 0; first < num_groups; first += 16) {
    const int count = num_groups - first < 16 ? num_groups - first : 16;
    __m128i rows[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::uint8_t* from = placements[lane] + first;
      if (count == 16) {
        rows[lane] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
      } else {
        std::uint8_t last[16] = {};
        std::memcpy(last, from, count);
        rows[lane] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(last));
      }
    }
    TransposeBytes<kLanes>(rows);
    std::uint8_t columns[16 * kLanes];
    std::memcpy(columns, rows, sizeof(columns));
    std::memcpy(devices + first * kLanes, columns, count * kLanes);
    for (int i = 0; i < count; ++i) {
      Word right = 0;
      for (int d = 0; d < num_devices; ++d) {
        const Word word = LanesOnDevice<Word>(columns + i * kLanes, d);
        words[(first + i) * row + d] = word;
        if (allowed[first + i] >> d & 1) right |= word;
      }
      wrong |= static_cast<Word>(~right);
    }
  }
  std::uint64_t any[64] = {};  // [row / kPerChunk] the union of all rows
  const auto* rows = static_cast<const std::uint64_t*>(on_device);
  const int chunks = row / kPerChunk;
  for (int c = 0; c < chunks; ++c) {
    std::uint64_t column = 0;
    for (int group = 0; group < num_groups; ++group) column |= rows[group * chunks + c];
    any[c] = column;
  }
  in_use = 0;
  for (int d = 0; d < num_devices; ++d) {
    const auto word =
        static_cast<Word>(any[d / kPerChunk] >> (d % kPerChunk * 8 * sizeof(Word) % 64));
    in_use |= std::uint64_t{word != 0} << d;
  }
  return wrong;
}

}  // namespace emplace
