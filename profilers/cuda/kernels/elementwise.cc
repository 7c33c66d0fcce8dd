#include "profilers/cuda/kernels/elementwise.h"

#include <algorithm>

namespace emplace::cuda {
namespace {

ElementwiseJob Plan(const TensorView& output, std::span<const TensorView> inputs) {
  EMPLACE_CHECK(!inputs.empty() && inputs.size() <= kMaxElementwiseInputs);
  std::vector<TensorView> operands = {output};
  bool all_float = output.dtype == DType::kF32, has_integers = false;
  ElementwiseJob job;
  for (const TensorView& input : inputs) {
    job.input_dtypes[operands.size() - 1] = input.dtype;
    operands.push_back(input);
    all_float &= input.dtype == DType::kF32;
  }
  for (const TensorView& view : operands) {
    has_integers |= view.dtype == DType::kI32 || view.dtype == DType::kI64;
  }
  job.output_dtype = output.dtype;
  job.num_inputs = static_cast<int>(inputs.size());
  job.dims = Collapse<1 + kMaxElementwiseInputs>(operands, DimOrder::kMemory);
  const int rank = job.dims.rank;
  bool is_flat = rank <= 1;
  for (int n = 0; n <= job.num_inputs && rank == 1; ++n) is_flat &= job.dims.strides[n][0] == 1;
  job.path = has_integers ? ElementwisePath::kWide
             : !all_float ? ElementwisePath::kMixed
             : is_flat    ? ElementwisePath::kFlat
                          : ElementwisePath::kFloat;
  job.per_thread = rank > 0 && job.dims.shape[rank - 1] % 4 == 0 ? 4 : 1;
  return job;
}

}  // namespace

ElementwiseJob PlanElementwise(Function function,
                               double alpha,
                               const TensorView& output,
                               std::span<const TensorView> inputs) {
  ElementwiseJob job = Plan(output, inputs);
  job.function = function;
  job.alpha = alpha;
  return job;
}

ElementwiseJob PlanSelect(double alpha,
                          const TensorView& output,
                          std::span<const TensorView> inputs) {
  ElementwiseJob job = Plan(output, inputs);
  job.is_select = true;
  job.alpha = alpha;
  if (job.path == ElementwisePath::kFlat) job.path = ElementwisePath::kFloat;
  return job;
}

}  // namespace emplace::cuda
