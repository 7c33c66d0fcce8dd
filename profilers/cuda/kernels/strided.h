#pragma once

// How operands of one shape lie in memory, in a form that kernels take by value. Plain C++: both
// compilers and the tests use it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

inline constexpr int kMaxRank = 8;

/// One shape, N operands. A linear index below `count` counts the elements row-major over `shape`.
template <int N>
struct Strided {
  int rank = 0;
  std::uint32_t count = 0;            ///< product of `shape`
  std::uint32_t shape[kMaxRank];      ///< [rank]
  std::int64_t strides[N][kMaxRank];  ///< [N, rank] in elements; 0 for operands that are not there
};

/// The same on the host, of any rank.
struct Dims {
  std::vector<std::int64_t> shape;                 ///< [rank]
  std::vector<std::vector<std::int64_t>> strides;  ///< [num_operands, rank] in elements

  std::int64_t count() const;
};

enum class DimOrder {
  kLogical,  ///< as given: linear indices keep their meaning
  kMemory,   ///< by descending strides, so that neighbouring indices are neighbours in memory
};

/// The fewest dimensions over which all operands can be walked together: dimensions of size 1 go,
/// neighbours merge where every operand's outer stride is inner stride * inner size. An empty view
/// gives shape [0].
/// @param operands  views of one shape; with kMemory the first decides the order, ties go to the
/// next
Dims CollapseDims(std::span<const TensorView> operands, DimOrder order);

/// A view's dimensions from the outermost in memory to the innermost, dimensions of size 1 left
/// out.
std::vector<int> MemoryOrder(std::span<const TensorView> operands);

namespace internal {
/// @throws RunError if kernels cannot walk it: too many dimensions or elements
void CheckWalkable(const Dims& dims);
}  // namespace internal

/// @throws RunError beyond 8 dimensions or 2^31 - 1 elements
template <int N>
Strided<N> ToStrided(const Dims& dims) {
  internal::CheckWalkable(dims);
  EMPLACE_CHECK(static_cast<int>(dims.strides.size()) <= N);
  Strided<N> result{};
  result.rank = static_cast<int>(dims.shape.size());
  result.count = static_cast<std::uint32_t>(dims.count());
  for (int d = 0; d < result.rank; ++d) {
    result.shape[d] = static_cast<std::uint32_t>(dims.shape[d]);
    for (std::size_t n = 0; n < dims.strides.size(); ++n) {
      result.strides[n][d] = dims.strides[n][d];
    }
  }
  return result;
}

template <int N>
Strided<N> Collapse(std::span<const TensorView> operands, DimOrder order) {
  return ToStrided<N>(CollapseDims(operands, order));
}

/// Blocks of a launch that takes `per_block` items each. @throws RunError beyond CUDA's limit
unsigned BlocksFor(std::int64_t items, std::int64_t per_block);

}  // namespace emplace::cuda
