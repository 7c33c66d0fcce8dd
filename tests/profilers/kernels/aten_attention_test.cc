// PyTorch's attention against a hand calculation and finite differences.

#include <cmath>

#include <doctest/doctest.h>

#include "tests/profilers/kernels/tiny_graph.h"

namespace emplace::testing {
namespace {

using AttentionValues = TinyGraph::Values;

TEST_CASE("attention of two words, with a mask, and causal") {
  // q k^T = [1 2; 3 6] with scale 1; v = 10, 20.
  const TinyGraph::Shape one{1, 1, 2, 1};
  const AttentionValues q{1, 3}, k{1, 2}, v{10, 20};
  const auto softmax = [](double a, double b) { return std::exp(a) / (std::exp(a) + std::exp(b)); };
  const double first = softmax(1, 2), second = softmax(3, 6);
  const std::string kind = "aten._scaled_dot_product_flash_attention_for_cpu";
  const auto plain =
      RunOp(kind, R"({"scale": 1.0})", {{one, q}, {one, k}, {one, v}}, {one, {1, 1, 2}});
  CheckNear(plain[0], {20 - 10 * first, 20 - 10 * second});
  CheckNear(plain[1], {std::log(std::exp(1) + std::exp(2)), std::log(std::exp(3) + std::exp(6))});
  const auto causal = RunOp(kind,
                            R"({"scale": 1.0, "is_causal": true})",
                            {{one, q}, {one, k}, {one, v}},
                            {one, {1, 1, 2}});
  CheckNear(causal[0], {10, 20 - 10 * second});
  // A mask that all batches and heads share, of the last word of every query.
  const auto masked = RunOp("aten.scaled_dot_product_attention",
                            R"({"scale": 1.0})",
                            {{one, q}, {one, k}, {one, v}, {{1, 2}, {0, -1000}}},
                            {one});
  CheckNear(masked[0], {10, 10});
  // Without a scale it is 1 / sqrt(width), here 1; sums may have rows of padding behind.
  const auto padded = RunOp("aten._scaled_dot_product_efficient_attention",
                            "",
                            {{one, q}, {one, k}, {one, v}},
                            {one, {1, 1, 32}});
  CheckNear(padded[0], plain[0]);
  CHECK(padded[1][1] == doctest::Approx(plain[1][1]));
}

TEST_CASE("gradients of attention by finite differences") {
  Rng rng(8);
  const TinyGraph::Shape of_q{2, 1, 3, 2}, of_k{2, 1, 4, 2}, of_v{2, 1, 4, 3}, of_y{2, 1, 3, 3},
      sums{2, 1, 3}, of_mask{2, 1, 3, 4};
  const AttentionValues q = RandomValues(of_q, rng), k = RandomValues(of_k, rng),
                        v = RandomValues(of_v, rng), dy = RandomValues(of_y, rng),
                        mask = RandomValues(of_mask, rng);
  const std::string kind = "aten._scaled_dot_product_flash_attention_for_cpu";
  const auto forward =
      [&](const AttentionValues& a, const AttentionValues& b, const AttentionValues& c) {
        return RunOp(kind, "", {{of_q, a}, {of_k, b}, {of_v, c}, {of_mask, mask}}, {of_y, sums})[0];
      };
  const auto gradients = RunOp(kind + "_backward",
                               R"({"dropout_p": 0.0, "is_causal": false})",
                               {{of_y, dy},
                                {of_q, q},
                                {of_k, k},
                                {of_v, v},
                                {of_y, forward(q, k, v)},
                                {sums, AttentionValues(6)},
                                {of_mask, mask}},
                               {of_q, of_k, of_v});
  using Values = AttentionValues;
  CheckNear(gradients[0], Gradient(q, dy, [&](const Values& a) { return forward(a, k, v); }), 1e-3);
  CheckNear(gradients[1], Gradient(k, dy, [&](const Values& b) { return forward(q, b, v); }), 1e-3);
  CheckNear(gradients[2], Gradient(v, dy, [&](const Values& c) { return forward(q, k, c); }), 1e-3);
}

}  // namespace
}  // namespace emplace::testing
