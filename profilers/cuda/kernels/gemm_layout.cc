#include "profilers/cuda/kernels/gemm_layout.h"

#include <algorithm>
#include <string>

#include "framework/base/error.h"

namespace emplace::cuda {
namespace {

// Returns the leading dimension of [batch, rows, columns] if its columns are contiguous.
std::optional<std::int64_t> LeadingOfColumns(const TensorView& view) {
  const std::int64_t rows = view.shape[1], columns = view.shape[2];
  if (rows > 1 && view.strides[1] != 1) return {};
  if (columns <= 1) return std::max<std::int64_t>(rows, 1);
  if (view.strides[2] < std::max<std::int64_t>(rows, 1)) return {};  // overlapping or broadcast
  return view.strides[2];
}

TensorView Transposed(TensorView view) {
  std::swap(view.shape[1], view.shape[2]);
  std::swap(view.strides[1], view.strides[2]);
  return view;
}

std::int64_t BatchStride(const TensorView& view) {
  return view.shape[0] > 1 ? view.strides[0] : 0;
}

// Returns the operand whose op() is the matrix `argument`, or its transpose. If no operand
// describes the argument in place, the result describes a row-major copy.
GemmOperand FindOperand(const TensorView& argument, bool is_transpose, bool& copies) {
  for (const bool is_copy : {false, true}) {
    TensorView view = is_copy ? ContiguousView(argument.dtype, argument.shape) : argument;
    if (is_transpose) view = Transposed(view);
    copies = is_copy;
    for (const bool is_transposed : {false, true}) {
      if (is_transposed) view = Transposed(view);
      if (const auto leading = LeadingOfColumns(view)) {
        return {is_transposed, view.shape[1], view.shape[2], *leading, BatchStride(view)};
      }
    }
  }
  EMPLACE_CHECK(false, "a row-major matrix has a leading dimension");
}

}  // namespace

GemmLayout PlanGemm(const TensorView& a,
                    const TensorView& b,
                    const TensorView& c,
                    const TensorView* bias) {
  GemmLayout layout;
  layout.batch = c.shape[0];
  layout.depth = a.shape[2];
  // BLAS writes column-major matrices, so the layout of the result determines the order.
  layout.is_swapped = true;
  TensorView result = Transposed(c);
  // Matrices of a batch that share memory cannot be written.
  const bool is_distinct = layout.batch <= 1 || c.strides[0] > 0;
  if (!LeadingOfColumns(result) || !is_distinct) {
    if (LeadingOfColumns(c) && is_distinct) {
      layout.is_swapped = false;
      result = c;
    } else {
      layout.copies_c = true;
      result = Transposed(ContiguousView(c.dtype, c.shape));
    }
  }
  layout.rows = result.shape[1];
  layout.columns = result.shape[2];
  layout.result = {
      false, layout.rows, layout.columns, *LeadingOfColumns(result), BatchStride(result)};
  if (layout.is_swapped) {
    layout.left = FindOperand(b, true, layout.copies_b);
    layout.right = FindOperand(a, true, layout.copies_a);
  } else {
    layout.left = FindOperand(a, false, layout.copies_a);
    layout.right = FindOperand(b, false, layout.copies_b);
  }
  if (bias != nullptr) {
    const TensorView vector = layout.is_swapped ? Transposed(*bias) : *bias;
    const bool is_vector = (vector.shape[0] == 1 || vector.strides[0] == 0) &&
                           (vector.shape[1] == 1 || vector.strides[1] == 1) &&
                           (vector.shape[2] == 1 || vector.strides[2] == 0);
    layout.bias = is_vector ? GemmBias::kRows : GemmBias::kFull;
  }
  return layout;
}

}  // namespace emplace::cuda
