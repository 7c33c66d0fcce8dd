#pragma once

// What simulating on a GPU needs of the GPU: memory, copies, launches. simulator/cuda implements it
// with CUDA; tests implement it on the CPU.
//
// Internal to the simulator. Plain C++: the GPU's compiler reads it too.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "simulator/gpu/gpu_pass.h"

namespace emplace {

/// How much of what a GPU has.
struct GpuLimits {
  std::int64_t free_memory = 0;       ///< [B]
  std::int64_t shared_per_block = 0;  ///< the most that a block can ask for [B]
  std::int64_t shared_per_sm = 0;     ///< of a streaming multiprocessor [B]
};

/// Memory that is freed with its last owner.
using GpuMemory = std::shared_ptr<std::byte>;

/// Work goes to one of kStreams streams: in order within a stream, at the same time in different
/// ones. Every function throws RunError if the GPU fails.
class GpuDevice {
 public:
  static constexpr int kStreams = 2;

  virtual ~GpuDevice() = default;
  virtual GpuLimits limits() = 0;
  /// Of the GPU, aligned to 256 bytes. @throws RunError naming the bytes if there are not so many
  virtual GpuMemory Allocate(std::int64_t bytes) = 0;
  /// Of the host, page-locked: copies run while the caller goes on. @throws RunError likewise
  virtual GpuMemory AllocateOnHost(std::int64_t bytes) = 0;
  /// From Allocate() and AllocateOnHost(), or parts of it. The call returns before the copy ends.
  virtual void CopyIn(int stream, std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
  virtual void CopyOut(int stream, std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
  /// Runs GpuPass for placements 0 .. launch.count - 1.
  virtual void Launch(int stream, const GpuLaunch& launch) = 0;
  /// Until everything in the stream is done.
  virtual void Wait(int stream) = 0;
};

}  // namespace emplace
