#pragma once

// Partitions of a GPU as CUDA's green contexts. split_plan.h describes how unequal sizes are made.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "profilers/cuda/driver_api.h"
#include "profilers/cuda/handles.h"

namespace emplace::cuda {

/// Disjoint groups of streaming multiprocessors (SMs) of one GPU. They share memory and the GPU's
/// primary context: a kernel prepared in the primary context runs in the stream of any partition.
class Partitions {
 public:
  /// @param sizes  SMs of each partition
  /// @throws InputError if the GPU does not support these sizes, naming the supported ones
  /// @throws CudaError
  Partitions(int gpu, const std::string& gpu_name, std::span<const int> sizes);

  /// Makes a stream whose kernels run only on the SMs of that partition. It must be destroyed
  /// before this object.
  Stream MakeStream(int partition) const;

 private:
  struct Destroyer {
    void operator()(CUgreenCtx_st* context) const noexcept;
  };
  std::vector<std::unique_ptr<CUgreenCtx_st, Destroyer>> contexts_;
};

}  // namespace emplace::cuda
