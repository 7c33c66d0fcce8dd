#pragma once

// Simulates batches of any size on a GPU: divides them into launches that fit into its memory, and
// copies the placements and outcomes of one launch while another one runs.
//
// Internal to the simulator; gpu_evaluator.cc checks placements and evaluates those that are left
// to the CPU.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "framework/search/evaluator.h"
#include "simulator/gpu/gpu_device.h"
#include "simulator/gpu/gpu_program.h"

namespace emplace {

/// The number of threads in a block, and the columns that are in shared memory.
struct GpuBlocks {
  int threads = 0;  ///< of a block
  bool state_in_shared = false;
  bool arrivals_in_shared = false;  ///< only if the state is
};

/// Returns the plan for a launch. Shared memory is fast, but the more a thread takes of it, the
/// fewer threads run at once to hide one another's latency. So a kind of column is in shared memory
/// only if enough warps still fit; otherwise it is in the GPU's memory and its caches.
GpuBlocks PlanGpuBlocks(const GpuLayout& layout, const GpuLimits& limits);

class GpuRunner {
 public:
  /// @param device  used by this runner only    @param tables  copied to it
  GpuRunner(std::unique_ptr<GpuDevice> device, const GpuTables& tables);

  /// Writes the requested columns; step_time is always requested, and is kLeftToCpu for placements
  /// that another engine has to evaluate. @throws RunError if the GPU fails
  void Run(const PlacementRows& placements, const OutcomeColumns& outcomes);
  /// @param neighbors  with moves of existing groups only
  void Run(const Neighbors& neighbors, const OutcomeColumns& outcomes);

 private:
  // A launch that runs in a stream, and the stream's memory.
  struct Stream {
    struct Memory {
      GpuMemory memory;
      std::int64_t bytes = 0;
    };
    Memory input_on_host, input, scratch, output_on_host, output;
    std::size_t first = 0, count = 0;  // of the placements; count 0: nothing runs
  };

  template <class Batch>
  void RunAll(const Batch& batch, const OutcomeColumns& outcomes);
  std::byte* Reserve(Stream::Memory& memory, std::int64_t bytes, bool on_host);
  void Finish(int stream, const OutcomeColumns& outcomes);

  const std::unique_ptr<GpuDevice> device_;
  const GpuLimits limits_;
  GpuMemory tables_;
  GpuProgram program_;
  std::array<Stream, GpuDevice::kStreams> streams_;
};

}  // namespace emplace
