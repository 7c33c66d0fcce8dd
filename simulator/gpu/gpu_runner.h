#pragma once

// Simulates batches of any size on a GPU: cuts them into launches that fit into its memory, and
// copies one launch's placements and outcomes while another one runs.
//
// Internal to the simulator; gpu_evaluator.h checks placements and does what is left.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "framework/search/evaluator.h"
#include "simulator/gpu/gpu_device.h"
#include "simulator/gpu/gpu_program.h"

namespace emplace {

/// How the threads of a launch are arranged, and which of their columns are in shared memory.
struct GpuBlocks {
  int threads = 0;  ///< of a block
  bool state_in_shared = false;
  bool arrivals_in_shared = false;  ///< only if the state is
};

/// Shared memory is fast, but what a thread takes of it limits how many threads run at once, and so
/// how well they hide each other's waiting. So each sort of columns is there only if it leaves room
/// for enough warps; else in the GPU's memory, whose caches hold what they can.
GpuBlocks PlanGpuBlocks(const GpuLayout& layout, const GpuLimits& limits);

class GpuRunner {
 public:
  /// @param device  used by nobody else    @param tables  copied to it
  GpuRunner(std::unique_ptr<GpuDevice> device, const GpuTables& tables);

  /// Writes the columns that are wanted; step_time always is, and holds kLeftToCpu for what another
  /// engine has to do. @throws RunError if the GPU fails
  void Run(const PlacementRows& placements, const OutcomeColumns& outcomes);
  /// @param neighbors  all groups of moves exist
  void Run(const Neighbors& neighbors, const OutcomeColumns& outcomes);

 private:
  // The placements of a call, in either form.
  class Batch;
  class RowBatch;
  class NeighborBatch;
  // A launch under way in a stream, and the stream's memory.
  struct Stream {
    struct Memory {
      GpuMemory memory;
      std::int64_t bytes = 0;
    };
    Memory input_on_host, input, scratch, output_on_host, output;
    std::size_t first = 0, count = 0;  // placements; 0: nothing is under way
  };

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
