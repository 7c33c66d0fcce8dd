#pragma once

// Reductions over any axes: sum, mean, half the sum of squares.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "profilers/cuda/kernels/strided.h"

namespace emplace::cuda {

/// The kernel of a reduction.
enum class ReducePath : std::uint8_t {
  kRows,     ///< a group of threads per output; the inputs of an output are contiguous
  kColumns,  ///< a thread per output; the inputs of neighbouring outputs are contiguous
};

/// The division of the inputs of each output among threads. With several splits, each split writes
/// a partial result to scratch, [splits, outputs], and a second kernel adds them.
struct ReduceShape {
  ReducePath path = ReducePath::kRows;
  int group = 32;               ///< kRows: threads per output, 32 or 256
  std::uint32_t splits = 1;     ///< number of parts into which the inputs of an output are divided
  std::uint32_t per_split = 0;  ///< inputs of a part
};

/// @param num_reduced              inputs per output
/// @param kept_runs, reduced_runs  whether the input has stride 1 along the innermost kept
///   dimension, and along the innermost reduced dimension
ReduceShape ChooseReduceShape(std::int64_t num_outputs,
                              std::int64_t num_reduced,
                              bool kept_runs,
                              bool reduced_runs);

/// A reduction, passed to the kernel by value. The pointers are set at launch.
struct ReduceJob {
  Function function = Function::kSum;
  ReduceShape shape;
  bool is_wide = false;  ///< integers are involved: computed in f64
  DType output_dtype = DType::kF32, input_dtype = DType::kF32;
  Strided<2> kept{};     ///< operand 0: output, 1: input
  Strided<1> reduced{};  ///< input
  void* output = nullptr;
  const void* input = nullptr;
  void* partial = nullptr;  ///< scratch

  std::int64_t scratch_bytes() const;  ///< for partial results [B]
};

/// @param output  of the input's rank, size 1 along reduced axes
/// @throws RunError if the views exceed Strided's limits
ReduceJob PlanReduce(Function function, const TensorView& output, const TensorView& input);

void LaunchReduce(const ReduceJob& job, cudaStream_t stream);

}  // namespace emplace::cuda
