#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace emplace {

/// Sorts the first `size` elements by key_of(element), an unsigned number. Elements whose keys
/// differ only in the bits below `low_bit` are in any order. Takes linear time for large sizes.
/// @param scratch  as long as `elements`, overwritten
template <class Element, class KeyOf>
void RadixSort(std::vector<Element>& elements,
               std::vector<Element>& scratch,
               size_t size,
               int low_bit,
               KeyOf key_of) {
  constexpr size_t kSmall = 64;
  if (size < kSmall) {
    std::sort(elements.begin(),
              elements.begin() + static_cast<std::ptrdiff_t>(size),
              [&](const Element& a, const Element& b) { return key_of(a) < key_of(b); });
    return;
  }
  std::uint64_t least = UINT64_MAX, most = 0;
  for (size_t i = 0; i < size; ++i) {
    least = std::min<std::uint64_t>(least, key_of(elements[i]));
    most = std::max<std::uint64_t>(most, key_of(elements[i]));
  }
  constexpr int kDigitBits = 8;
  constexpr std::uint64_t kMask = (1 << kDigitBits) - 1;
  least = least >> low_bit << low_bit;
  const int bits = std::bit_width(most - least);
  for (int shift = low_bit; shift < bits; shift += kDigitBits) {
    std::array<std::uint32_t, 1 << kDigitBits> begin{};
    for (size_t i = 0; i < size; ++i) ++begin[(key_of(elements[i]) - least) >> shift & kMask];
    std::uint32_t sum = 0;
    for (std::uint32_t& count : begin) sum += std::exchange(count, sum);
    for (size_t i = 0; i < size; ++i) {
      scratch[begin[(key_of(elements[i]) - least) >> shift & kMask]++] = elements[i];
    }
    elements.swap(scratch);
  }
}

}  // namespace emplace
