#pragma once

// The functions of a GPU that simulating on it needs: memory, copies, launches. simulator/cuda
// implements them with CUDA; tests implement them on the CPU.
//
// Internal to the simulator. Plain C++: the GPU's compiler reads it too.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "simulator/gpu/gpu_pass.h"

namespace emplace {

/// The memory limits of a GPU.
struct GpuLimits {
  std::int64_t free_memory = 0;       ///< [B]
  std::int64_t shared_per_block = 0;  ///< largest shared memory of a block [B]
  std::int64_t shared_per_sm = 0;     ///< of a streaming multiprocessor [B]
};

/// Memory that is freed with its last owner.
using GpuMemory = std::shared_ptr<std::byte>;

/// Work is put into one of kStreams streams. Work in one stream runs in order, work in different
/// streams at the same time. Every function throws RunError if the GPU fails.
class GpuDevice {
 public:
  static constexpr int kStreams = 2;

  virtual ~GpuDevice() = default;
  virtual GpuLimits limits() = 0;
  /// Allocates memory of the GPU, aligned to 256 bytes. @throws RunError naming the bytes if so
  /// many are not free
  virtual GpuMemory Allocate(std::int64_t bytes) = 0;
  /// Allocates page-locked memory of the host, which is copied while the caller continues. @throws
  /// RunError likewise
  virtual GpuMemory AllocateOnHost(std::int64_t bytes) = 0;
  /// Copies between memory of Allocate() and memory of AllocateOnHost(), or parts of them. The call
  /// returns before the copy ends.
  virtual void CopyIn(int stream, std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
  virtual void CopyOut(int stream, std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
  /// Runs GpuPass for placements 0 .. launch.count - 1.
  virtual void Launch(int stream, const GpuLaunch& launch) = 0;
  /// Waits until all work in the stream is done.
  virtual void Wait(int stream) = 0;
};

}  // namespace emplace
