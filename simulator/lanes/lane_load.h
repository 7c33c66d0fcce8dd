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

/// LaneKernel::load.
template <class I>
bool LoadPlacements(std::span<const std::uint8_t* const> placements,
                    std::span<const std::uint64_t> allowed,
                    int num_devices,
                    std::uint8_t* devices,
                    void* on_device,
                    std::uint64_t& in_use) {
  using Word = typename I::Word;
  constexpr int kLanes = I::kLanes, kPerChunk = sizeof(std::uint64_t) / sizeof(Word);
  const auto num_groups = static_cast<int>(allowed.size());
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - num_devices);
  const int row = (num_devices + kPerChunk - 1) / kPerChunk * kPerChunk;
  Word* words = static_cast<Word*>(on_device);
  Word wrong = 0;
  __m128i last_device = _mm_setzero_si128();
  typename I::FourWords any[16] = {};  // of all groups, by four devices
  for (int first = 0; first < num_groups; first += 16, words += 16 * row) {
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
    for (const __m128i& of_lane : rows) last_device = _mm_max_epu8(last_device, of_lane);
    TransposeBytes<kLanes>(rows);
    std::uint8_t columns[16 * kLanes];
    std::memcpy(columns, rows, sizeof(columns));
    std::memcpy(devices + first * kLanes, columns, count * kLanes);
    for (int d = 0; d < num_devices; d += 4) {
      typename I::FourWords any_here = any[d / 4];
      for (int i = 0; i < count; ++i) {
        const auto four = I::OnDevices(columns + i * kLanes, d);
        any_here |= four;
        std::memcpy(words + i * row + d, &four, sizeof(four));
      }
      any[d / 4] = any_here;
    }
    for (int i = 0; i < count; ++i) {
      for (auto not_here = all & ~allowed[first + i]; not_here != 0; not_here &= not_here - 1) {
        wrong |= words[i * row + __builtin_ctzll(not_here)];
      }
    }
  }
  in_use = 0;
  for (int d = 0; d < num_devices; ++d) {
    Word word;
    std::memcpy(&word, reinterpret_cast<const Word*>(any) + d, sizeof(word));
    in_use |= std::uint64_t{word != 0} << d;
  }
  std::uint8_t last[16];
  std::memcpy(last, &last_device, sizeof(last));
  for (const std::uint8_t device : last) wrong |= static_cast<Word>(device >= num_devices);
  return wrong == 0;
}

}  // namespace emplace
