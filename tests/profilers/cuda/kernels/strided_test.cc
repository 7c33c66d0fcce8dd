// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/strided.cc"

#include "profilers/cuda/kernels/device.cuh"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;

namespace {

TensorView View(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
  return {DType::kF32, std::move(shape), std::move(strides), 0};
}

TEST_CASE("neighbouring dimensions merge if every operand runs through both") {
  const TensorView dense = View({2, 3, 4}, {12, 4, 1});
  const TensorView transposed = View({2, 3, 4}, {12, 1, 3});
  const TensorView broadcast = View({2, 3, 4}, {0, 0, 1});

  const TensorView same[] = {dense, dense};
  const cuda::Dims flat = cuda::CollapseDims(same, cuda::DimOrder::kLogical);
  CHECK(flat.shape == std::vector<std::int64_t>{24});
  CHECK(flat.strides == std::vector<std::vector<std::int64_t>>{{1}, {1}});

  const TensorView rows[] = {dense, broadcast};
  const cuda::Dims bias = cuda::CollapseDims(rows, cuda::DimOrder::kLogical);
  CHECK(bias.shape == std::vector<std::int64_t>{6, 4});
  CHECK(bias.strides == std::vector<std::vector<std::int64_t>>{{4, 1}, {0, 1}});

  const TensorView mixed[] = {dense, transposed};
  CHECK(cuda::CollapseDims(mixed, cuda::DimOrder::kLogical).shape ==
        std::vector<std::int64_t>{2, 3, 4});

  // Both transposed alike: one run of memory, in memory order only.
  const TensorView alike[] = {transposed, transposed};
  CHECK(cuda::CollapseDims(alike, cuda::DimOrder::kMemory).shape == std::vector<std::int64_t>{24});
  CHECK(cuda::CollapseDims(alike, cuda::DimOrder::kLogical).shape.size() == 3);
}

TEST_CASE("dimensions of size 1 say nothing, empty views are empty") {
  const TensorView scalar[] = {View({1, 1}, {77, 5})};
  CHECK(cuda::CollapseDims(scalar, cuda::DimOrder::kMemory).shape.empty());
  CHECK(cuda::Collapse<1>(scalar, cuda::DimOrder::kMemory).count == 1);
  const TensorView empty[] = {View({3, 0, 2}, {0, 2, 1})};
  CHECK(cuda::Collapse<1>(empty, cuda::DimOrder::kMemory).count == 0);
}

// Offsets of all elements of both views, in the order of linear indices.
std::vector<std::pair<std::int64_t, std::int64_t>> Walk(const cuda::Strided<2>& dims) {
  std::vector<std::pair<std::int64_t, std::int64_t>> offsets;
  for (std::uint32_t i = 0; i < dims.count; ++i) {
    std::int64_t at[2];
    cuda::OffsetsOf(dims, i, at);
    offsets.emplace_back(at[0], at[1]);
  }
  return offsets;
}

TEST_CASE("collapsed dimensions walk the same pairs of elements") {
  Rng rng(5);
  const auto draw = [&](int below) { return static_cast<std::int64_t>(UniformInt(rng, below)); };
  for (int round = 0; round < 500 * EMPLACE_TEST_SCALE; ++round) {
    const int rank = static_cast<int>(draw(6));
    TensorView views[2];
    for (int d = 0; d < rank; ++d) {
      const std::int64_t size = 1 + draw(4);
      for (TensorView& view : views) view.shape.push_back(size);
    }
    for (TensorView& view : views) {
      // Row-major of a permutation, now and then with holes or broadcast.
      std::vector<int> order(rank);
      for (int d = 0; d < rank; ++d) order[d] = d;
      for (int d = rank - 1; d > 0; --d) std::swap(order[d], order[draw(d + 1)]);
      view.strides.assign(rank, 0);
      std::int64_t stride = 1;
      for (int i = rank - 1; i >= 0; --i) {
        const bool is_broadcast = &view == &views[1] && draw(6) == 0;
        view.strides[order[i]] = is_broadcast ? 0 : stride;
        if (!is_broadcast) stride *= view.shape[order[i]];
        if (draw(8) == 0) stride += 3;
      }
    }
    // Expected: nested loops by plain arithmetic.
    std::vector<std::pair<std::int64_t, std::int64_t>> expected = {{0, 0}};
    for (int d = 0; d < rank; ++d) {
      std::vector<std::pair<std::int64_t, std::int64_t>> next;
      for (const auto& [a, b] : expected) {
        for (std::int64_t i = 0; i < views[0].shape[d]; ++i) {
          next.emplace_back(a + i * views[0].strides[d], b + i * views[1].strides[d]);
        }
      }
      expected = next;
    }
    CHECK(Walk(cuda::Collapse<2>(views, cuda::DimOrder::kLogical)) == expected);
    auto by_memory = Walk(cuda::Collapse<2>(views, cuda::DimOrder::kMemory));
    CHECK(std::is_sorted(by_memory.begin(), by_memory.end()));
    std::sort(expected.begin(), expected.end());
    std::sort(by_memory.begin(), by_memory.end());
    CHECK(by_memory == expected);
    const cuda::Dims dims = cuda::CollapseDims(views, cuda::DimOrder::kMemory);
    CHECK(static_cast<int>(dims.shape.size()) <= rank);
  }
}

TEST_CASE("what kernels cannot walk is refused") {
  const TensorView many[] = {
      View(std::vector<std::int64_t>(9, 2), {1000, 900, 800, 700, 600, 500, 400, 300, 200})};
  CHECK_THROWS_WITH_AS(cuda::Collapse<1>(many, cuda::DimOrder::kMemory),
                       "a view of 9 dimensions that do not merge: CUDA kernels walk at most 8",
                       RunError);
  const TensorView large[] = {View({std::int64_t{1} << 31}, {1})};
  CHECK_THROWS_WITH_AS(cuda::Collapse<1>(large, cuda::DimOrder::kMemory),
                       "a view of 2147483648 elements: CUDA kernels walk at most 2^31 - 1",
                       RunError);
}

TEST_CASE("a launch has as many blocks as the items need") {
  CHECK(cuda::BlocksFor(1, 256) == 1);
  CHECK(cuda::BlocksFor(256, 256) == 1);
  CHECK(cuda::BlocksFor(257, 256) == 2);
  CHECK_THROWS_WITH_AS(cuda::BlocksFor(std::int64_t{1} << 40, 256),
                       "a launch of 4294967296 blocks: CUDA takes at most 2^31 - 1",
                       RunError);
}

}  // namespace
