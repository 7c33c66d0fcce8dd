#pragma once

// y = f(a, b) over strided views of any dtype; sums of many inputs; selection.

#include <cstdint>
#include <span>

#include <cuda_runtime_api.h>

#include "profilers/cuda/kernels/strided.h"

namespace emplace::cuda {

inline constexpr int kMaxElementwiseInputs = 8;

/// Which kernel does a job.
enum class ElementwisePath : std::uint8_t {
  kFlat,   ///< all operands f32 and one run of memory each: in vectors of four
  kFloat,  ///< all operands f32 with any strides
  kMixed,  ///< f32 and bool, computed in f32
  kWide,   ///< some operand is an integer: computed in f64
};

/// What is computed, passed to the kernel by value; the pointers are set at launch.
struct ElementwiseJob {
  ElementwisePath path = ElementwisePath::kFloat;
  bool is_select = false;  ///< in: condition, (a,) b; else `function`
  Function function = Function::kNone;
  double alpha = 0;    ///< stands for a missing operand; the threshold of kReluGrad
  int num_inputs = 0;  ///< kAdd: up to 8
  int per_thread = 1;  ///< elements of the innermost dimension, which it divides
  DType output_dtype = DType::kF32;
  DType input_dtypes[kMaxElementwiseInputs] = {};
  Strided<1 + kMaxElementwiseInputs> dims{};  ///< operand 0: output, then the inputs
  void* output = nullptr;
  const void* inputs[kMaxElementwiseInputs] = {};
};

/// @param alpha  stands for a missing operand
/// @param inputs  at most 8 of the output's shape; a broadcast dimension has stride 0
/// @throws RunError if views are beyond Strided's limits
ElementwiseJob PlanElementwise(Function function,
                               double alpha,
                               const TensorView& output,
                               std::span<const TensorView> inputs);
/// output = condition ? a : b of three inputs, condition ? alpha : b of two.
ElementwiseJob PlanSelect(double alpha,
                          const TensorView& output,
                          std::span<const TensorView> inputs);

void LaunchElementwise(const ElementwiseJob& job, cudaStream_t stream);

}  // namespace emplace::cuda
