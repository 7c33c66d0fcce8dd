// Every CPU kernel against the double-precision reference: the small random calls that all backends
// are tested with, and larger ones that reach blocked, reordered and piecewise code.
#include "profilers/cpu/cpu_kernel.h"

#include <numeric>
#include <utility>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/profilers/reference_kernels.h"
#include "tests/support/sanitizers.h"

namespace emplace::testing {
namespace {

void RunCpuKernel(const KernelCall& call, int threads, std::byte old_scratch, OpBuffers& buffers) {
  const auto kernel = PrepareCpuKernel(call, threads);
  Buffer scratch(kernel->scratch_bytes(), old_scratch);
  kernel->Run(buffers.inputs().data(), buffers.outputs().data(), scratch.data());
}

void CheckAgainstReference(const SampleCall& sample, Rng& rng, int threads = 1) {
  CAPTURE(sample.name);
  const OpBuffers before = RandomBuffers(sample, rng);
  OpBuffers expected = before, actual = before, again = before;
  RunReference(sample.call, expected);
  // What scratch held before must not matter: not a number, then zeros.
  RunCpuKernel(sample.call, threads, std::byte{0xFF}, actual);
  RunCpuKernel(sample.call, threads, std::byte{0}, again);
  CHECK_EQ(CompareOutputs(sample.call, before, expected, actual), "");
  CHECK(actual.input_storage == again.input_storage);
  CHECK(actual.output_storage == again.output_storage);
}

TensorView Nhwc(const std::vector<std::int64_t>& nchw) {
  return testing::Nhwc(nchw[0], nchw[1], nchw[2], nchw[3]);
}

// [m, n] or [b, m, n] with its last two dimensions exchanged: a transposed matrix.
TensorView Transposed(TensorView view) {
  const std::size_t last = view.shape.size() - 1;
  std::swap(view.shape[last], view.shape[last - 1]);
  std::swap(view.strides[last], view.strides[last - 1]);
  return view;
}

TensorView Broadcast(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
  TensorView view = Floats(std::move(shape));
  view.strides = std::move(strides);
  return view;
}

KernelParams WithFunction(Function function, double alpha = 0) {
  KernelParams params;
  params.function = function;
  params.alpha = alpha;
  return params;
}

struct ConvShape {
  std::int64_t n, c, h, w, k, r, s, stride, groups;
};

KernelParams ConvParams(const ConvShape& shape, std::int64_t pad_begin, std::int64_t pad_end) {
  KernelParams params;
  params.groups = shape.groups;
  params.window = {.size = {shape.r, shape.s},
                   .stride = {shape.stride, shape.stride},
                   .pad_begin = {pad_begin, pad_begin},
                   .pad_end = {pad_end, pad_end}};
  return params;
}

TEST_CASE("random calls of every kind agree with the reference, and with themselves run twice") {
  Rng rng(7);
  const std::uint64_t rounds = kUnderSanitizers ? 1 : 3 * EMPLACE_TEST_SCALE;
  for (std::uint64_t seed = 1; seed <= rounds; ++seed)
    for (const SampleCall& sample : SampleCalls(seed)) CheckAgainstReference(sample, rng);
}

TEST_CASE("two threads compute the same as the reference") {
  Rng rng(11);
  for (const SampleCall& sample : SampleCalls(42)) CheckAgainstReference(sample, rng, 2);
}

TEST_CASE("larger matrix products: transposed operands, batches, broadcast biases and batches") {
  Rng rng(1);
  const std::int64_t b = 3, m = 65, k = 131, n = 97;
  const std::vector<TensorView> a{Floats({b, m, k}),
                                  Transposed(Floats({b, k, m})),
                                  Broadcast({b, m, k}, {0, k, 1}),
                                  Broadcast({b, m, k}, {m * 2 * k, 2 * k, 2})};
  const std::vector<TensorView> w{
      Floats({b, k, n}), Transposed(Floats({b, n, k})), Broadcast({b, k, n}, {0, n, 1})};
  const std::vector<TensorView> biases{Broadcast({b, m, n}, {0, 0, 1}),
                                       Broadcast({b, m, n}, {0, 0, 3})};
  for (const TensorView& left : a)
    for (const TensorView& right : w) {
      CheckAgainstReference(CallOf(KernelKind::kMatmul, {}, {left, right}, {Floats({b, m, n})}),
                            rng);
      for (const TensorView& bias : biases)
        CheckAgainstReference(
            CallOf(KernelKind::kMatmul, {}, {left, right, bias}, {Floats({b, m, n})}), rng);
    }
  CheckAgainstReference(CallOf(KernelKind::kMatmul,
                               {},
                               {Floats({1, 70, 33}), Floats({1, 33, 50})},
                               {Transposed(Floats({1, 50, 70}))}),
                        rng);
}

TEST_CASE("larger convolutions: both layouts, both filter layouts, strides, groups, depthwise") {
  Rng rng(2);
  const std::vector<ConvShape> shapes{{2, 32, 15, 13, 48, 3, 3, 1, 1},
                                      {2, 32, 14, 14, 64, 1, 1, 1, 1},
                                      {1, 64, 14, 15, 32, 1, 1, 2, 1},
                                      {2, 3, 29, 27, 16, 7, 7, 2, 1},
                                      {1, 32, 12, 12, 32, 3, 3, 2, 4},
                                      {2, 32, 16, 16, 32, 3, 3, 1, 32},
                                      {1, 44, 17, 17, 44, 5, 5, 2, 44},
                                      {1, 17, 11, 19, 35, 1, 7, 1, 1}};
  for (const ConvShape& shape : shapes)
    for (const bool nhwc : {false, true})
      for (const std::int64_t extra : {0, 1}) {  // padding at the end only, as SAME has it
        const KernelParams params = ConvParams(shape, shape.r / 2, shape.r / 2 + extra);
        const auto size = [&](std::int64_t in, std::int64_t window) {
          return (in + 2 * (shape.r / 2) + extra - window) / shape.stride + 1;
        };
        const std::int64_t p = size(shape.h, shape.r), q = size(shape.w, shape.s);
        const auto layout = [&](const std::vector<std::int64_t>& nchw) {
          return nhwc ? Nhwc(nchw) : Floats(nchw);
        };
        const TensorView x = layout({shape.n, shape.c, shape.h, shape.w});
        const TensorView y = layout({shape.n, shape.k, p, q});
        TensorView w = Floats({shape.k, shape.c / shape.groups, shape.r, shape.s});
        if (nhwc)  // HWIO
          w.strides = {1, shape.k, shape.s * w.shape[1] * shape.k, w.shape[1] * shape.k};
        const TensorView bias = Floats({shape.k});
        CheckAgainstReference(CallOf(KernelKind::kConvForward, params, {x, w, bias}, {y}), rng);
        CheckAgainstReference(CallOf(KernelKind::kConvBackwardData, params, {y, w}, {x}), rng);
        CheckAgainstReference(CallOf(KernelKind::kConvBackwardFilter, params, {x, y}, {w}), rng);
      }
}

TEST_CASE("max pooling backward: strides that are never taken may differ") {
  Rng rng(5);
  KernelParams params;
  params.window = {.size = {2, 2}, .stride = {1, 1}, .pad_begin = {0, 0}, .pad_end = {0, 0}};
  const TensorView dx = Floats({1, 3, 4, 5}), y = Floats({1, 3, 3, 4}), dy = Nhwc({1, 3, 3, 4});
  TensorView x = dx;
  x.strides[0] = 7;  // of the only image
  for (const TensorView& gradient : {y, dy}) {
    CheckAgainstReference(CallOf(KernelKind::kMaxPoolBackward, params, {x, y, gradient}, {dx}),
                          rng);
  }
}

TEST_CASE("larger pooling: more channels and columns than are handled at once") {
  Rng rng(3);
  KernelParams params;
  params.window = {.size = {3, 3}, .stride = {2, 2}, .pad_begin = {1, 0}, .pad_end = {1, 1}};
  const std::vector<std::int64_t> x_shape{2, 70, 9, 141}, y_shape{2, 70, 5, 70};
  for (const bool include_pad : {false, true})
    for (const bool nhwc : {false, true}) {
      params.window.count_include_pad = include_pad;
      const TensorView x = nhwc ? Nhwc(x_shape) : Floats(x_shape);
      const TensorView y = nhwc ? Nhwc(y_shape) : Floats(y_shape);
      TensorView indices = y;
      indices.dtype = DType::kI64;
      const auto check = [&](KernelKind kind,
                             const std::vector<TensorView>& inputs,
                             const std::vector<TensorView>& outputs) {
        CheckAgainstReference(CallOf(kind, params, inputs, outputs), rng);
      };
      check(KernelKind::kMaxPoolForward, {x}, {y, indices});
      check(KernelKind::kMaxPoolBackward, {x, y, y}, {x});
      check(KernelKind::kMaxPoolBackward, {x, y, y}, {nhwc ? Floats(x_shape) : Nhwc(x_shape)});
      check(KernelKind::kMaxPoolBackwardIndices, {y, indices}, {x});
      check(KernelKind::kAvgPoolForward, {x}, {y});
      check(KernelKind::kAvgPoolBackward, {y}, {x});
    }
}

TEST_CASE("larger norms and softmax") {
  Rng rng(4);
  KernelParams params;
  params.epsilon = 1e-3;
  const TensorView c = Floats({70}), rows = Floats({33, 1030}), width = Floats({1030}),
                   per_row = Floats({33}), batch = Floats({1, 33, 1030}),
                   of_batch = Floats({1, 33});
  for (const bool inverse_std : {false, true}) {
    params.saves_inverse_std = inverse_std;
    for (const TensorView& x : {Floats({3, 70, 13, 11}), Nhwc({3, 70, 13, 11})}) {
      CheckAgainstReference(
          CallOf(KernelKind::kBatchNormForward, params, {x, c, c, c, c}, {x, c, c, c, c}), rng);
      CheckAgainstReference(
          CallOf(KernelKind::kBatchNormBackward, params, {x, x, c, c, c}, {x, c, c}), rng);
    }
  }
  CheckAgainstReference(CallOf(KernelKind::kLayerNormForward,
                               params,
                               {batch, width, width},
                               {batch, of_batch, of_batch}),
                        rng);
  CheckAgainstReference(CallOf(KernelKind::kLayerNormBackward,
                               params,
                               {batch, batch, of_batch, of_batch, width},
                               {batch, width, width}),
                        rng);
  for (const KernelKind kind : {KernelKind::kSoftmax, KernelKind::kLogSoftmax})
    CheckAgainstReference(CallOf(kind, {}, {rows}, {rows}), rng);
  for (const KernelKind kind : {KernelKind::kSoftmaxBackward, KernelKind::kLogSoftmaxBackward})
    CheckAgainstReference(CallOf(kind, {}, {rows, rows}, {rows}), rng);
  CheckAgainstReference(CallOf(KernelKind::kSparseCrossEntropy,
                               {},
                               {rows, ContiguousView(DType::kI32, {33})},
                               {per_row, rows}),
                        rng);
}

TEST_CASE("larger elementwise, copies and reductions: more than a piece, transposed, broadcast") {
  Rng rng(5);
  const TensorView line = Floats({40000}), square = Floats({200, 210}),
                   transposed = Transposed(Floats({210, 200}));
  const TensorView per_column = Broadcast({200, 210}, {0, 1}),
                   per_row = Broadcast({200, 210}, {1, 0});
  for (const Function function : {Function::kAdd, Function::kTanh, Function::kGelu}) {
    CheckAgainstReference(
        CallOf(KernelKind::kElementwise, WithFunction(function, 0.5), {line}, {line}), rng);
    CheckAgainstReference(
        CallOf(KernelKind::kElementwise, WithFunction(function, 0.5), {transposed}, {square}), rng);
  }
  for (const TensorView& b : {square, transposed, per_column, per_row})
    CheckAgainstReference(
        CallOf(KernelKind::kElementwise, WithFunction(Function::kMul), {square, b}, {square}), rng);
  for (const TensorView& x : {square, transposed, per_column})
    CheckAgainstReference(CallOf(KernelKind::kCopy, {}, {x, x}, {square, transposed}), rng);
  for (const Function function :
       {Function::kSum, Function::kMean, Function::kMax, Function::kHalfSumOfSquares})
    for (const TensorView& x : {Floats({9, 600, 21}),
                                Broadcast({9, 600, 21}, {21 * 600, 1, 600}),
                                Broadcast({9, 600, 21}, {1, 9, 9 * 600})})
      for (const std::vector<std::int64_t>& y :
           std::vector<std::vector<std::int64_t>>{{1, 1, 1},
                                                  {9, 1, 1},
                                                  {1, 600, 1},
                                                  {1, 1, 21},
                                                  {9, 600, 1},
                                                  {9, 1, 21},
                                                  {1, 600, 21}})
        CheckAgainstReference(CallOf(KernelKind::kReduce, WithFunction(function), {x}, {Floats(y)}),
                              rng);
}

TEST_CASE("sums stay accurate over a hundred thousand terms") {
  // One f32 after the other, 2^17 times 0.1 is off by 0.1 %; short partial sums keep the error at
  // that of a few hundred additions, 5e-6. 0.1 * 2^17 = 13107.2.
  const TensorView rows = Floats({1 << 17, 3});
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{1, 3}, {1, 1}}) {
    KernelCall call =
        CallOf(KernelKind::kReduce, WithFunction(Function::kSum), {rows}, {Floats(shape)}).call;
    std::vector<float> x(rows.num_elements(), 0.1F), y(3);
    void *in = x.data(), *out = y.data();
    PrepareCpuKernel(call, 1)->Run(&in, &out, nullptr);
    CHECK(y[0] == doctest::Approx(13107.2 * (shape[1] == 1 ? 3 : 1)).epsilon(1e-5));
  }
}

TEST_CASE("random numbers: the dropped share is the probability, numbers are the same each time") {
  std::vector<float> x(100'000, 1), y(x.size());
  std::vector<std::uint8_t> mask(x.size());
  const TensorView line = Floats({100'000});
  KernelCall call = CallOf(KernelKind::kDropoutForward,
                           WithFunction(Function::kNone, 0.3),
                           {line},
                           {line, ContiguousView(DType::kBool, {100'000})})
                        .call;
  void* in[] = {x.data()};
  void* out[] = {y.data(), mask.data()};
  PrepareCpuKernel(call, 1)->Run(in, out, nullptr);
  // Standard deviation of the share: sqrt(0.3 * 0.7 / 1e5) = 0.00145; five of them.
  const double kept = std::accumulate(mask.begin(), mask.end(), 0.0) / 1e5;
  CHECK(kept == doctest::Approx(0.7).epsilon(0.00725));
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == (mask[i] != 0 ? 1 / 0.7F : 0.F));
}

TEST_CASE("powers with code of their own, of positive numbers") {
  Rng rng(12);
  for (const double exponent : {1.0, 2.0, 3.0, 0.5, -0.5, -1.0, -2.0, 1.7}) {
    CAPTURE(exponent);
    CheckAgainstReference(CallOf(KernelKind::kElementwise,
                                 WithFunction(Function::kPow, exponent),
                                 {Floats({40, 50})},
                                 {Floats({40, 50})}),
                          rng);
  }
}

TEST_CASE("views start at their offset, arguments are found among inputs and outputs") {
  // w [2] at element 1 of input 0 is read and, being an output too, written in place.
  KernelCall call =
      CallOf(KernelKind::kGradientDescent, {}, {Floats({2}), Floats({2})}, {Floats({2})}).call;
  call.params.learning_rate = 0.5;
  call.inputs[0].view.offset = 1;
  call.outputs[0] = call.inputs[0];
  float w[] = {7, 1, 2, 7}, gradient[] = {2, 4};
  void* in[] = {w, gradient};
  PrepareCpuKernel(call, 1)->Run(in, nullptr, nullptr);
  CHECK(w[0] == 7);
  CHECK(w[1] == 0);  // 1 - 0.5 * 2
  CHECK(w[2] == 0);  // 2 - 0.5 * 4
  CHECK(w[3] == 7);
}

TEST_CASE("malformed calls are refused by name") {
  const auto refuse = [](KernelKind kind,
                         const KernelParams& params,
                         const std::vector<TensorView>& inputs,
                         const std::vector<TensorView>& outputs) {
    try {
      PrepareCpuKernel(CallOf(kind, params, inputs, outputs).call, 1);
    } catch (const RunError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK_EQ(refuse(KernelKind::kMatmul, {}, {Floats({1, 2, 3})}, {Floats({1, 2, 2})}),
           "no CPU kernel for matmul f32 [1, 2, 3] -> f32 [1, 2, 2]: 1 inputs and 1 outputs; "
           "expected 2 to 3 and 1");
  CHECK_EQ(refuse(KernelKind::kGather, {}, {Floats({5, 2}), Floats({4})}, {Floats({4, 2})}),
           "no CPU kernel for gather f32 [5, 2], f32 [4] -> f32 [4, 2]: indices is f32; expected "
           "i32 or i64");
}

TEST_CASE("preparing leaves the caller's threads alone, libraries have names") {
  const auto kernel = PrepareCpuKernel(
      CallOf(KernelKind::kMatmul, {}, {Floats({1, 4, 4}), Floats({1, 4, 4})}, {Floats({1, 4, 4})})
          .call,
      1);
  CHECK(kernel != nullptr);
  CHECK(std::string(CpuKernelLibraries()).starts_with("oneDNN "));
  CHECK(std::string(CpuKernelLibraries()).find("Eigen ") != std::string::npos);
}

}  // namespace
}  // namespace emplace::testing
