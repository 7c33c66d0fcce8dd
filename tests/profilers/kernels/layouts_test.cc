// LayoutOf against hand calculations, and against copies of the elements made by plain code.

#include <functional>
#include <numeric>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/profilers/kernels/tiny_graph.h"

namespace emplace::testing {
namespace {

using std::int64_t;
using Shape = TinyGraph::Shape;

TEST_CASE("layouts of single views") {
  TinyGraph graph;
  const int x = graph.Input({2, 3, 4}, std::vector<double>(24, 0));
  const auto view =
      [&](const std::string& kind, const std::string& attributes, int base, const Shape& shape) {
        return graph.AddOp(kind, attributes, {base}, {{.shape = shape, .alias_of = base}})[0];
      };
  const int transposed = view("aten.transpose", R"({"dim0": 0, "dim1": -1})", x, {4, 3, 2});
  const int permuted = view("aten.permute", R"({"dims": [1, 2, 0]})", x, {3, 4, 2});
  const int sliced = view("aten.slice", R"({"dim": 1, "start": 1, "end": 3})", x, {2, 2, 4});
  const int stepped =
      view("aten.slice", R"({"dim": 2, "start": -3, "end": 9, "step": 2})", x, {2, 3, 2});
  const int selected = view("aten.select", R"({"dim": 1, "index": -1})", x, {2, 4});
  const int joined = view("aten.view", R"({"size": [6, 4]})", x, {6, 4});
  const int small = graph.Input({3, 1}, {1, 2, 3});
  const int expanded = view("aten.expand", R"({"size": [2, 3, 5]})", small, {2, 3, 5});
  const auto parts =
      graph.AddOp("aten.split",
                  R"({"split_size": 2, "dim": 2})",
                  {x},
                  {{.shape = {2, 3, 2}, .alias_of = x}, {.shape = {2, 3, 2}, .alias_of = x}});
  const int of_part =
      view("aten.slice", R"({"dim": 2, "start": 1, "end": 2})", parts[1], {2, 3, 1});
  const int identity = view("Identity", "", parts[1], {2, 3, 2});
  const int column = view("ExpandDims", R"({"axis": 1})", small, {3, 1, 1});
  const int strided = view(
      "aten.as_strided", R"({"size": [2, 2], "stride": [1, 5], "storage_offset": 3})", x, {2, 2});
  const Graph built = graph.Build();
  const auto check = [&](int tensor, const Shape& strides, int64_t offset) {
    CAPTURE(tensor);
    const TensorView layout = LayoutOf(built, tensor);
    CHECK(layout.shape == built.tensor(tensor).shape);
    CHECK(fmt::format("{}", layout.strides) == fmt::format("{}", strides));
    CHECK(layout.offset == offset);
  };
  check(x, {12, 4, 1}, 0);
  check(transposed, {1, 4, 12}, 0);
  check(permuted, {4, 1, 12}, 0);
  check(sliced, {12, 4, 1}, 4);
  check(stepped, {12, 4, 2}, 1);
  check(selected, {12, 1}, 8);
  check(joined, {4, 1}, 0);
  check(expanded, {0, 1, 0}, 0);
  check(parts[1], {12, 4, 1}, 2);
  check(of_part, {12, 4, 1}, 3);
  check(identity, {12, 4, 1}, 2);
  check(column, {1, 1, 1}, 0);
  check(strided, {1, 5}, 3);
}

TEST_CASE("what strides cannot say stays inside of the storage") {
  TinyGraph graph;
  const int x = graph.Input({2, 3}, std::vector<double>(6, 0));
  const int t = graph.AddOp("aten.t", "", {x}, {{.shape = {3, 2}, .alias_of = x}})[0];
  const int flat = graph.AddOp("aten.view", "", {t}, {{.shape = {6}, .alias_of = t}})[0];
  const int wide = graph.AddOp("aten.expand", "", {x}, {{.shape = {4, 2, 3}, .alias_of = x}})[0];
  const int joined = graph.AddOp("aten.view", "", {wide}, {{.shape = {24}, .alias_of = wide}})[0];
  const int beyond = graph.AddOp(
      "aten.slice", R"({"dim": 0, "start": 1})", {x}, {{.shape = {2, 3}, .alias_of = x}})[0];
  const Graph built = graph.Build();
  CHECK(LayoutOf(built, flat) == ContiguousView(DType::kF32, {6}));
  CHECK(LayoutOf(built, joined).strides == Shape{0});
  CHECK(LayoutOf(built, beyond) == ContiguousView(DType::kF32, {2, 3}));
}

TEST_CASE("a dtype that no kernel knows is bytes") {
  Tensor tensor;
  tensor.shape = {2, 3};
  tensor.dtype = "f16";
  tensor.bytes = 12;
  const Graph graph("g", {tensor}, {});
  CHECK(LayoutOf(graph, 0) == ContiguousView(DType::kBool, {12}));
}

TEST_CASE("a shape that needs more bytes than there are is bytes") {
  Tensor tensor;
  tensor.dtype = "f32";
  tensor.bytes = 12;
  for (const Shape& shape : {Shape{2, 2}, Shape{int64_t{1} << 40, int64_t{1} << 40}}) {
    tensor.shape = shape;
    const Graph graph("g", {tensor}, {});
    CHECK(LayoutOf(graph, 0) == ContiguousView(DType::kBool, {12}));
  }
}

// A tensor as positions in its root's storage, element by element.
struct Elements {
  Shape shape;
  std::vector<int64_t> positions;

  int64_t At(const Shape& index) const {
    int64_t flat = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) flat = flat * shape[axis] + index[axis];
    return positions[flat];
  }
};

void ForIndices(const Shape& shape, const std::function<void(const Shape&)>& visit) {
  const int64_t count =
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  for (int64_t flat = 0; flat < count; ++flat) {
    Shape index(shape.size());
    for (int64_t axis = static_cast<int64_t>(shape.size()) - 1, rest = flat; axis >= 0; --axis) {
      index[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    visit(index);
  }
}

// `shape` whose element `index` is that of `from` at `source(index)`.
template <typename Source>
Elements Rearrange(const Elements& from, const Shape& shape, Source source) {
  Elements result{.shape = shape, .positions = {}};
  ForIndices(shape,
             [&](const Shape& index) { result.positions.push_back(from.At(source(index))); });
  return result;
}

// Whether positions are linear in the index with steps >= 0.
bool IsStrided(const Elements& elements) {
  Shape steps(elements.shape.size(), 0);
  const Shape origin(elements.shape.size(), 0);
  for (size_t axis = 0; axis < steps.size(); ++axis) {
    Shape index = origin;
    if (elements.shape[axis] < 2) continue;
    index[axis] = 1;
    steps[axis] = elements.At(index) - elements.At(origin);
    if (steps[axis] < 0) return false;
  }
  bool is_linear = true;
  ForIndices(elements.shape, [&](const Shape& index) {
    int64_t expected = elements.At(origin);
    for (size_t axis = 0; axis < steps.size(); ++axis) expected += index[axis] * steps[axis];
    is_linear = is_linear && elements.At(index) == expected;
  });
  return is_linear;
}

Shape RandomFactors(int64_t count, Rng& rng) {
  Shape shape{1};
  for (const int64_t prime : {2, 3, 5, 7}) {
    for (; count % prime == 0; count /= prime) {
      const int choice = UniformInt(rng, 3);
      if (choice == 0) shape.push_back(1);
      if (choice == 1) shape.push_back(prime);
      if (choice != 1) shape[UniformInt(rng, static_cast<int>(shape.size()))] *= prime;
    }
  }
  shape.push_back(count);
  return shape;
}

TEST_CASE("chains of random views hold the elements that copies would") {
  Rng rng(17);
  int checked = 0, inexpressible = 0;
  for (int trial = 0; trial < 400 * EMPLACE_TEST_SCALE; ++trial) {
    CAPTURE(trial);
    TinyGraph graph;
    Elements elements{.shape = {2, 3, 4, 5}, .positions = std::vector<int64_t>(120)};
    std::iota(elements.positions.begin(), elements.positions.end(), 0);
    int tensor = graph.Input(elements.shape, std::vector<double>(120, 0));
    for (int step = 0; step < 6; ++step) {
      const int rank = static_cast<int>(elements.shape.size());
      const int axis = UniformInt(rng, rank), other = UniformInt(rng, rank);
      Shape shape = elements.shape;
      Elements next;
      std::string kind, attributes;
      switch (UniformInt(rng, 5)) {
        case 0:
          kind = "aten.transpose";
          attributes = fmt::format(R"({{"dim0": {}, "dim1": {}}})", axis, other - rank);
          std::swap(shape[axis], shape[other]);
          next = Rearrange(elements, shape, [&](Shape index) {
            std::swap(index[axis], index[other]);
            return index;
          });
          break;
        case 1: {
          const auto size = static_cast<int>(shape[axis]);
          const int start = UniformInt(rng, size), stride = 1 + UniformInt(rng, 2);
          kind = "aten.slice";
          attributes =
              fmt::format(R"({{"dim": {}, "start": {}, "step": {}}})", axis, start - size, stride);
          shape[axis] = (size - start + stride - 1) / stride;
          next = Rearrange(elements, shape, [&](Shape index) {
            index[axis] = start + index[axis] * stride;
            return index;
          });
          break;
        }
        case 2:
          kind = "aten.expand";
          if (elements.positions.size() > 500) continue;
          for (int64_t& size : shape) size = size == 1 ? 2 : size;
          shape.insert(shape.begin(), 2);
          next = Rearrange(elements, shape, [&](Shape index) {
            index.erase(index.begin());
            for (int i = 0; i < rank; ++i) index[i] = elements.shape[i] == 1 ? 0 : index[i];
            return index;
          });
          break;
        case 3: {
          kind = "aten.select";
          if (rank < 2) continue;
          const int at = UniformInt(rng, static_cast<int>(shape[axis]));
          attributes = fmt::format(R"({{"dim": {}, "index": {}}})", axis, at);
          shape.erase(shape.begin() + axis);
          next = Rearrange(elements, shape, [&](Shape index) {
            index.insert(index.begin() + axis, at);
            return index;
          });
          break;
        }
        default:
          kind = "aten.view";
          shape = RandomFactors(static_cast<int64_t>(elements.positions.size()), rng);
          next = {.shape = shape, .positions = elements.positions};
      }
      tensor = graph.AddOp(kind, attributes, {tensor}, {{.shape = shape, .alias_of = tensor}})[0];
      const TensorView layout = LayoutOf(graph.Build(), tensor);
      CAPTURE(kind);
      REQUIRE(layout.shape == shape);
      elements = next;
      if (!IsStrided(elements)) {
        ++inexpressible;
        break;
      }
      ++checked;
      size_t flat = 0;
      ForIndices(shape, [&](const Shape& index) {
        int64_t position = layout.offset;
        for (size_t i = 0; i < index.size(); ++i) position += index[i] * layout.strides[i];
        if (position != elements.positions[flat++]) FAIL("another element");
      });
    }
  }
  CHECK(checked > 1000);
  CHECK(inexpressible > 30);
}

}  // namespace
}  // namespace emplace::testing
