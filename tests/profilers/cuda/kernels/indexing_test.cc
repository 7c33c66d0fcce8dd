// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/indexing.cu"

#include "profilers/cuda/kernels/own_kernels.h"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;

namespace {

TEST_CASE("rows of vectors, of words and of bytes") {
  Rng rng(1);
  for (const std::int64_t width : {1, 3, 4, 64, 67}) {
    for (const DType dtype : {DType::kF32, DType::kI64, DType::kBool}) {
      testing::CheckSample(
          CallOf(KernelKind::kGather,
                 {},
                 {ContiguousView(dtype, {50, width}), ContiguousView(DType::kI64, {300})},
                 {ContiguousView(dtype, {300, width})}),
          rng,
          cuda::PrepareOwnKernel);
    }
    for (const bool zero_output : {false, true}) {
      KernelParams params;
      params.alpha = -1.5;
      params.zero_output = zero_output;
      testing::CheckSample(CallOf(KernelKind::kScatterAdd,
                                  params,
                                  {Floats({300, width}), ContiguousView(DType::kI32, {300})},
                                  {Floats({50, width})}),
                           rng,
                           cuda::PrepareOwnKernel);
    }
  }
}

}  // namespace
