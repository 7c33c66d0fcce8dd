#pragma once

// Reductions over any axes: sum, mean, half the sum of squares.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "profilers/cuda/kernels/strided.h"

namespace emplace::cuda {

/// Which kernel does a reduction.
enum class ReducePath : std::uint8_t {
  kRows,     ///< a group of threads per output; the inputs of an output lie side by side
  kColumns,  ///< a thread per output; the inputs of neighbouring outputs lie side by side
};

/// How the inputs of each output are divided among threads. With several splits, each part's result
/// is a partial one in scratch, [splits, outputs], and a second kernel adds them.
struct ReduceShape {
  ReducePath path = ReducePath::kRows;
  int group = 32;               ///< kRows: threads per output, 32 or 256
  std::uint32_t splits = 1;     ///< parts that the inputs of an output are cut into
  std::uint32_t per_split = 0;  ///< inputs of a part
};

/// @param num_reduced  inputs per output
/// @param kept_runs, reduced_runs  whether the input has stride 1 along the innermost of the
/// dimensions that are kept, and of those that are reduced
ReduceShape ChooseReduceShape(std::int64_t num_outputs,
                              std::int64_t num_reduced,
                              bool kept_runs,
                              bool reduced_runs);

/// What is computed, passed to the kernel by value; the pointers are set at launch.
struct ReduceJob {
  Function function = Function::kSum;
  ReduceShape shape;
  bool is_wide = false;  ///< with integers: computed in f64
  DType output_dtype = DType::kF32, input_dtype = DType::kF32;
  Strided<2> kept{};     ///< operand 0: output, 1: input
  Strided<1> reduced{};  ///< input
  void* output = nullptr;
  const void* input = nullptr;
  void* partial = nullptr;  ///< scratch

  std::int64_t scratch_bytes() const;  ///< for partial results [B]
};

/// @param output  of the input's rank, size 1 along reduced axes
/// @throws RunError if the views are beyond Strided's limits
ReduceJob PlanReduce(Function function, const TensorView& output, const TensorView& input);

void LaunchReduce(const ReduceJob& job, cudaStream_t stream);

}  // namespace emplace::cuda
