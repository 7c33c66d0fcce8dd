#pragma once

// Parts of a pass (lane_pass.h) beside registers of times: numbers of bytes, and rows of words. For
// any instruction set; only the sources of the kernels include this file, below their target
// pragma.

#include <cstdint>

#include "simulator/lanes/lane_kernel.h"

namespace emplace {

/// The number type for bytes: none, 32 bits, or 64 bits.
template <class I>
struct NoBytes {
  static constexpr bool kCounts = false;
  struct B {};
};
template <class I>
struct Bytes32 {
  static constexpr bool kCounts = true;
  using Number = std::uint32_t;
  using B = typename I::V;
  static B Set(std::int64_t x) { return I::Set(static_cast<std::uint32_t>(x)); }
  static B Load(const Number* at) { return I::Load(at); }
  static void Store(Number* at, B x) { I::Store(at, x); }
};
template <class I>
struct Bytes64 {
  static constexpr bool kCounts = true;
  using Number = std::uint64_t;
  using B = typename I::Wide;
  static B Set(std::int64_t x) { return I::SetWide(static_cast<std::uint64_t>(x)); }
  static B Load(const Number* at) { return {I::Load(at), I::Load(at + I::kLanes / 2)}; }
  static void Store(Number* at, B x) {
    I::Store(at, x.low);
    I::Store(at + I::kLanes / 2, x.high);
  }
};

/// Rows of words, packed into chunks of 64 bits: per device the lanes in which a condition holds.
/// @tparam kDevices  the number of devices, or 0: any
template <class Word, int kDevices>
struct WordRows {
  static constexpr int kPerChunk = sizeof(std::uint64_t) / sizeof(Word);
  static constexpr int Chunks(int num_devices) { return (num_devices + kPerChunk - 1) / kPerChunk; }
  static constexpr int kMostChunks = Chunks(kDevices > 0 ? kDevices : kMaxDevices);
  static constexpr int kBits = 8 * sizeof(Word);

  WordRows(int num_devices, const void* rows)
      : num_chunks(Chunks(num_devices)), on_device(static_cast<const std::uint64_t*>(rows)) {}

  int NumChunks() const { return kDevices > 0 ? kMostChunks : num_chunks; }
  const std::uint64_t* OnDevice(int group) const { return on_device + group * NumChunks(); }
  static Word WordOf(const std::uint64_t* row, int d) {
    return static_cast<Word>(row[d / kPerChunk] >> (d % kPerChunk * kBits % 64));
  }
  /// Returns the lanes in which two rows have their bits set for the same device.
  Word Both(const std::uint64_t* x, const std::uint64_t* y) const {
    std::uint64_t both = 0;
    for (int c = 0; c < NumChunks(); ++c) both |= x[c] & y[c];
    for (int bits = 32; bits >= kBits; bits /= 2) both |= both >> bits;
    return static_cast<Word>(both);
  }

  const int num_chunks;
  const std::uint64_t* const on_device;
};

}  // namespace emplace
