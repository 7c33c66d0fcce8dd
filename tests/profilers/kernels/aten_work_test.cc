// PyTorch's ops against hand calculations, finite differences and adjointness.

#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/profilers/kernels/tiny_graph.h"

namespace emplace::testing {
namespace {

using std::int64_t;
using Shape = TinyGraph::Shape;
using Values = TinyGraph::Values;

TEST_CASE("products with transposed operands and biases") {
  TinyGraph graph;
  // w^T = 1 3 5   x w^T + bias with x = [1 1]: 3 7 11, and 10 20 30 more
  //       2 4 6
  const int w = graph.Input({3, 2}, {1, 2, 3, 4, 5, 6});
  const int x = graph.Input({1, 2}, {1, 1});
  const int bias = graph.Input({3}, {10, 20, 30});
  const int t = graph.AddOp("aten.t", "", {w}, {{.shape = {2, 3}, .alias_of = w}})[0];
  const int y = graph.AddOp("aten.addmm", "", {bias, x, t}, {{.shape = {1, 3}}})[0];
  const int z = graph.AddOp("aten.mm", "", {x, t}, {{.shape = {1, 3}}})[0];
  // A bias for every element is a product and a sum.
  const int two = graph.Input({2, 2}, {1, 1, 2, 2});
  const int matrix = graph.Input({2, 3}, {1, 2, 3, 4, 5, 6});
  const int sum = graph.AddOp("aten.addmm", "", {matrix, two, t}, {{.shape = {2, 3}}})[0];
  const int batch =
      graph.AddOp("aten.unsqueeze", R"({"dim": 0})", {t}, {{.shape = {1, 2, 3}, .alias_of = t}})[0];
  const int left = graph.Input({1, 1, 2}, {0, 1});
  const int b = graph.AddOp("aten.bmm", "", {left, batch}, {{.shape = {1, 1, 3}}})[0];
  graph.Run();
  CheckNear(graph.Read(y), {13, 27, 41});
  CheckNear(graph.Read(z), {3, 7, 11});
  CheckNear(graph.Read(sum), {4, 9, 14, 10, 19, 28});
  CheckNear(graph.Read(b), {2, 4, 6});
}

TEST_CASE("scaled products, and a bias left out") {
  const TinyGraph::Shape one{1, 1, 1};
  const auto product = [&](const std::string& attributes) {
    return RunOp("aten.baddbmm", attributes, {{one, {5}}, {one, {2}}, {one, {3}}}, {one})[0];
  };
  CheckNear(product(""), {11});
  CheckNear(product(R"({"alpha": 0.5})"), {8});
  CheckNear(product(R"({"beta": 0, "alpha": 0.5})"), {3});
}

TEST_CASE("adaptive pooling that parts the image evenly") {
  const Values x{1, 2, 3, 4, 5, 6, 7, 8};
  CheckNear(RunOp("aten._adaptive_avg_pool2d", "", {{{1, 1, 2, 4}, x}}, {{1, 1, 1, 2}})[0],
            {(1 + 2 + 5 + 6) / 4.0, (3 + 4 + 7 + 8) / 4.0});
  CheckNear(RunOp("aten._adaptive_avg_pool2d_backward",
                  "",
                  {{{1, 1, 1, 2}, {4, 8}}, {{1, 1, 2, 4}, x}},
                  {{1, 1, 2, 4}})[0],
            {1, 1, 2, 2, 1, 1, 2, 2});
}

TEST_CASE("convolution_backward: adjoint to convolution, with groups, padding, dilation, masks") {
  Rng rng(5);
  for (int trial = 0; trial < 20; ++trial) {
    CAPTURE(trial);
    const int groups = 1 + UniformInt(rng, 2), stride = 1 + UniformInt(rng, 2),
              padding = UniformInt(rng, 2), dilation = 1 + UniformInt(rng, 2);
    const Shape x{2, 2 * groups, 7, 8}, w{3 * groups, 2, 3, 2}, k{w[0]};
    const auto windows = [&](int64_t size, int64_t window) {
      return (size + 2 * padding - (window - 1) * dilation - 1) / stride + 1;
    };
    const Shape y{2, w[0], windows(7, 3), windows(8, 2)};
    const std::string geometry = fmt::format(
        R"("stride": [{0}, {0}], "padding": [{1}, {1}], "dilation": [{2}, {2}], "groups": {3})",
        stride,
        padding,
        dilation,
        groups);
    const auto convolve = [&](const Values& a, const Values& b, const Values& c) {
      return RunOp("aten.convolution", "{" + geometry + "}", {{x, a}, {w, b}, {k, c}}, {y})[0];
    };
    const Values a = RandomValues(x, rng), b = RandomValues(w, rng), c = RandomValues(k, rng),
                 dy = RandomValues(y, rng), zero_x(a.size(), 0), zero_k(c.size(), 0);
    const auto gradients = RunOp("aten.convolution_backward",
                                 "{" + geometry + R"(, "output_mask": [true, true, true]})",
                                 {{y, dy}, {x, a}, {w, b}},
                                 {x, w, k});
    const double product = Dot(convolve(a, b, zero_k), dy);
    CHECK(Dot(gradients[0], a) == doctest::Approx(product).epsilon(1e-4).scale(1));
    CHECK(Dot(gradients[1], b) == doctest::Approx(product).epsilon(1e-4).scale(1));
    CHECK(Dot(gradients[2], c) ==
          doctest::Approx(Dot(convolve(zero_x, b, c), dy)).epsilon(1e-4).scale(1));
    // Only the filter's gradient.
    const auto filter = RunOp("aten.convolution_backward",
                              "{" + geometry + R"(, "output_mask": [false, true, false]})",
                              {{y, dy}, {x, a}, {w, b}},
                              {w});
    CheckNear(filter[0], gradients[1]);
  }
}

TEST_CASE("a transposed convolution is the adjoint of the plain one; its gradients") {
  Rng rng(6);
  for (int trial = 0; trial < 20; ++trial) {
    CAPTURE(trial);
    const int groups = 1 + UniformInt(rng, 2), stride = 1 + UniformInt(rng, 2),
              padding = UniformInt(rng, 2), dilation = 1 + UniformInt(rng, 2),
              more = UniformInt(rng, stride);  // output_padding
    const Shape x{2, 3 * groups, 4, 5}, w{3 * groups, 2, 3, 2}, k{2 * groups};
    const auto size = [&](int64_t windows, int64_t window) {
      return (windows - 1) * stride - 2 * padding + dilation * (window - 1) + more + 1;
    };
    const Shape y{2, k[0], size(4, 3), size(5, 2)};
    const std::string geometry = fmt::format(
        R"("stride": [{0}, {0}], "padding": [{1}, {1}], "dilation": [{2}, {2}], "groups": {3},
           "output_padding": [{4}, {4}])",
        stride,
        padding,
        dilation,
        groups,
        more);
    const std::string transposed = geometry + R"(, "transposed": true)";
    const auto convolve = [&](const Values& a, const Values& b, const Values& c) {
      return RunOp("aten.convolution", "{" + transposed + "}", {{x, a}, {w, b}, {k, c}}, {y})[0];
    };
    const Values a = RandomValues(x, rng), b = RandomValues(w, rng), c = RandomValues(k, rng),
                 dy = RandomValues(y, rng), zero_x(a.size(), 0), zero_k(c.size(), 0);
    // <transposed(a), dy> = <a, plain(dy)>
    const double product = Dot(convolve(a, b, zero_k), dy);
    const Values plain = RunOp("aten.convolution", "{" + geometry + "}", {{y, dy}, {w, b}}, {x})[0];
    CHECK(Dot(plain, a) == doctest::Approx(product).epsilon(1e-4).scale(1));
    const auto gradients = RunOp("aten.convolution_backward",
                                 "{" + transposed + R"(, "output_mask": [true, true, true]})",
                                 {{y, dy}, {x, a}, {w, b}},
                                 {x, w, k});
    CHECK(Dot(gradients[0], a) == doctest::Approx(product).epsilon(1e-4).scale(1));
    CHECK(Dot(gradients[1], b) == doctest::Approx(product).epsilon(1e-4).scale(1));
    CHECK(Dot(gradients[2], c) ==
          doctest::Approx(Dot(convolve(zero_x, b, c), dy)).epsilon(1e-4).scale(1));
  }
}

TEST_CASE("a convolution over a line, and its gradients") {
  // Windows of 2, stride 2, padding 1 over 1 2 3: [0 1] [2 3] with w = 1, 10 and bias 5.
  const std::string line = R"({"stride": [2], "padding": [1], "dilation": [1]})";
  CheckNear(RunOp("aten.convolution",
                  line,
                  {{{1, 1, 3}, {1, 2, 3}}, {{1, 1, 2}, {1, 10}}, {{1}, {5}}},
                  {{1, 1, 2}})[0],
            {15, 37});
  const auto gradients = RunOp("aten.convolution_backward",
                               line,
                               {{{1, 1, 2}, {1, 2}}, {{1, 1, 3}, {1, 2, 3}}, {{1, 1, 2}, {1, 10}}},
                               {{1, 1, 3}, {1, 1, 2}, {1}});
  CheckNear(gradients[0], {10, 2, 20});
  CheckNear(gradients[1], {2 * 2, 1 + 2 * 3});
  CheckNear(gradients[2], {3});
}

TEST_CASE("softmax over classes that lie apart: images, and an axis in front") {
  Rng rng(3);
  const Shape shape{2, 3, 2, 2};
  const Values x = RandomValues(shape, rng);
  for (const int dim : {0, 1, 2, 3, -3}) {
    CAPTURE(dim);
    const Values y =
        RunOp("aten._softmax", fmt::format(R"({{"dim": {}}})", dim), {{shape, x}}, {shape})[0];
    const size_t axis = dim < 0 ? dim + 4 : dim;
    size_t step = 1;
    for (size_t i = axis + 1; i < 4; ++i) step *= shape[i];
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t first = i - i / step % shape[axis] * step;
      double sum = 0;
      for (int64_t j = 0; j < shape[axis]; ++j) sum += std::exp(x[first + j * step]);
      CHECK(y[i] == doctest::Approx(std::exp(x[i]) / sum).epsilon(1e-5));
    }
  }
}

TEST_CASE("pooling") {
  // Windows of 2 with stride 2 and padding 1 over 3 x 3 = 1 .. 9: [0, 0] sees 1 only.
  const Values x{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::string geometry = R"("kernel_size": [2, 2], "stride": [2, 2], "padding": [1, 1])";
  TinyGraph graph;
  const int image = graph.Input({1, 1, 3, 3}, x);
  const auto pooled =
      graph.AddOp("aten.max_pool2d_with_indices",
                  "{" + geometry + "}",
                  {image},
                  {{.shape = {1, 1, 2, 2}}, {.shape = {1, 1, 2, 2}, .dtype = DType::kI64}});
  const int dy = graph.Input({1, 1, 2, 2}, {1, 2, 3, 4});
  const int dx = graph.AddOp("aten.max_pool2d_with_indices_backward",
                             "{" + geometry + "}",
                             {dy, image, pooled[1]},
                             {{.shape = {1, 1, 3, 3}}})[0];
  graph.Run();
  CheckNear(graph.Read(pooled[0]), {1, 3, 7, 9});
  CheckNear(graph.Read(pooled[1]), {0, 2, 6, 8});
  CheckNear(graph.Read(dx), {1, 0, 2, 0, 0, 0, 3, 0, 4});
  // The padding counts unless count_include_pad says no: (2 + 3) / 4 against (2 + 3) / 2.
  CheckNear(RunOp("aten.avg_pool2d", "{" + geometry + "}", {{{1, 1, 3, 3}, x}}, {{1, 1, 2, 2}})[0],
            {1 / 4.0, 5 / 4.0, 11 / 4.0, 28 / 4.0});
  const std::string uncounted = "{" + geometry + R"(, "count_include_pad": false})";
  CheckNear(RunOp("aten.avg_pool2d", uncounted, {{{1, 1, 3, 3}, x}}, {{1, 1, 2, 2}})[0],
            {1, 5 / 2.0, 11 / 2.0, 28 / 4.0});
  CheckNear(RunOp("aten.avg_pool2d_backward",
                  uncounted,
                  {{{1, 1, 2, 2}, {1, 2, 4, 8}}, {{1, 1, 3, 3}, x}},
                  {{1, 1, 3, 3}})[0],
            {1, 1, 1, 2, 2, 2, 2, 2, 2});
  // ceil_mode: a window of 2 with stride 2 over 3 hangs over; a stride left out is the window.
  TinyGraph ceiled;
  const auto over =
      ceiled.AddOp("aten.max_pool2d_with_indices",
                   R"({"kernel_size": [2, 2], "ceil_mode": true})",
                   {ceiled.Input({1, 1, 3, 3}, x)},
                   {{.shape = {1, 1, 2, 2}}, {.shape = {1, 1, 2, 2}, .dtype = DType::kI64}});
  ceiled.Run();
  CheckNear(ceiled.Read(over[0]), {5, 6, 8, 9});
}

TEST_CASE("layer norm and softmax: gradients by finite differences") {
  Rng rng(11);
  const Shape shape{2, 3, 5}, rows{2, 3, 1}, width{5};
  const Values x = RandomValues(shape, rng), scale = RandomValues(width, rng),
               offset = RandomValues(width, rng), dy = RandomValues(shape, rng);
  const std::string norm = R"({"normalized_shape": [5], "eps": 0.1})";
  const auto forward = [&](const Values& a, const Values& b, const Values& c) {
    return RunOp(
        "aten.native_layer_norm", norm, {{shape, a}, {width, b}, {width, c}}, {shape, rows, rows});
  };
  const auto saved = forward(x, scale, offset);
  const auto gradient = RunOp("aten.native_layer_norm_backward",
                              norm,
                              {{shape, dy},
                               {shape, x},
                               {rows, saved[1]},
                               {rows, saved[2]},
                               {width, scale},
                               {width, offset}},
                              {shape, width, width});
  CheckNear(gradient[0],
            Gradient(x, dy, [&](const Values& a) { return forward(a, scale, offset)[0]; }),
            5e-3);
  CheckNear(gradient[1],
            Gradient(scale, dy, [&](const Values& b) { return forward(x, b, offset)[0]; }),
            1e-3);
  CheckNear(gradient[2],
            Gradient(offset, dy, [&](const Values& c) { return forward(x, scale, c)[0]; }),
            1e-3);

  for (const std::string name : {"aten._softmax", "aten._log_softmax"}) {
    const std::string dim = R"({"dim": -1})";
    const auto softmax = [&](const Values& a) {
      return RunOp(name, dim, {{shape, a}}, {shape})[0];
    };
    const Values y = softmax(x);
    CheckNear(RunOp(name + "_backward_data", dim, {{shape, dy}, {shape, y}}, {shape})[0],
              Gradient(x, dy, softmax),
              1e-3);
  }
  // Along the first of two axes: columns sum to 1. e / (1 + e) = 0.7310586
  CheckNear(RunOp("aten._softmax", R"({"dim": 0})", {{{2, 2}, {0, 1, 1, 1}}}, {{2, 2}})[0],
            {0.2689414, 0.5, 0.7310586, 0.5});
}

TEST_CASE("activations by hand") {
  // 1 Phi(1) = 0.8413447; its tanh approximation 0.8411920
  const std::string tanh = R"({"approximate": "tanh"})";
  CheckNear(RunOp("aten.gelu", "", {{{1}, {1}}}, {{1}})[0], {0.8413447}, 1e-6);
  CheckNear(RunOp("aten.gelu", tanh, {{{1}, {1}}}, {{1}})[0], {0.8411920}, 1e-6);
  CheckNear(RunOp("aten.threshold_backward",
                  R"({"threshold": 1})",
                  {{{3}, {1, 2, 3}}, {{3}, {0, 1, 2}}},
                  {{3}})[0],
            {0, 0, 3});
}

TEST_CASE("the loss of pixels is that of rows") {
  // Two images of two pixels, three classes; the labels are 2 0 and 1 1.
  TinyGraph graph;
  const Values x{-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12};
  const int scores = graph.Input({2, 3, 1, 2}, x);
  const int labels = graph.Input({2, 1, 2}, {2, 0, 1, 1}, DType::kI64);
  const auto loss =
      graph.AddOp("aten.nll_loss2d_forward", "", {scores, labels}, {{.shape = {}}, {.shape = {}}});
  const int dloss = graph.Input({}, {8});
  const int dx = graph.AddOp("aten.nll_loss2d_backward",
                             "",
                             {dloss, scores, labels, loss[1]},
                             {{.shape = {2, 3, 1, 2}}})[0];
  graph.Run();
  CheckNear(graph.Read(loss[0]), {(5 + 2 + 9 + 10) / 4.0});
  CheckNear(graph.Read(loss[1]), {4});
  CheckNear(graph.Read(dx), {0, -2, 0, 0, -2, 0, 0, 0, -2, -2, 0, 0});
}

TEST_CASE("losses, embeddings, masks and scalars") {
  TinyGraph graph;
  const int logits = graph.Input({2, 3}, {-1, -2, -3, -4, -5, -6});
  const int labels = graph.Input({2}, {2, 0}, DType::kI64);
  const std::string mean = R"({"reduction": 1, "ignore_index": -100})";
  const auto loss =
      graph.AddOp("aten.nll_loss_forward", mean, {logits, labels}, {{.shape = {}}, {.shape = {}}});
  const int one = graph.AddOp("aten.ones_like", "", {loss[0]}, {{.shape = {}}})[0];
  const int dx = graph.AddOp(
      "aten.nll_loss_backward", mean, {one, logits, labels, loss[1]}, {{.shape = {2, 3}}})[0];
  const int picked = graph.AddOp("aten.embedding", "", {logits, labels}, {{.shape = {2, 3}}})[0];
  const int spread =
      graph.AddOp("aten.embedding_dense_backward",
                  R"({"num_weights": 4, "padding_idx": -1, "scale_grad_by_freq": false})",
                  {logits, labels},
                  {{.shape = {4, 3}}})[0];
  const int mask = graph.Input({3}, {1, 0, 0}, DType::kBool);
  const int filled = graph.AddOp(
      "aten.masked_fill", R"({"value": "-inf"})", {logits, mask}, {{.shape = {2, 3}}})[0];
  const int counter = graph.Input({}, {41}, DType::kI64);
  graph.AddOp("aten.add",
              R"({"other": 1})",
              {counter},
              {{.shape = {}, .dtype = DType::kI64, .alias_of = counter}});
  const int reversed =
      graph.AddOp("aten.rsub", R"({"other": 1.0})", {logits}, {{.shape = {2, 3}}})[0];
  const int floats =
      graph.AddOp("aten._to_copy", R"({"dtype": "f32"})", {labels}, {{.shape = {2}}})[0];
  const int sum =
      graph.AddOp("aten.sum", R"({"dim": [0], "keepdim": true})", {logits}, {{.shape = {1, 3}}})[0];
  const int average = graph.AddOp("aten.mean", R"({"dim": [-1]})", {logits}, {{.shape = {2}}})[0];
  const int all = graph.AddOp("aten.sum", "", {logits}, {{.shape = {}}})[0];
  const int kept = graph.Input({2, 3}, {1, 0, 1, 0, 1, 0}, DType::kBool);
  const int dropped = graph.AddOp(
      "aten.native_dropout_backward", R"({"scale": 2})", {logits, kept}, {{.shape = {2, 3}}})[0];
  graph.Run();
  CheckNear(graph.Read(loss[0]), {(3 + 4) / 2.0});
  CheckNear(graph.Read(loss[1]), {2});
  CheckNear(graph.Read(dx), {0, 0, -0.5, -0.5, 0, 0});
  CheckNear(graph.Read(picked), {-1, -2, -3, -1, -2, -3});  // row 2 of 2 is row 0
  CheckNear(graph.Read(spread), {-4, -5, -6, 0, 0, 0, -1, -2, -3, 0, 0, 0});
  const Values f = graph.Read(filled);
  CHECK(std::isinf(f[0]));
  CHECK(f[1] == -2);
  CHECK(std::isinf(f[3]));
  CheckNear(graph.Read(counter), {42});
  CheckNear(graph.Read(reversed), {2, 3, 4, 5, 6, 7});
  CheckNear(graph.Read(floats), {2, 0});
  CheckNear(graph.Read(sum), {-5, -7, -9});
  CheckNear(graph.Read(average), {-2, -5});
  CheckNear(graph.Read(all), {-21});
  CheckNear(graph.Read(dropped), {-2, 0, -6, 0, -10, 0});
}

TEST_CASE("copies of views, and optimisers in place") {
  TinyGraph graph;
  const int x = graph.Input({2, 3}, {1, 2, 3, 4, 5, 6});
  const int t = graph.AddOp(
      "aten.transpose", R"({"dim0": 0, "dim1": 1})", {x}, {{.shape = {3, 2}, .alias_of = x}})[0];
  const int clone = graph.AddOp("aten.clone", "", {t}, {{.shape = {3, 2}}})[0];
  const int slice = graph.AddOp("aten.slice",
                                R"({"dim": 1, "start": 1, "end": 3})",
                                {x},
                                {{.shape = {2, 2}, .alias_of = x}})[0];
  const int cat = graph.AddOp("aten.cat", R"({"dim": -1})", {slice, x}, {{.shape = {2, 5}}})[0];
  const int stack =
      graph.AddOp("aten.stack", R"({"dim": 1})", {slice, slice}, {{.shape = {2, 2, 2}}})[0];
  const int back = graph.AddOp("aten.slice_backward",
                               R"({"dim": 1, "start": -2, "step": 1})",
                               {slice},
                               {{.shape = {2, 3}}})[0];
  const int w = graph.Input({2}, {1000, 0}), g = graph.Input({2}, {1, 2}),
            m = graph.Input({2}, {0, 0}), v = graph.Input({2}, {0, 0});
  const int u = graph.Input({2}, {0, 0}), velocity = graph.Input({2}, {2, 0});
  graph.AddOp("optimizer.adamw",
              R"({"lr": 0.5, "weight_decay": 0.25, "eps": 1e-8})",
              {w, g, m, v},
              {{.shape = {2}, .alias_of = w},
               {.shape = {2}, .alias_of = m},
               {.shape = {2}, .alias_of = v}});
  graph.AddOp("optimizer.momentum",
              R"({"lr": 0.5, "momentum": 0.5})",
              {u, g, velocity},
              {{.shape = {2}, .alias_of = u}, {.shape = {2}, .alias_of = velocity}});
  graph.Run();
  CheckNear(graph.Read(clone), {1, 4, 2, 5, 3, 6});
  CheckNear(graph.Read(cat), {2, 3, 1, 2, 3, 5, 6, 4, 5, 6});
  CheckNear(graph.Read(stack), {2, 3, 2, 3, 5, 6, 5, 6});
  CheckNear(graph.Read(back), {0, 2, 3, 0, 5, 6});
  const double rate = KernelParams{}.learning_rate;
  CheckNear(graph.Read(m), {0.1, 0.2});
  CheckNear(graph.Read(v), {0.001, 0.004});
  // 1000 (1 - rate / 4) - rate 0.1 / sqrt(0.001); -rate 0.2 / sqrt(0.004)
  CHECK(graph.Read(w)[0] == doctest::Approx(1000 - 250 * rate).epsilon(1e-7));
  CHECK(graph.Read(w)[1] == doctest::Approx(-rate * 0.2 / std::sqrt(0.004)).epsilon(1e-5));
  CheckNear(graph.Read(velocity), {2, 2});
  CheckNear(graph.Read(u), {-2 * rate, -2 * rate}, 1e-11);
}

}  // namespace
}  // namespace emplace::testing
