#include "profilers/kernels/kernel_call.h"

#include <doctest/doctest.h>

namespace emplace {
namespace {

TEST_CASE("dtypes") {
  for (const DType dtype : {DType::kF32, DType::kI32, DType::kI64, DType::kBool}) {
    CHECK(ParseDType(ToString(dtype)) == dtype);
  }
  CHECK(ParseDType("f16") == std::nullopt);
  CHECK(SizeOf(DType::kF32) == 4);
  CHECK(SizeOf(DType::kI32) == 4);
  CHECK(SizeOf(DType::kI64) == 8);
  CHECK(SizeOf(DType::kBool) == 1);
}

TEST_CASE("views") {
  const TensorView view = ContiguousView(DType::kF32, {2, 3, 4});
  CHECK(view.strides == std::vector<std::int64_t>{12, 4, 1});
  CHECK(view.num_elements() == 24);
  CHECK(view.is_contiguous());
  CHECK(ContiguousView(DType::kF32, {}).num_elements() == 1);
  CHECK(ContiguousView(DType::kF32, {}).is_contiguous());
  TensorView transposed = view;
  std::swap(transposed.strides[0], transposed.strides[2]);
  CHECK_FALSE(transposed.is_contiguous());
  TensorView shifted = view;  // where it starts does not matter
  shifted.offset = 7;
  CHECK(shifted.is_contiguous());
  const TensorView ones{.dtype = DType::kF32, .shape = {1, 3, 1}, .strides = {0, 1, 99}};
  CHECK(ones.is_contiguous());
}

TEST_CASE("bytes of a view") {
  const TensorView dense = ContiguousView(DType::kF32, {3, 4});
  CHECK(dense.span_bytes() == 48);
  CHECK(dense.end_bytes() == 48);
  const TensorView holes{.dtype = DType::kI64, .shape = {3, 2}, .strides = {10, 2}, .offset = 5};
  CHECK(holes.span_bytes() == (2 * 10 + 2 + 1) * 8);
  CHECK(holes.end_bytes() == (5 + 2 * 10 + 2 + 1) * 8);
  const TensorView empty{.dtype = DType::kF32, .shape = {3, 0}, .strides = {1, 1}, .offset = 5};
  CHECK(empty.span_bytes() == 0);
  CHECK(empty.end_bytes() == 0);
}

}  // namespace
}  // namespace emplace
