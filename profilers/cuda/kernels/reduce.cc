#include "profilers/cuda/kernels/reduce.h"

#include <algorithm>

namespace emplace::cuda {
namespace {

constexpr std::int64_t kEnoughBlocks = 512;  // a few per SM of the largest GPUs
constexpr std::int64_t kLeastWork = 1024;    // fewest inputs for which a block is started

}  // namespace

ReduceShape ChooseReduceShape(std::int64_t num_outputs,
                              std::int64_t num_reduced,
                              bool kept_runs,
                              bool reduced_runs) {
  ReduceShape shape;
  shape.path =
      kept_runs && !reduced_runs && num_outputs >= 8 ? ReducePath::kColumns : ReducePath::kRows;
  shape.group = num_reduced >= kLeastWork ? 256 : 32;
  const std::int64_t outputs_per_block =
      shape.path == ReducePath::kColumns ? 32 : 256 / shape.group;
  const std::int64_t blocks = (num_outputs + outputs_per_block - 1) / outputs_per_block;
  const std::int64_t worth = shape.path == ReducePath::kColumns ? kLeastWork / 16 : kLeastWork * 2;
  const std::int64_t splits = std::clamp<std::int64_t>(
      std::min(kEnoughBlocks / std::max<std::int64_t>(blocks, 1), num_reduced / worth), 1, 512);
  shape.per_split = static_cast<std::uint32_t>((num_reduced + splits - 1) / splits);
  // Rounding up may leave no work for the last parts.
  shape.splits =
      shape.per_split == 0
          ? 1
          : static_cast<std::uint32_t>((num_reduced + shape.per_split - 1) / shape.per_split);
  return shape;
}

std::int64_t ReduceJob::scratch_bytes() const {
  if (shape.splits == 1) return 0;
  return static_cast<std::int64_t>(shape.splits) * kept.count * (is_wide ? 8 : 4);
}

ReduceJob PlanReduce(Function function, const TensorView& output, const TensorView& input) {
  // The input's dimensions, divided into those that the output keeps and those that it reduces.
  TensorView kept_output{output.dtype, {}, {}, 0}, kept_input{input.dtype, {}, {}, 0};
  TensorView reduced{input.dtype, {}, {}, 0};
  for (std::size_t d = 0; d < input.shape.size(); ++d) {
    if (output.shape[d] == input.shape[d]) {
      kept_output.shape.push_back(input.shape[d]);
      kept_output.strides.push_back(output.strides[d]);
      kept_input.shape.push_back(input.shape[d]);
      kept_input.strides.push_back(input.strides[d]);
    } else {
      reduced.shape.push_back(input.shape[d]);
      reduced.strides.push_back(input.strides[d]);
    }
  }
  ReduceJob job;
  job.function = function;
  job.output_dtype = output.dtype;
  job.input_dtype = input.dtype;
  const auto is_integer = [](DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64; };
  job.is_wide = is_integer(output.dtype) || is_integer(input.dtype);
  // The traversal follows the layout of the input, which is the larger side.
  const TensorView kept[] = {kept_input, kept_output};
  Dims kept_dims = CollapseDims(kept, DimOrder::kMemory);
  std::swap(kept_dims.strides[0], kept_dims.strides[1]);
  job.kept = ToStrided<2>(kept_dims);
  job.reduced = Collapse<1>({&reduced, 1}, DimOrder::kMemory);
  const auto runs = [](int rank, const std::int64_t* strides) {
    return rank > 0 && strides[rank - 1] == 1;
  };
  job.shape = ChooseReduceShape(job.kept.count,
                                job.reduced.count,
                                runs(job.kept.rank, job.kept.strides[1]),
                                runs(job.reduced.rank, job.reduced.strides[0]));
  return job;
}

}  // namespace emplace::cuda
