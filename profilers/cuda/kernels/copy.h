#pragma once

// Strided copies: transposes, slices, concatenations, packing. Several in one launch.

#include <cstdint>
#include <span>

#include <cuda_runtime_api.h>

#include "profilers/cuda/kernels/strided.h"

namespace emplace::cuda {

/// Which kernel does a copy.
enum class CopyPath : std::uint8_t {
  kFlat,     ///< both sides are one run of bytes
  kTiled,    ///< 4-byte elements side by side along different dimensions on each side: a transpose
  kGeneral,  ///< anything else
};

/// One copy, passed to the kernel by value; the pointers are set at launch.
struct CopyJob {
  CopyPath path = CopyPath::kGeneral;
  std::uint8_t element_bytes = 4;  ///< 1, 4 or 8
  /// kTiled: the dimension along which the source's elements are side by side; the destination's
  /// are so along the last.
  std::uint8_t source_dim = 0;
  Strided<2> dims{};  ///< operand 0: destination, 1: source
  void* destination = nullptr;
  const void* source = nullptr;
};

inline constexpr int kTile = 32;

/// @throws RunError if the views are beyond Strided's limits
CopyJob PlanCopy(const TensorView& destination, const TensorView& source);

/// Number of tiles of a kTiled job.
std::int64_t TilesOf(const CopyJob& job);

/// Enqueues all jobs: flat and general ones several to a launch, tiled ones alone.
void LaunchCopies(std::span<const CopyJob> jobs, cudaStream_t stream);

}  // namespace emplace::cuda
