#pragma once

// A matmul call in the form of BLAS: column-major matrices with leading dimensions, transposed or
// not. Makes no CUDA calls.

#include <cstdint>
#include <optional>

#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

/// One operand of D = op(L) op(R), where D is `rows` x `columns`.
struct GemmOperand {
  bool is_transposed = false;          ///< op: of the column-major matrix in memory
  std::int64_t rows = 0, columns = 0;  ///< in memory, column-major
  std::int64_t leading = 0;            ///< elements from one column to the next
  std::int64_t batch_stride = 0;       ///< elements from one matrix to the next; 0: shared by all
};

/// How the bias is added to the result.
enum class GemmBias : std::uint8_t {
  kNone,
  kRows,  ///< a vector with an entry for each row of D; cuBLASLt adds it (epilogue)
  kFull,  ///< any other bias: copied to D first, then D = L R + D
};

/// C = A B + bias of a call. A row-major C is the column-major D = C^T = B^T A^T; then L is B.
struct GemmLayout {
  std::int64_t rows = 0, columns = 0, depth = 0, batch = 0;
  bool is_swapped = false;  ///< L is B and R is A; else L is A and R is B
  GemmOperand left, right, result;
  /// Arguments that no leading dimension describes. The layout describes row-major copies of them.
  bool copies_a = false, copies_b = false, copies_c = false;
  GemmBias bias = GemmBias::kNone;
};

/// @param a, b, c  [batch, m, k], [batch, k, n], [batch, m, n]
/// @param bias     [batch, m, n] or null
GemmLayout PlanGemm(const TensorView& a,
                    const TensorView& b,
                    const TensorView& c,
                    const TensorView* bias);

}  // namespace emplace::cuda
