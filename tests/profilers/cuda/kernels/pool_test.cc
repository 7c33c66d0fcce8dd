// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/pool.cc"

#include "profilers/cuda/kernels/own_kernels.h"
#include "profilers/cuda/kernels/pool.cu"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;

namespace {

TEST_CASE("windows of common networks in both layouts") {
  Rng rng(1);
  const auto window =
      [](std::int64_t size, std::int64_t stride, std::int64_t begin, std::int64_t end) {
        Window result;
        result.size = {size, size};
        result.stride = {stride, stride};
        result.pad_begin = {begin, begin};
        result.pad_end = {end, end};
        return result;
      };
  for (const Window& w :
       {window(3, 2, 1, 1), window(2, 2, 0, 0), window(3, 1, 1, 1), window(3, 2, 0, 1)}) {
    const std::int64_t size = 14;
    const std::int64_t out = (size + w.pad_begin[0] + w.pad_end[0] - w.size[0]) / w.stride[0] + 1;
    for (const bool channels_last : {false, true}) {
      for (const bool count_include_pad : {false, true}) {
        KernelParams params;
        params.window = w;
        params.window.count_include_pad = count_include_pad;
        const auto view = [&](std::int64_t height) {
          return channels_last ? testing::Nhwc(3, 40, height, height)
                               : Floats({3, 40, height, height});
        };
        const TensorView x = view(size), y = view(out);
        TensorView indices = y;
        indices.dtype = DType::kI64;
        const auto check = [&](KernelKind kind,
                               const std::vector<TensorView>& inputs,
                               const std::vector<TensorView>& outputs) {
          testing::CheckSample(CallOf(kind, params, inputs, outputs), rng, cuda::PrepareOwnKernel);
        };
        check(KernelKind::kMaxPoolForward, {x}, {y, indices});
        check(KernelKind::kMaxPoolBackward, {x, y, y}, {x});
        check(KernelKind::kMaxPoolBackwardIndices, {y, indices}, {x});
        check(KernelKind::kAvgPoolForward, {x}, {y});
        check(KernelKind::kAvgPoolBackward, {y}, {x});
      }
    }
  }
}

TEST_CASE("among equal maxima the first of the window gets the gradient") {
  // x = [[1, 1, 1]], windows of 2, stride 1: y = [1, 1]; dy = [10, 20] goes to x[0] and x[1].
  KernelParams params;
  params.window.size = {1, 2};
  const testing::SampleCall sample =
      CallOf(KernelKind::kMaxPoolBackward,
             params,
             {Floats({1, 1, 1, 3}), Floats({1, 1, 1, 2}), Floats({1, 1, 1, 2})},
             {Floats({1, 1, 1, 3})});
  float x[] = {1, 1, 1}, y[] = {1, 1}, dy[] = {10, 20}, dx[] = {-1, -1, -1};
  void* const inputs[] = {x, y, dy};
  void* const outputs[] = {dx};
  cuda::PrepareOwnKernel(sample.call)->Launch(inputs, outputs, nullptr, nullptr);
  CHECK(dx[0] == 10);
  CHECK(dx[1] == 20);
  CHECK(dx[2] == 0);
}

}  // namespace
