#include "profilers/cpu/packed_copy.h"

#include <doctest/doctest.h>

#include "framework/base/random.h"

namespace {

using namespace emplace;

// The packed bytes of a view, element by element.
std::vector<std::byte> PackedPlainly(const TensorView& view,
                                     const std::vector<std::byte>& storage) {
  const std::int64_t size = SizeOf(view.dtype);
  std::vector<std::byte> packed;
  for (std::int64_t i = 0; i < view.num_elements(); ++i) {
    std::int64_t rest = i, at = view.offset;
    for (size_t d = view.shape.size(); d-- > 0; rest /= view.shape[d]) {
      at += rest % view.shape[d] * view.strides[d];
    }
    packed.insert(packed.end(), storage.begin() + at * size, storage.begin() + (at + 1) * size);
  }
  return packed;
}

std::vector<std::byte> Packed(const TensorView& view, const std::vector<std::byte>& storage) {
  const PackedCopy copy(view);
  std::vector<std::byte> packed(copy.bytes());
  copy.Copy(storage.data(), packed.data());
  return packed;
}

TEST_CASE("a transposed slice, by hand") {
  // Storage [2, 3] = 0 1 2 / 3 4 5; its columns 1.. transposed: [2, 2] = 1 4 / 2 5
  std::vector<std::byte> storage;
  for (int i = 0; i < 6; ++i) storage.push_back(std::byte(i));
  const TensorView view{DType::kBool, {2, 2}, {1, 3}, 1};
  const std::vector<std::byte> expected{std::byte{1}, std::byte{4}, std::byte{2}, std::byte{5}};
  CHECK(Packed(view, storage) == expected);
}

TEST_CASE("packed random views equal the plain walk over their elements") {
  Rng rng(31);
  for (int round = 0; round < 500; ++round) {
    const DType dtype = std::vector{DType::kF32, DType::kI64, DType::kBool}[UniformInt(rng, 3)];
    TensorView view{dtype, {}, {}, UniformInt(rng, 4)};
    const int rank = UniformInt(rng, 5);
    for (int d = 0; d < rank; ++d) view.shape.push_back(1 + UniformInt(rng, 5));
    if (UniformInt(rng, 4) == 0) {
      view.strides = ContiguousView(dtype, view.shape).strides;
    } else {
      for (int d = 0; d < rank; ++d) view.strides.push_back(UniformInt(rng, 8));
    }
    std::int64_t extent = view.offset + 1;
    for (int d = 0; d < rank; ++d) extent += (view.shape[d] - 1) * view.strides[d];
    std::vector<std::byte> storage(extent * SizeOf(dtype));
    for (std::byte& b : storage) b = std::byte(UniformInt(rng, 256));
    CAPTURE(round);
    REQUIRE(Packed(view, storage) == PackedPlainly(view, storage));
  }
}

}  // namespace
