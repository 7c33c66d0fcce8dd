// PyTorch's norms against hand calculations and finite differences.

#include <cmath>

#include <doctest/doctest.h>

#include "tests/profilers/kernels/tiny_graph.h"

namespace emplace::testing {
namespace {

using NormShape = TinyGraph::Shape;
using NormValues = TinyGraph::Values;

TEST_CASE("batch norm updates its running statistics in place; its gradient") {
  TinyGraph graph;
  // One channel, x = 1 3: mean 2, variance 1, unbiased 2.
  const int x = graph.Input({1, 1, 1, 2}, {1, 3}), scale = graph.Input({1}, {2}),
            offset = graph.Input({1}, {10}), mean = graph.Input({1}, {1}),
            variance = graph.Input({1}, {1});
  const auto y = graph.AddOp("aten._native_batch_norm_legit_functional",
                             R"({"training": true, "momentum": 0.25, "eps": 0.5})",
                             {x, scale, offset, mean, variance},
                             {{.shape = {1, 1, 1, 2}},
                              {.shape = {1}},
                              {.shape = {1}},
                              {.shape = {1}, .alias_of = mean},
                              {.shape = {1}, .alias_of = variance}});
  const int dy = graph.Input({1, 1, 1, 2}, {1, -1});
  const auto gradient =
      graph.AddOp("aten.native_batch_norm_backward",
                  R"({"train": true, "eps": 0.5, "output_mask": [true, true, true]})",
                  {dy, x, scale, y[3], y[4], y[1], y[2]},
                  {{.shape = {1, 1, 1, 2}}, {.shape = {1}}, {.shape = {1}}});
  graph.Run();
  const double s = 1 / std::sqrt(1.5);
  CheckNear(graph.Read(y[0]), {10 - 2 * s, 10 + 2 * s});
  CheckNear(graph.Read(y[1]), {2});
  CheckNear(graph.Read(y[2]), {s});
  CheckNear(graph.Read(mean), {0.75 * 1 + 0.25 * 2});
  CheckNear(graph.Read(variance), {0.75 * 1 + 0.25 * 2});
  // z = -s, s: doffset = 0, dscale = -2 s, dx = 2 s (dy + z s)
  CheckNear(graph.Read(gradient[0]), {2 * s * (1 - s * s), 2 * s * (-1 + s * s)});
  CheckNear(graph.Read(gradient[1]), {-2 * s});
  CheckNear(graph.Read(gradient[2]), {0});
}

TEST_CASE("group norm, and layer norm without scale: by hand and by finite differences") {
  // Two groups of two channels of two: 0 2 4 6 has mean 3 and variance 5, 1 1 3 3 mean 2 and 1.
  const NormShape x{1, 4, 2}, c{4}, g{1, 2};
  const std::string groups = R"({"N": 1, "C": 4, "HxW": 2, "group": 2, "eps": 0.0})";
  const NormValues values{0, 2, 4, 6, 1, 1, 3, 3};
  const auto plain = RunOp("aten.native_group_norm", groups, {{x, values}}, {x, g, g});
  const double s = std::sqrt(5);
  CheckNear(plain[0], {-3 / s, -1 / s, 1 / s, 3 / s, -1, -1, 1, 1});
  CheckNear(plain[1], {3, 2});
  CheckNear(plain[2], {1 / s, 1});
  const auto rows = RunOp("aten.native_layer_norm",
                          R"({"normalized_shape": [4], "eps": 0.0})",
                          {{{2, 4}, values}},
                          {{2, 4}, {2, 1}, {2, 1}});
  CheckNear(rows[0], plain[0]);

  Rng rng(9);
  const NormShape image{2, 4, 1, 3}, of_groups{2, 2};
  const std::string eps = R"({"N": 2, "C": 4, "HxW": 3, "group": 2, "eps": 0.1})";
  const NormValues a = RandomValues(image, rng), scale = RandomValues(c, rng),
                   offset = RandomValues(c, rng), dy = RandomValues(image, rng);
  const auto norm = [&](const NormValues& in, const NormValues& by, const NormValues& plus) {
    return RunOp("aten.native_group_norm",
                 eps,
                 {{image, in}, {c, by}, {c, plus}},
                 {image, of_groups, of_groups});
  };
  const auto forward = norm(a, scale, offset);
  const auto gradients =
      RunOp("aten.native_group_norm_backward",
            eps,
            {{image, dy}, {image, a}, {of_groups, forward[1]}, {of_groups, forward[2]}, {c, scale}},
            {image, c, c});
  CheckNear(gradients[0],
            Gradient(a, dy, [&](const NormValues& in) { return norm(in, scale, offset)[0]; }),
            2e-3);
  CheckNear(gradients[1],
            Gradient(scale, dy, [&](const NormValues& by) { return norm(a, by, offset)[0]; }),
            2e-3);
  CheckNear(gradients[2],
            Gradient(offset, dy, [&](const NormValues& plus) { return norm(a, scale, plus)[0]; }),
            2e-3);
  // Without scale: that of ones.
  const NormValues ones(4, 1), zeros(4, 0);
  const auto unscaled =
      RunOp("aten.native_group_norm_backward",
            R"({"N": 2, "C": 4, "HxW": 3, "group": 2, "output_mask": [true, false, false]})",
            {{image, dy}, {image, a}, {of_groups, forward[1]}, {of_groups, forward[2]}},
            {image});
  CheckNear(unscaled[0],
            Gradient(a, dy, [&](const NormValues& in) { return norm(in, ones, zeros)[0]; }),
            2e-3);
}

TEST_CASE("layer norm of permuted images: that of the copied ones, forward and backward") {
  Rng rng(10);
  const NormShape image{2, 3, 2, 2}, pixels{2, 2, 2, 3}, statistic{2, 2, 2, 1}, width{3};
  const std::string eps = R"({"normalized_shape": [3], "eps": 0.1})";
  const NormValues values = RandomValues(image, rng), scale = RandomValues(width, rng),
                   offset = RandomValues(width, rng), dy = RandomValues(pixels, rng);
  std::vector<NormValues> results[2];
  for (const bool is_copied : {false, true}) {
    TinyGraph graph;
    const int x = graph.Input(image, values), by = graph.Input(width, scale),
              plus = graph.Input(width, offset), gradient = graph.Input(pixels, dy);
    int rows = graph.AddOp(
        "aten.permute", R"({"dims": [0, 2, 3, 1]})", {x}, {{.shape = pixels, .alias_of = x}})[0];
    if (is_copied) rows = graph.AddOp("aten.clone", "", {rows}, {{.shape = pixels}})[0];
    const auto y = graph.AddOp("aten.native_layer_norm",
                               eps,
                               {rows, by, plus},
                               {{.shape = pixels}, {.shape = statistic}, {.shape = statistic}});
    const auto d = graph.AddOp("aten.native_layer_norm_backward",
                               eps,
                               {gradient, rows, y[1], y[2], by, plus},
                               {{.shape = pixels}, {.shape = width}, {.shape = width}});
    graph.Run();
    for (const auto& outputs : {y, d}) {
      for (const int id : outputs) results[is_copied].push_back(graph.Read(id));
    }
  }
  for (size_t i = 0; i < results[0].size(); ++i) CheckNear(results[0][i], results[1][i]);
}

}  // namespace
}  // namespace emplace::testing
