#pragma once

// The memory layout of operands of one shape, in a form that is passed to kernels by value. Plain
// C++ for both compilers and the tests.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

inline constexpr int kMaxRank = 8;

/// One shape and the strides of N operands. Kernels number the elements row-major over `shape`,
/// from 0 to count - 1 (the linear index).
template <int N>
struct Strided {
  int rank = 0;
  std::uint32_t count = 0;            ///< product of `shape`
  std::uint32_t shape[kMaxRank];      ///< [rank]
  std::int64_t strides[N][kMaxRank];  ///< [N, rank] in elements; 0 for missing operands
};

/// The same on the host, for any rank and number of operands.
struct Dims {
  std::vector<std::int64_t> shape;                 ///< [rank]
  std::vector<std::vector<std::int64_t>> strides;  ///< [num_operands, rank] in elements

  std::int64_t count() const;
};

/// The order of the dimensions after CollapseDims().
enum class DimOrder {
  kLogical,  ///< as given, so that linear indices keep their meaning
  kMemory,   ///< by descending strides, so that neighbouring indices are close in memory
};

/// Returns the smallest number of dimensions with which all operands can be traversed together.
/// Dimensions of size 1 are dropped, and neighbours are merged if every operand's outer stride is
/// its inner stride times the inner size. Views without elements give shape [0].
/// @param operands  views of one shape. With kMemory the strides of the first determine the order,
///   ties are broken by those of the second, and so on.
Dims CollapseDims(std::span<const TensorView> operands, DimOrder order);

/// Returns the order of kMemory: dimensions from the largest stride to the smallest, without those
/// of size 1.
std::vector<int> MemoryOrder(std::span<const TensorView> operands);

namespace internal {
/// @throws RunError beyond kMaxRank dimensions or 2^31 - 1 elements
void CheckWalkable(const Dims& dims);
}  // namespace internal

/// Returns the form for kernels.
/// @throws RunError beyond kMaxRank dimensions or 2^31 - 1 elements
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

/// Returns CollapseDims() in the form for kernels.
/// @throws RunError as ToStrided()
template <int N>
Strided<N> Collapse(std::span<const TensorView> operands, DimOrder order) {
  return ToStrided<N>(CollapseDims(operands, order));
}

/// Returns the number of blocks for `items` if each block processes `per_block`.
/// @throws RunError beyond CUDA's limit
unsigned BlocksFor(std::int64_t items, std::int64_t per_block);

}  // namespace emplace::cuda
