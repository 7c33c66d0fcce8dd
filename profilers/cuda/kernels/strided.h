#pragma once

// How operands of one shape lie in memory, in a form that is passed to kernels by value. Plain C++
// for both compilers and the tests.

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
  std::int64_t strides[N][kMaxRank];  ///< [N, rank] in elements; 0 for operands that are not there
};

/// The same on the host, of any rank and number of operands.
struct Dims {
  std::vector<std::int64_t> shape;                 ///< [rank]
  std::vector<std::vector<std::int64_t>> strides;  ///< [num_operands, rank] in elements

  std::int64_t count() const;
};

/// In which order CollapseDims() leaves the dimensions.
enum class DimOrder {
  kLogical,  ///< as given, so that linear indices keep their meaning
  kMemory,   ///< by descending strides, so that neighbouring indices are neighbours in memory
};

/// The fewest dimensions over which all operands can be walked together: dimensions of size 1 are
/// left out, and neighbours are merged where every operand's outer stride is its inner stride times
/// the inner size. Views without elements give shape [0].
/// @param operands  views of one shape. With kMemory the strides of the first decide the order,
/// where these are equal those of the second, and so on
Dims CollapseDims(std::span<const TensorView> operands, DimOrder order);

/// The order of kMemory: dimensions from the largest stride to the smallest, without those of size
/// 1.
std::vector<int> MemoryOrder(std::span<const TensorView> operands);

namespace internal {
/// @throws RunError beyond kMaxRank dimensions or 2^31 - 1 elements
void CheckWalkable(const Dims& dims);
}  // namespace internal

/// The form for kernels. @throws RunError beyond kMaxRank dimensions or 2^31 - 1 elements
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

/// CollapseDims() in the form for kernels. @throws RunError as ToStrided()
template <int N>
Strided<N> Collapse(std::span<const TensorView> operands, DimOrder order) {
  return ToStrided<N>(CollapseDims(operands, order));
}

/// Number of blocks for `items` if each block does `per_block`. @throws RunError beyond CUDA's
/// limit
unsigned BlocksFor(std::int64_t items, std::int64_t per_block);

}  // namespace emplace::cuda
