// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/sequences.cu"

#include "profilers/cuda/kernels/own_kernels.h"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;

namespace {

TEST_CASE("rows shorter and longer than a block") {
  Rng rng(1);
  for (const std::int64_t width : {1, 2, 255, 256, 257, 1000}) {
    testing::CheckSample(
        CallOf(KernelKind::kCumulativeSum, {}, {Floats({3, width})}, {Floats({3, width})}),
        rng,
        cuda::PrepareOwnKernel);
  }
}

}  // namespace
