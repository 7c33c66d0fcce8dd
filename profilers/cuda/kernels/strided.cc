#include "profilers/cuda/kernels/strided.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace emplace::cuda {

std::int64_t Dims::count() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<int> MemoryOrder(std::span<const TensorView> operands) {
  std::vector<int> order;
  for (std::size_t d = 0; d < operands[0].shape.size(); ++d) {
    if (operands[0].shape[d] != 1) order.push_back(static_cast<int>(d));
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    for (const TensorView& view : operands) {
      if (view.strides[a] != view.strides[b]) return view.strides[a] > view.strides[b];
    }
    return false;
  });
  return order;
}

Dims CollapseDims(std::span<const TensorView> operands, DimOrder order) {
  EMPLACE_CHECK(!operands.empty());
  const std::vector<std::int64_t>& shape = operands[0].shape;
  for (const TensorView& view : operands) {
    EMPLACE_CHECK(view.shape == shape && view.strides.size() == shape.size());
  }
  Dims dims;
  dims.strides.resize(operands.size());
  if (operands[0].num_elements() == 0) {
    dims.shape = {0};
    for (auto& strides : dims.strides) strides = {0};
    return dims;
  }
  std::vector<int> kept;
  if (order == DimOrder::kMemory) {
    kept = MemoryOrder(operands);
  } else {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] != 1) kept.push_back(static_cast<int>(d));
    }
  }
  for (const int d : kept) {
    bool merges = !dims.shape.empty();
    for (std::size_t n = 0; n < operands.size() && merges; ++n) {
      merges = dims.strides[n].back() == operands[n].strides[d] * shape[d];
    }
    if (merges) {
      dims.shape.back() *= shape[d];
    } else {
      dims.shape.push_back(shape[d]);
    }
    for (std::size_t n = 0; n < operands.size(); ++n) {
      if (merges) {
        dims.strides[n].back() = operands[n].strides[d];
      } else {
        dims.strides[n].push_back(operands[n].strides[d]);
      }
    }
  }
  return dims;
}

void internal::CheckWalkable(const Dims& dims) {
  if (dims.shape.size() > static_cast<std::size_t>(kMaxRank)) {
    throw RunError("a view of " + std::to_string(dims.shape.size()) +
                   " dimensions that do not merge: CUDA kernels walk at most " +
                   std::to_string(kMaxRank));
  }
  if (dims.count() > std::numeric_limits<std::int32_t>::max()) {
    throw RunError("a view of " + std::to_string(dims.count()) +
                   " elements: CUDA kernels walk at most 2^31 - 1");
  }
}

unsigned BlocksFor(std::int64_t items, std::int64_t per_block) {
  const std::int64_t blocks = (items + per_block - 1) / per_block;
  if (blocks > std::numeric_limits<std::int32_t>::max()) {
    throw RunError("a launch of " + std::to_string(blocks) +
                   " blocks: CUDA takes at most 2^31 - 1");
  }
  return static_cast<unsigned>(blocks);
}

}  // namespace emplace::cuda
