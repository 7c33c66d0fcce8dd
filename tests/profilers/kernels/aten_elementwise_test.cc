// PyTorch's elementwise ops against hand calculations and finite differences.

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/profilers/kernels/tiny_graph.h"

namespace emplace::testing {
namespace {

using ElementValues = TinyGraph::Values;

ElementValues Apply(const std::string& kind,
                    const std::string& attributes,
                    const ElementValues& x) {
  const TinyGraph::Shape shape{static_cast<std::int64_t>(x.size())};
  return RunOp(kind, attributes, {{shape, x}}, {shape})[0];
}

TEST_CASE("functions of one number") {
  CheckNear(Apply("aten.pow.Tensor_Scalar", R"({"exponent": 2})", {-3, 2}), {9, 4});
  CheckNear(Apply("aten.pow.Tensor_Scalar", R"({"exponent": 3})", {-3, 2}), {-27, 8});
  CheckNear(Apply("aten.pow.Tensor_Scalar", R"({"exponent": 0.5})", {9, 2}), {3, std::sqrt(2)});
  CheckNear(Apply("aten.pow.Tensor_Scalar", R"({"exponent": -2})", {-4, 2}), {1 / 16.0, 0.25});
  CheckNear(RunOp("aten.pow", "", {{{2}, {2, 3}}, {{2}, {3, -1}}}, {{2}})[0], {8, 1 / 3.0});
  CheckNear(Apply("aten.rsqrt", "", {4, 0.25}), {0.5, 2});
  CheckNear(Apply("aten.reciprocal", "", {4, -0.25}), {0.25, -4});
  CheckNear(Apply("aten.abs", "", {4, -0.25}), {4, 0.25});
  CheckNear(Apply("aten.floor", "", {1.75, -0.25}), {1, -1});
  CheckNear(Apply("aten.sin", "", {1, -2}), {std::sin(1), std::sin(-2)});
  CheckNear(Apply("aten.cos", "", {1, -2}), {std::cos(1), std::cos(-2)});
  CheckNear(Apply("aten.erf", "", {1, -2}), {std::erf(1), std::erf(-2)});
  CheckNear(Apply("aten.clamp", R"({"min": 0, "max": 6})", {-1, 3, 7}), {0, 3, 6});
  CheckNear(Apply("aten.clamp", R"({"max": 6})", {-1, 3, 7}), {-1, 3, 6});
  CheckNear(Apply("aten.clamp_min", R"({"min": 0})", {-1, 3, 7}), {0, 3, 7});
  CheckNear(Apply("aten.hardtanh", "", {-2, 0.5, 7}), {-1, 0.5, 1});
  CheckNear(Apply("aten.hardtanh", R"({"min_val": 0, "max_val": 6})", {-2, 0.5, 7}), {0, 0.5, 6});
}

TEST_CASE("activations") {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  CheckNear(Apply("aten.silu", "", {-2, 1}), {-2 * sigmoid(-2), sigmoid(1)});
  CheckNear(Apply("aten.hardsigmoid", "", {-4, 0, 1.5, 4}), {0, 0.5, 0.75, 1});
  CheckNear(Apply("aten.hardswish", "", {-4, 0, 1.5, 4}), {0, 0, 1.125, 4});
  CheckNear(Apply("aten.leaky_relu", "", {-2, 3}), {-0.02, 3});
  CheckNear(Apply("aten.elu", R"({"alpha": 2})", {-1, 3}), {2 * (std::exp(-1) - 1), 3});
  CheckNear(Apply("aten.softplus", "", {0, 50}), {std::log(2), 50});
}

TEST_CASE("gradients of activations by finite differences") {
  struct Case {
    std::string forward, attributes;
    bool from_result = false;  // the gradient reads what the activation made
  };
  const std::vector<Case> cases{
      {"aten.silu", ""},
      {"aten.hardsigmoid", ""},
      {"aten.hardswish", ""},
      {"aten.leaky_relu", R"({"negative_slope": 0.25})"},
      {"aten.elu", R"({"alpha": 1.5})"},
      {"aten.hardtanh", R"({"min_val": -2, "max_val": 3})"},
      {"aten.softplus", R"({"beta": 1, "threshold": 20})"},
      {"aten.gelu", ""},
      {"aten.gelu", R"({"approximate": "tanh"})"},
      {"aten.sigmoid", "", true},
      {"aten.tanh", "", true},
  };
  // A step away from every kink.
  const ElementValues x{-4, -2.5, -1, -0.5, 0.5, 1, 2.5, 4}, dy{1, -2, 3, -1, 2, 1, -1, 2};
  const TinyGraph::Shape shape{8};
  for (const Case& activation : cases) {
    CAPTURE(activation.forward);
    const auto forward = [&](const ElementValues& at) {
      return Apply(activation.forward, activation.attributes, at);
    };
    CheckNear(RunOp(activation.forward + "_backward",
                    activation.attributes,
                    {{shape, dy}, {shape, activation.from_result ? forward(x) : x}},
                    {shape})[0],
              Gradient(x, dy, forward),
              1e-3);
  }
}

TEST_CASE("comparisons and logic") {
  TinyGraph graph;
  const int a = graph.Input({3}, {1, 2, 3}, DType::kI64),
            b = graph.Input({3}, {3, 2, 1}, DType::kI64);
  const std::vector<TinyGraph::Output> bools{{.shape = {3}, .dtype = DType::kBool}};
  const auto compare = [&](const std::string& kind) {
    return graph.AddOp(kind, "", {a, b}, bools)[0];
  };
  const int less = compare("aten.lt.Tensor"), at_most = compare("aten.le"),
            equal = compare("aten.eq"), unequal = compare("aten.ne"), greater = compare("aten.gt"),
            at_least = compare("aten.ge");
  const int two = graph.AddOp("aten.eq.Scalar", R"({"other": 2})", {a}, bools)[0];
  const int both = graph.AddOp("aten.bitwise_and", "", {at_most, at_least}, bools)[0];
  const int either = graph.AddOp("aten.logical_or", "", {less, greater}, bools)[0];
  const int one = graph.AddOp("aten.bitwise_xor", "", {at_most, equal}, bools)[0];
  const int neither = graph.AddOp("aten.logical_not", "", {either}, bools)[0];
  graph.Run();
  CHECK(graph.Read(less) == ElementValues{1, 0, 0});
  CHECK(graph.Read(at_most) == ElementValues{1, 1, 0});
  CHECK(graph.Read(equal) == ElementValues{0, 1, 0});
  CHECK(graph.Read(unequal) == ElementValues{1, 0, 1});
  CHECK(graph.Read(greater) == ElementValues{0, 0, 1});
  CHECK(graph.Read(at_least) == ElementValues{0, 1, 1});
  CHECK(graph.Read(two) == ElementValues{0, 1, 0});
  CHECK(graph.Read(both) == ElementValues{0, 1, 0});
  CHECK(graph.Read(either) == ElementValues{1, 0, 1});
  CHECK(graph.Read(one) == ElementValues{1, 0, 0});
  CHECK(graph.Read(neither) == ElementValues{0, 1, 0});
}

}  // namespace
}  // namespace emplace::testing
