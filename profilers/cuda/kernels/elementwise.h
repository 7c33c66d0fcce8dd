#pragma once

// y = f(a, b) over strided views of any dtype; sums of many inputs; selection.

#include <cstdint>
#include <span>

#include <cuda_runtime_api.h>

#include "profilers/cuda/kernels/strided.h"

namespace emplace::cuda {

inline constexpr int kMaxElementwiseInputs = 8;

/// The kernel of a job.
enum class ElementwisePath : std::uint8_t {
  kFlat,   ///< all operands are f32 and contiguous: vectors of four elements
  kFloat,  ///< all operands f32 with any strides
  kMixed,  ///< f32 and bool, computed in f32
  kWide,   ///< some operand is an integer: computed in f64
};

/// A computation, passed to the kernel by value. The pointers are set at launch.
struct ElementwiseJob {
  ElementwisePath path = ElementwisePath::kFloat;
  bool is_select = false;  ///< inputs: condition, (a,) b; false: `function`
  Function function = Function::kNone;
  double alpha = 0;    ///< replaces a missing operand; the threshold of kReluGrad
  int num_inputs = 0;  ///< kAdd: up to 8
  int per_thread = 1;  ///< elements per thread; a divisor of the innermost size
  DType output_dtype = DType::kF32;
  DType input_dtypes[kMaxElementwiseInputs] = {};
  Strided<1 + kMaxElementwiseInputs> dims{};  ///< operand 0: output, then the inputs
  void* output = nullptr;
  const void* inputs[kMaxElementwiseInputs] = {};
};

/// @param alpha   replaces a missing operand
/// @param inputs  at most 8, of the output's shape; a broadcast dimension has stride 0
/// @throws RunError if views exceed Strided's limits
ElementwiseJob PlanElementwise(Function function,
                               double alpha,
                               const TensorView& output,
                               std::span<const TensorView> inputs);
/// Computes output = condition ? a : b for three inputs, condition ? alpha : b for two.
ElementwiseJob PlanSelect(double alpha,
                          const TensorView& output,
                          std::span<const TensorView> inputs);

void LaunchElementwise(const ElementwiseJob& job, cudaStream_t stream);

}  // namespace emplace::cuda
