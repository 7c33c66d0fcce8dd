#include "profilers/cpu/kernels/loops.h"

#include <set>
#include <utility>

#include <doctest/doctest.h>

#include "framework/base/random.h"

namespace emplace::cpu {
namespace {

TensorView View(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
  TensorView view{DType::kF32, std::move(shape), std::move(strides), 0};
  return view;
}

Loops Merge(const std::vector<TensorView>& views) {
  std::vector<const TensorView*> pointers;
  for (const TensorView& view : views) pointers.push_back(&view);
  return MergeLoops(pointers);
}

// Offsets of all elements of both views, by plain counting.
std::set<std::pair<std::int64_t, std::int64_t>> Offsets(const TensorView& a, const TensorView& b) {
  std::set<std::pair<std::int64_t, std::int64_t>> offsets;
  for (std::int64_t flat = 0; flat < a.num_elements(); ++flat) {
    std::int64_t rest = flat, at_a = 0, at_b = 0;
    for (std::size_t d = a.shape.size(); d-- > 0; rest /= a.shape[d]) {
      at_a += rest % a.shape[d] * a.strides[d];
      at_b += rest % a.shape[d] * b.strides[d];
    }
    offsets.insert({at_a, at_b});
  }
  return offsets;
}

TEST_CASE("dense views become one loop, whatever their order of dimensions") {
  const Loops rows = Merge({View({2, 3, 4}, {12, 4, 1}), View({2, 3, 4}, {12, 4, 1})});
  CHECK(rows.shape == std::vector<std::int64_t>{24});
  CHECK(rows.is_one_run());
  // NHWC as [n, c, h, w]: the same bytes in another order.
  CHECK(
      Merge({View({2, 3, 4, 5}, {60, 1, 15, 3}), View({2, 3, 4, 5}, {60, 1, 15, 3})}).is_one_run());
}

TEST_CASE("what does not merge stays, with the first view's fast dimension innermost") {
  // y row-major, x its transpose: [3, 4], y strides (4, 1), x strides (1, 3).
  const Loops transposed = Merge({View({3, 4}, {4, 1}), View({3, 4}, {1, 3})});
  CHECK(transposed.shape == std::vector<std::int64_t>{3, 4});
  CHECK(transposed.strides[1] == std::vector<std::int64_t>{1, 3});
  CHECK_FALSE(transposed.is_one_run());
  // A bias over [n, c, h, w]: h and w merge (stride 0 twice), n and c do not.
  const Loops bias = Merge({View({2, 3, 4, 5}, {60, 20, 5, 1}), View({2, 3, 4, 5}, {0, 1, 0, 0})});
  CHECK(bias.shape == std::vector<std::int64_t>{2, 3, 20});
  CHECK(bias.strides[1] == std::vector<std::int64_t>{0, 1, 0});
}

TEST_CASE("dimensions of size 1 do not count, a scalar is one loop of one") {
  CHECK(Merge({View({1, 6, 1}, {99, 1, 7})}).shape == std::vector<std::int64_t>{6});
  const Loops scalar = Merge({View({}, {}), View({}, {})});
  CHECK(scalar.shape == std::vector<std::int64_t>{1});
  CHECK(scalar.num_elements() == 1);
}

TEST_CASE("rows visit every element of random views exactly once") {
  Rng rng(3);
  for (int round = 0; round < 200 * EMPLACE_TEST_SCALE; ++round) {
    const int dims = UniformInt(rng, 5);
    TensorView a, b;
    std::int64_t stride = 1;
    for (int d = 0; d < dims; ++d) {
      const std::int64_t size = 1 + UniformInt(rng, 5);
      // In a every element has an offset of its own; b is broadcast here and there.
      const auto at = a.shape.begin() + UniformInt(rng, d + 1);
      const auto position = at - a.shape.begin();
      a.shape.insert(at, size);
      a.strides.insert(a.strides.begin() + position, stride);
      b.strides.insert(b.strides.begin() + position, UniformInt(rng, 3) == 0 ? 0 : stride * 2);
      stride *= size + UniformInt(rng, 2);
    }
    b.shape = a.shape;
    const Loops loops = Merge({a, b});
    std::set<std::pair<std::int64_t, std::int64_t>> visited;
    std::int64_t visits = 0;
    ForEachRow<2>(loops, 1, [&](const auto& at, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i, ++visits)
        visited.insert({at[0] + i * loops.row_stride(0), at[1] + i * loops.row_stride(1)});
    });
    CHECK(visits == a.num_elements());
    CHECK(visited == Offsets(a, b));
  }
}

TEST_CASE("ranges and pieces cover everything once") {
  for (const std::int64_t n : {0, 1, 2, 7, 1000})
    for (const int threads : {1, 2, 3}) {
      std::vector<int> seen(n), in_pieces(n);
      ParallelRanges(threads, n, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++seen[i];
      });
      ParallelPieces(threads, n, 3, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++in_pieces[i];
      });
      CHECK(seen == std::vector<int>(n, 1));
      CHECK(in_pieces == seen);
    }
}

TEST_CASE("broadcasting repeats dimensions of size 1 only") {
  const TensorView wide = BroadcastTo(View({1, 3}, {3, 1}), {4, 3});
  CHECK(wide.shape == std::vector<std::int64_t>{4, 3});
  CHECK(wide.strides == std::vector<std::int64_t>{0, 1});
}

}  // namespace
}  // namespace emplace::cpu
