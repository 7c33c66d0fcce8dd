#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "profilers/cuda/driver_api.h"
#include "profilers/cuda/handles.h"

namespace emplace::cuda {

/// Disjoint groups of SMs of one GPU (green contexts). Memory and the primary context stay common:
/// what is prepared in the primary context runs in any partition's stream.
class Partitions {
 public:
  /// @param sizes  SMs of each @throws InputError if the GPU cannot give them, with what it can;
  /// CudaError
  Partitions(int gpu, const std::string& gpu_name, std::span<const int> sizes);

  /// A stream whose kernels run on the SMs of that partition only. To be destroyed before this.
  Stream MakeStream(int partition) const;

 private:
  struct Destroyer {
    void operator()(CUgreenCtx_st* context) const noexcept;
  };
  std::vector<std::unique_ptr<CUgreenCtx_st, Destroyer>> contexts_;
};

}  // namespace emplace::cuda
