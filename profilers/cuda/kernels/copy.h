#pragma once

// Strided copies: transposes, slices, concatenations, packing. One launch may perform several.

#include <cstdint>
#include <span>

#include <cuda_runtime_api.h>

#include "profilers/cuda/kernels/strided.h"

namespace emplace::cuda {

/// The kernel of a copy.
enum class CopyPath : std::uint8_t {
  kFlat,   ///< both sides are one contiguous run of bytes
  kTiled,  ///< a transpose: 4-byte elements, contiguous along different dimensions of the two sides
  kGeneral,  ///< all other copies
};

/// One copy, passed to the kernel by value; the pointers are set at launch.
struct CopyJob {
  CopyPath path = CopyPath::kGeneral;
  std::uint8_t element_bytes = 4;  ///< 1, 4 or 8
  /// kTiled: the dimension along which the source is contiguous; the destination is contiguous
  /// along the last dimension.
  std::uint8_t source_dim = 0;
  Strided<2> dims{};  ///< operand 0: destination, 1: source
  void* destination = nullptr;
  const void* source = nullptr;
};

inline constexpr int kTile = 32;

/// @throws RunError if the views exceed Strided's limits
CopyJob PlanCopy(const TensorView& destination, const TensorView& source);

/// Returns the number of tiles of a kTiled job.
std::int64_t TilesOf(const CopyJob& job);

/// Enqueues all jobs: flat and general ones several to a launch, tiled ones alone.
void LaunchCopies(std::span<const CopyJob> jobs, cudaStream_t stream);

}  // namespace emplace::cuda
