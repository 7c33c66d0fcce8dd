// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/layer_norm.cu"

#include "profilers/cuda/kernels/own_kernels.h"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;

namespace {

TEST_CASE("rows that take a block, rows in parts") {
  Rng rng(1);
  KernelParams params;
  params.epsilon = 1e-5;
  for (const auto& [rows, width] : {std::pair<std::int64_t, std::int64_t>{3, 512},
                                    {3, 513},
                                    {2, 1500},
                                    {700, 20},
                                    {400, 40},
                                    {130, 1}}) {
    CAPTURE(rows);
    CAPTURE(width);
    const TensorView x = Floats({1, rows, width}), row = Floats({1, rows}),
                     column = Floats({width});
    testing::CheckSample(
        CallOf(KernelKind::kLayerNormForward, params, {x, column, column}, {x, row, row}),
        rng,
        cuda::PrepareOwnKernel);
    testing::CheckSample(
        CallOf(
            KernelKind::kLayerNormBackward, params, {x, x, row, row, column}, {x, column, column}),
        rng,
        cuda::PrepareOwnKernel);
  }
}

}  // namespace
