// TensorFlow's ops against hand calculations and against plain loops over TensorFlow's own layouts.

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/profilers/kernels/tiny_graph.h"

namespace emplace::testing {
namespace {

using std::int64_t;
using Shape = TinyGraph::Shape;
using Values = TinyGraph::Values;

constexpr const char* kSame2 = R"({"strides": [1, 2, 2, 1], "padding": "SAME"})";

TEST_CASE("Conv2D: SAME with stride 2 pads at the end") {
  // x = 1 2 3   w = 1 2   total padding (2 - 1) 2 + 2 - 3 = 1: none before, one behind.
  //     4 5 6       3 4   [0, 0]: 1 + 4 + 12 + 20; [0, 1]: 3 + 18; [1, 0]: 7 + 16; [1, 1]: 9
  //     7 8 9
  const auto y = RunOp("Conv2D",
                       kSame2,
                       {{{1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}, {{2, 2, 1, 1}, {1, 2, 3, 4}}},
                       {{1, 2, 2, 1}});
  CheckNear(y[0], {37, 21, 23, 9});
}

// A convolution in TensorFlow's layouts, as its documentation writes it.
struct Conv {
  int64_t n, h, w, c, r, s, k, stride, dilation;  // depthwise: k is the multiplier
  bool same, depthwise;

  int64_t Windows(int64_t size, int64_t window) const {
    const int64_t reach = (window - 1) * dilation + 1;
    return same ? (size + stride - 1) / stride : (size - reach) / stride + 1;
  }
  int64_t Before(int64_t size, int64_t window) const {
    if (!same) return 0;
    const int64_t reach = (window - 1) * dilation + 1;
    return std::max<int64_t>(0, (Windows(size, window) - 1) * stride + reach - size) / 2;
  }
  Shape X() const { return {n, h, w, c}; }
  Shape W() const { return {r, s, c, k}; }
  Shape Y() const { return {n, Windows(h, r), Windows(w, s), depthwise ? c * k : k}; }
  std::string Attributes() const {
    return fmt::format(
        R"({{"strides": [1, {0}, {0}, 1], "dilations": [1, {1}, {1}, 1], "padding": "{2}",
            "data_format": "NHWC"}})",
        stride,
        dilation,
        same ? "SAME" : "VALID");
  }
  Values Forward(const Values& x, const Values& filter) const {
    const Shape out = Y();
    Values y(out[0] * out[1] * out[2] * out[3], 0);
    for (int64_t b = 0; b < n; ++b)
      for (int64_t p = 0; p < out[1]; ++p)
        for (int64_t q = 0; q < out[2]; ++q)
          for (int64_t i = 0; i < r; ++i)
            for (int64_t j = 0; j < s; ++j)
              for (int64_t d = 0; d < c; ++d)
                for (int64_t e = 0; e < k; ++e) {
                  const int64_t row = p * stride + i * dilation - Before(h, r);
                  const int64_t column = q * stride + j * dilation - Before(w, s);
                  if (row < 0 || row >= h || column < 0 || column >= w) continue;
                  const int64_t channel = depthwise ? d * k + e : e;
                  y[((b * out[1] + p) * out[2] + q) * out[3] + channel] +=
                      x[((b * h + row) * w + column) * c + d] *
                      filter[((i * s + j) * c + d) * k + e];
                }
    return y;
  }
};

TEST_CASE("convolutions: forward against plain loops, gradients by adjointness") {
  Rng rng(7);
  for (int trial = 0; trial < 40; ++trial) {
    const auto between = [&](int low, int high) { return low + UniformInt(rng, high - low + 1); };
    Conv conv{};
    conv.n = between(1, 2);
    conv.h = between(5, 9);
    conv.w = between(5, 9);
    conv.c = between(1, 4);
    conv.r = between(1, 3);
    conv.s = between(1, 3);
    conv.k = between(1, 3);
    conv.stride = between(1, 3);
    conv.dilation = conv.stride == 1 ? between(1, 2) : 1;
    conv.same = between(0, 1) == 1;
    conv.depthwise = between(0, 1) == 1;
    CAPTURE(trial);
    const std::string name = conv.depthwise ? "DepthwiseConv2dNative" : "Conv2D";
    const Values x = RandomValues(conv.X(), rng), w = RandomValues(conv.W(), rng),
                 dy = RandomValues(conv.Y(), rng);
    const Values y = RunOp(name, conv.Attributes(), {{conv.X(), x}, {conv.W(), w}}, {conv.Y()})[0];
    CheckNear(y, conv.Forward(x, w));
    const Values dx = RunOp(name + "BackpropInput",
                            conv.Attributes(),
                            {{{4}, {0, 0, 0, 0}}, {conv.W(), w}, {conv.Y(), dy}},
                            {conv.X()})[0];
    const Values dw = RunOp(name + "BackpropFilter",
                            conv.Attributes(),
                            {{conv.X(), x}, {{4}, {0, 0, 0, 0}}, {conv.Y(), dy}},
                            {conv.W()})[0];
    // <conv(x, w), dy> is linear in x and in w.
    const double expected = Dot(conv.Forward(x, w), dy);
    CHECK(Dot(x, dx) == doctest::Approx(expected).epsilon(1e-4).scale(1));
    CHECK(Dot(w, dw) == doctest::Approx(expected).epsilon(1e-4).scale(1));
    // And in a direction of its own, so that dx is right everywhere.
    const Values other = RandomValues(conv.X(), rng);
    CHECK(Dot(other, dx) ==
          doctest::Approx(Dot(conv.Forward(other, w), dy)).epsilon(1e-4).scale(1));
  }
}

TEST_CASE("pooling: SAME averages leave padding out, the first maximum gets the gradient") {
  // Windows of 2 x 2 with stride 2 over 3 x 3: the right and lower ones hang over.
  const Values x{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::string attributes =
      R"({"strides": [1, 2, 2, 1], "ksize": [1, 2, 2, 1], "padding": "SAME"})";
  CheckNear(RunOp("AvgPool", attributes, {{{1, 3, 3, 1}, x}}, {{1, 2, 2, 1}})[0],
            {(1 + 2 + 4 + 5) / 4.0, (3 + 6) / 2.0, (7 + 8) / 2.0, 9});
  CheckNear(RunOp("AvgPoolGrad",
                  attributes,
                  {{{4}, {1, 3, 3, 1}}, {{1, 2, 2, 1}, {4, 2, 6, 5}}},
                  {{1, 3, 3, 1}})[0],
            {1, 1, 1, 1, 1, 1, 3, 3, 5});
  CheckNear(RunOp("MaxPool", attributes, {{{1, 3, 3, 1}, x}}, {{1, 2, 2, 1}})[0], {5, 6, 8, 9});
  // All equal: element [0, 0] of each window.
  CheckNear(RunOp("MaxPoolGrad",
                  attributes,
                  {{{1, 3, 3, 1}, Values(9, 2.0)},
                   {{1, 2, 2, 1}, Values(4, 2.0)},
                   {{1, 2, 2, 1}, {1, 2, 3, 4}}},
                  {{1, 3, 3, 1}})[0],
            {1, 0, 2, 0, 0, 0, 3, 0, 4});
}

TEST_CASE("FusedBatchNormV3: statistics, and its gradient by finite differences") {
  const std::string attributes = R"({"epsilon": 0.5, "data_format": "NHWC"})";
  // One channel, x = 1 3: mean 2, variance 1, unbiased 2; 1 / sqrt(1.5) = 0.8164966
  const auto y = RunOp("FusedBatchNormV3",
                       attributes,
                       {{{1, 1, 2, 1}, {1, 3}}, {{1}, {2}}, {{1}, {10}}, {{0}, {}}, {{0}, {}}},
                       {{1, 1, 2, 1}, {1}, {1}, {1}, {1}, {0}});
  CheckNear(y[0], {10 - 2 * 0.8164966, 10 + 2 * 0.8164966});
  CheckNear(y[1], {2});
  CheckNear(y[2], {2});
  CheckNear(y[3], {2});
  CheckNear(y[4], {0.8164966});

  Rng rng(3);
  const Shape shape{2, 2, 3, 2}, c{2};
  const Values x = RandomValues(shape, rng), scale = RandomValues(c, rng),
               offset = RandomValues(c, rng), dy = RandomValues(shape, rng);
  const auto forward = [&](const Values& a, const Values& b, const Values& d) {
    return RunOp("FusedBatchNormV3",
                 attributes,
                 {{shape, a}, {c, b}, {c, d}, {{0}, {}}, {{0}, {}}},
                 {shape, c, c, c, c, {0}});
  };
  const auto saved = forward(x, scale, offset);
  const auto gradient =
      RunOp("FusedBatchNormGradV3",
            attributes,
            {{shape, dy}, {shape, x}, {c, scale}, {c, saved[3]}, {c, saved[4]}, {{0}, {}}},
            {shape, c, c, {0}, {0}});
  const auto check = [](const Values& analytic, const Values& expected) {
    CheckNear(analytic, expected, 2e-3);
  };
  check(gradient[0],
        Gradient(x, dy, [&](const Values& a) { return forward(a, scale, offset)[0]; }));
  check(gradient[1],
        Gradient(scale, dy, [&](const Values& b) { return forward(x, b, offset)[0]; }));
  check(gradient[2],
        Gradient(offset, dy, [&](const Values& d) { return forward(x, scale, d)[0]; }));
}

TEST_CASE("products, biases and reductions") {
  // a = 1 2 3   a^T b = [1 4; 2 5; 3 6] [1; 2] = 9 12 15
  //     4 5 6
  CheckNear(RunOp("MatMul",
                  R"({"transpose_a": true})",
                  {{{2, 3}, {1, 2, 3, 4, 5, 6}}, {{2, 1}, {1, 2}}},
                  {{3, 1}})[0],
            {9, 12, 15});
  // a b^T with b = [1 0 1]: 1 + 3, 4 + 6
  CheckNear(RunOp("MatMul",
                  R"({"transpose_b": true})",
                  {{{2, 3}, {1, 2, 3, 4, 5, 6}}, {{1, 3}, {1, 0, 1}}},
                  {{2, 1}})[0],
            {4, 10});
  CheckNear(RunOp("BatchMatMulV2",
                  R"({"adj_y": true})",
                  {{{2, 1, 2}, {1, 2, 3, 4}}, {{2, 1, 2}, {5, 6, 7, 8}}},
                  {{2, 1, 1}})[0],
            {17, 53});
  CheckNear(RunOp("BiasAdd", "", {{{2, 2}, {1, 2, 3, 4}}, {{2}, {10, 20}}}, {{2, 2}})[0],
            {11, 22, 13, 24});
  CheckNear(RunOp("BiasAdd",
                  R"({"data_format": "NCHW"})",
                  {{{1, 2, 2}, {1, 2, 3, 4}}, {{2}, {10, 20}}},
                  {{1, 2, 2}})[0],
            {11, 12, 23, 24});
  CheckNear(RunOp("BiasAddGrad", "", {{{2, 1, 2}, {1, 2, 3, 4}}}, {{2}})[0], {4, 6});
  const Values x{1, 2, 3, 4, 5, 6};
  CheckNear(
      RunOp("Sum", R"({"axis": [1], "keep_dims": true})", {{{2, 3}, x}, {{1}, {1}}}, {{2, 1}})[0],
      {6, 15});
  CheckNear(RunOp("Sum", R"({"axis": 0})", {{{2, 3}, x}, {{}, {0}}}, {{3}})[0], {5, 7, 9});
  CheckNear(RunOp("Mean", "", {{{2, 3}, x}}, {{}})[0], {3.5});
  CheckNear(RunOp("L2Loss", "", {{{2, 3}, x}}, {{}})[0], {45.5});
}

TEST_CASE("elementwise ops broadcast, losses and activations") {
  CheckNear(RunOp("Mul", "", {{{2, 1}, {2, 3}}, {{2, 2}, {1, 2, 3, 4}}}, {{2, 2}})[0],
            {2, 4, 9, 12});
  CheckNear(RunOp("Sub", "", {{{2}, {5, 6}}, {{}, {2}}}, {{2}})[0], {3, 4});
  CheckNear(RunOp("RealDiv", "", {{{2}, {5, 6}}, {{}, {2}}}, {{2}})[0], {2.5, 3});
  CheckNear(RunOp("AddN", "", {{{2}, {1, 2}}, {{2}, {3, 4}}, {{2}, {5, 6}}}, {{2}})[0], {9, 12});
  // y (1 - y) dy; (1 - y y) dy
  CheckNear(RunOp("SigmoidGrad", "", {{{1}, {0.25}}, {{1}, {2}}}, {{1}})[0], {0.375});
  CheckNear(RunOp("TanhGrad", "", {{{1}, {0.5}}, {{1}, {2}}}, {{1}})[0], {1.5});
  CheckNear(RunOp("ReluGrad", "", {{{3}, {1, 2, 3}}, {{3}, {-1, 0, 4}}}, {{3}})[0], {0, 0, 3});
  // Equal logits: loss ln 2; softmax - one hot
  TinyGraph graph;
  const int logits = graph.Input({2, 2}, {0, 0, 1, 1});
  const int labels = graph.Input({2}, {0, 1}, DType::kI32);
  const auto outputs = graph.AddOp("SparseSoftmaxCrossEntropyWithLogits",
                                   "",
                                   {logits, labels},
                                   {{.shape = {2}}, {.shape = {2, 2}}});
  const int condition = graph.Input({2, 2}, {1, 0, 0, 1}, DType::kBool);
  const int scalar = graph.Input({}, {7});
  const int chosen =
      graph.AddOp("SelectV2", "", {condition, logits, scalar}, {{.shape = {2, 2}}})[0];
  const int compared = graph.AddOp(
      "GreaterEqual", "", {logits, scalar}, {{.shape = {2, 2}, .dtype = DType::kBool}})[0];
  graph.Run();
  CheckNear(graph.Read(outputs[0]), {std::log(2.0), std::log(2.0)});
  CheckNear(graph.Read(outputs[1]), {-0.5, 0.5, 0.5, -0.5});
  CheckNear(graph.Read(chosen), {0, 7, 7, 1});
  CheckNear(graph.Read(compared), {0, 0, 0, 0});
}

TEST_CASE("pieces and wholes") {
  const Values x{1, 2, 3, 4, 5, 6};
  CheckNear(RunOp("ConcatV2",
                  R"({"axis": -1})",
                  {{{2, 1}, {1, 2}}, {{2, 2}, {3, 4, 5, 6}}, {{}, {1}}},
                  {{2, 3}})[0],
            {1, 3, 4, 2, 5, 6});
  const auto split = RunOp("Split", R"({"axis": 1})", {{{}, {1}}, {{1, 6}, x}}, {{1, 3}, {1, 3}});
  CheckNear(split[0], {1, 2, 3});
  CheckNear(split[1], {4, 5, 6});
  const auto sizes = RunOp("SplitV", "", {{{2, 3}, x}, {{2}, {1, 2}}, {{}, {1}}}, {{2, 1}, {2, 2}});
  CheckNear(sizes[0], {1, 4});
  CheckNear(sizes[1], {2, 3, 5, 6});
  CheckNear(RunOp("Pack", R"({"axis": 1})", {{{2}, {1, 2}}, {{2}, {3, 4}}}, {{2, 2}})[0],
            {1, 3, 2, 4});
  const auto rows = RunOp("Unpack", R"({"axis": 1})", {{{2, 3}, x}}, {{2}, {2}, {2}});
  CheckNear(rows[2], {3, 6});
  CheckNear(RunOp("Slice",
                  R"({"begin": [0, 1], "size": [2, 2]})",
                  {{{2, 3}, x}, {{2}, {0, 1}}, {{2}, {2, 2}}},
                  {{2, 2}})[0],
            {2, 3, 5, 6});
  // A begin that is data counts as 0.
  CheckNear(
      RunOp(
          "Slice", R"({"size": [1, 2]})", {{{2, 3}, x}, {{2}, {1, 1}}, {{2}, {1, 2}}}, {{1, 2}})[0],
      {1, 2});
  // x[:, 1:]: begin counts on axis 1 only, end nowhere.
  const std::string strided =
      R"({"begin": [0, 1], "end": [0, 0], "strides": [1, 1], "begin_mask": 1, "end_mask": 3})";
  CheckNear(RunOp("StridedSlice", strided, {{{2, 3}, x}}, {{2, 2}})[0], {2, 3, 5, 6});
  CheckNear(RunOp("StridedSliceGrad",
                  strided,
                  {{{2}, {2, 3}}, {{1}, {0}}, {{1}, {0}}, {{1}, {0}}, {{2, 2}, {1, 2, 3, 4}}},
                  {{2, 3}})[0],
            {0, 1, 2, 0, 3, 4});
  // x[-1, ::2]
  CheckNear(RunOp("StridedSlice",
                  R"({"begin": [-1, 0], "end": [0, 3], "strides": [1, 2], "shrink_axis_mask": 1})",
                  {{{2, 3}, x}},
                  {{2}})[0],
            {4, 6});
  CheckNear(RunOp("Pad", R"({"paddings": [[1, 0], [0, 1]]})", {{{1, 2}, {1, 2}}}, {{2, 3}})[0],
            {0, 0, 0, 1, 2, 0});
  CheckNear(RunOp("Tile", R"({"multiples": [2, 3]})", {{{1, 2}, {1, 2}}}, {{2, 6}})[0],
            {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2});
  CheckNear(RunOp("Transpose", R"({"perm": [1, 0]})", {{{2, 3}, x}}, {{3, 2}})[0],
            {1, 4, 2, 5, 3, 6});
  CheckNear(RunOp("Fill", "", {{{1}, {2}}, {{}, {4}}}, {{2}})[0], {4, 4});
}

TEST_CASE("rows by index, and updates in place") {
  TinyGraph graph;
  const int table = graph.Input({3, 2}, {1, 2, 3, 4, 5, 6});
  const int indices = graph.Input({3}, {2, -1, 0}, DType::kI32);  // -1 is row 2, modulo 3
  const int rows = graph.Input({3, 2}, {10, 10, 1, 1, 2, 2});
  const int gathered =
      graph.AddOp("GatherV2", R"({"axis": 0})", {table, indices}, {{.shape = {3, 2}}})[0];
  const int sums = graph.AddOp("UnsortedSegmentSum", "", {rows, indices}, {{.shape = {3, 2}}})[0];
  graph.Run();
  CheckNear(graph.Read(gathered), {5, 6, 5, 6, 1, 2});
  CheckNear(graph.Read(sums), {2, 2, 0, 0, 11, 11});

  TinyGraph scatter;
  const int variable = scatter.Input({3, 2}, {1, 2, 3, 4, 5, 6});
  const int at = scatter.Input({3}, {2, 2, 0}, DType::kI32);
  const int values = scatter.Input({3, 2}, {10, 10, 1, 1, 2, 2});
  const int after = scatter.AddOp(
      "ScatterSub", "", {variable, at, values}, {{.shape = {3, 2}, .alias_of = variable}})[0];
  const int copied = scatter.AddOp("ScatterAdd", "", {after, at, values}, {{.shape = {3, 2}}})[0];
  scatter.Run();
  CheckNear(scatter.Read(variable), {-1, 0, 3, 4, -6, -5});
  CheckNear(scatter.Read(copied), {1, 2, 3, 4, 5, 6});
}

TEST_CASE("optimisers update weights and the state that only is an input") {
  const double rate = KernelParams{}.learning_rate;  // 1e-6: weights stay, state moves
  TinyGraph graph;
  const auto scalar = [&] { return graph.Input({}, {0.5}); };
  const int w = graph.Input({2}, {0, 0}), velocity = graph.Input({2}, {1, 0}),
            gradient = graph.Input({2}, {3, 4});
  const int momentum = graph.AddOp("ApplyMomentum",
                                   "",
                                   {w, velocity, scalar(), gradient, scalar()},
                                   {{.shape = {2}, .alias_of = w}})[0];
  const int v = graph.Input({2}, {0, 0}), m1 = graph.Input({2}, {0, 0}),
            m2 = graph.Input({2}, {0, 0});
  graph.AddOp("ApplyAdam",
              "",
              {v, m1, m2, scalar(), scalar(), scalar(), scalar(), scalar(), scalar(), gradient},
              {{.shape = {2}, .alias_of = v}});
  const int u = graph.Input({2}, {0, 0}), ms = graph.Input({2}, {0, 0}),
            mom = graph.Input({2}, {0, 0});
  graph.AddOp("ApplyRMSProp",
              "",
              {u, ms, mom, scalar(), scalar(), scalar(), scalar(), gradient},
              {{.shape = {2}, .alias_of = u}});
  const int s = graph.Input({2}, {0, 0});
  graph.AddOp("ApplyGradientDescent", "", {s, scalar(), gradient}, {{.shape = {2}, .alias_of = s}});
  const int z = graph.Input({2}, {1, 2});
  graph.AddOp("AssignSub", "", {z, gradient}, {{.shape = {2}, .alias_of = z}});
  graph.Run();
  CheckNear(graph.Read(velocity), {0.9 * 1 + 3, 4});
  CheckNear(graph.Read(momentum), {-3.9 * rate, -4 * rate}, 1e-11);
  CheckNear(graph.Read(m1), {0.1 * 3, 0.1 * 4});
  CheckNear(graph.Read(m2), {0.001 * 9, 0.001 * 16});
  CheckNear(graph.Read(ms), {0.1 * 9, 0.1 * 16});
  CheckNear(graph.Read(mom), {rate * 3 / std::sqrt(1.9), rate * 4 / std::sqrt(2.6)}, 1e-11);
  CheckNear(graph.Read(s), {-3 * rate, -4 * rate}, 1e-11);
  CheckNear(graph.Read(z), {-2, -2});
}

TEST_CASE("functions of one and two numbers") {
  const auto apply = [](const std::string& kind) {
    return RunOp(kind, "", {{{2}, {0.25, 9}}}, {{2}})[0];
  };
  CheckNear(apply("Rsqrt"), {2, 1 / 3.0});
  CheckNear(apply("Square"), {0.0625, 81});
  CheckNear(apply("Relu6"), {0.25, 6});
  CheckNear(apply("Floor"), {0, 9});
  CheckNear(apply("Erf"), {std::erf(0.25), 1});
  CheckNear(apply("Softplus"), {std::log(1 + std::exp(0.25)), std::log(1 + std::exp(9))});
  CheckNear(RunOp("Pow", "", {{{2}, {2, 9}}, {{}, {0.5}}}, {{2}})[0], {std::sqrt(2), 3});
  CheckNear(RunOp("SoftplusGrad", "", {{{1}, {3}}, {{1}, {0}}}, {{1}})[0], {1.5});
  CheckNear(RunOp("Max", R"({"axis": [0]})", {{{2, 2}, {1, 8, 3, -4}}, {{1}, {0}}}, {{2}})[0],
            {3, 8});
  TinyGraph graph;
  const int x = graph.Input({3}, {1, 2, 3}), y = graph.Input({}, {2});
  const std::vector<TinyGraph::Output> bools{{.shape = {3}, .dtype = DType::kBool}};
  const int less = graph.AddOp("Less", "", {x, y}, bools)[0];
  const int equal = graph.AddOp("Equal", "", {x, y}, bools)[0];
  const int either = graph.AddOp("LogicalOr", "", {less, equal}, bools)[0];
  const int neither = graph.AddOp("LogicalNot", "", {either}, bools)[0];
  graph.Run();
  CHECK(graph.Read(either) == TinyGraph::Values{1, 1, 0});
  CHECK(graph.Read(neither) == TinyGraph::Values{0, 0, 1});
}

}  // namespace
}  // namespace emplace::testing
