#include "profilers/executor/copy_layout.h"

#include <numeric>
#include <utility>

#include <doctest/doctest.h>

#include "framework/base/random.h"

namespace {

using namespace emplace;
using Numbers = std::vector<std::int64_t>;

TensorView View(Numbers shape, Numbers strides, std::int64_t offset = 0) {
  return {.dtype = DType::kF32,
          .shape = std::move(shape),
          .strides = std::move(strides),
          .offset = offset};
}

TEST_CASE("copies keep the order of memory") {
  SUBCASE("a transposed matrix is one run of bytes") {
    const CopyLayout layout = LayoutOfCopy(View({4, 3}, {1, 4}));
    CHECK(layout.source == View({3, 4}, {4, 1}));
    CHECK(layout.received == View({4, 3}, {1, 4}));
  }
  SUBCASE("of [2, 3, 4] with axes 0 and 2 exchanged, every other column of each row") {
    // Storage [4, 3, 8]; strides of the view [2, 3, 4]: 4, 8, 24.
    const CopyLayout layout = LayoutOfCopy(View({2, 3, 4}, {4, 8, 24}, 5));
    CHECK(layout.source == View({4, 3, 2}, {24, 8, 4}, 5));
    CHECK(layout.received == View({2, 3, 4}, {1, 2, 6}));
  }
  SUBCASE("axes of size 1 stay where they are") {
    const CopyLayout layout = LayoutOfCopy(View({1, 4, 1, 3}, {7, 1, 100, 4}));
    CHECK(layout.source.shape == Numbers{1, 3, 1, 4});
    CHECK(layout.received.strides[1] == 1);
    CHECK(layout.received.strides[3] == 4);
  }
  SUBCASE("row-major stays row-major") {
    const TensorView view = ContiguousView(DType::kI64, {2, 1, 5});
    CHECK(LayoutOfCopy(view).source == view);
    CHECK(LayoutOfCopy(view).received == view);
  }
  SUBCASE("repeated elements arrive row-major") {
    const CopyLayout layout = LayoutOfCopy(View({3, 4}, {0, 1}));
    CHECK(layout.source == View({3, 4}, {0, 1}));
    CHECK(layout.received == View({3, 4}, {4, 1}));
  }
}

// Element [i, j, ...] of the view is the one that the receiver finds at [i, j, ...].
TEST_CASE("random views: every element arrives at its place, none twice") {
  Rng rng(7);
  for (int round = 0; round < 500; ++round) {
    const int rank = UniformInt(rng, 5);
    TensorView view{.dtype = DType::kF32, .offset = UniformInt(rng, 3)};
    std::vector<int> order(rank);
    std::iota(order.begin(), order.end(), 0);
    for (int i = rank; i > 1; --i) std::swap(order[i - 1], order[UniformInt(rng, i)]);
    view.shape.resize(rank);
    view.strides.resize(rank);
    std::int64_t stride = 1;
    for (int axis : order) {
      view.shape[axis] = 1 + UniformInt(rng, 4);
      view.strides[axis] = UniformInt(rng, 8) == 0 ? 0 : stride * (1 + UniformInt(rng, 2));
      if (view.strides[axis] > 0) stride = view.strides[axis] * view.shape[axis];
    }
    const CopyLayout layout = LayoutOfCopy(view);
    const auto at = [](const TensorView& v, std::int64_t element, const Numbers& shape) {
      std::int64_t place = v.offset;
      for (size_t axis = shape.size(); axis-- > 0;) {
        place += element % shape[axis] * v.strides[axis];
        element /= shape[axis];
      }
      return place;
    };
    std::vector<std::int64_t> sent(view.num_elements());  // [packed place] place in the storage
    for (std::int64_t i = 0; i < view.num_elements(); ++i) {
      sent[i] = at(layout.source, i, layout.source.shape);
    }
    std::vector<bool> seen(sent.size());
    for (std::int64_t i = 0; i < view.num_elements(); ++i) {
      const std::int64_t received = at(layout.received, i, view.shape);
      REQUIRE(received >= 0);
      REQUIRE(received < static_cast<std::int64_t>(sent.size()));
      REQUIRE(sent[received] == at(view, i, view.shape));
      REQUIRE(!seen[received]);
      seen[received] = true;
    }
  }
}

}  // namespace
