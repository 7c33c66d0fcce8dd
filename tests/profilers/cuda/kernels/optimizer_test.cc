// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/optimizer.cu"

#include "profilers/cuda/kernels/own_kernels.h"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;

namespace {

TEST_CASE("more than a block of weights, in place") {
  Rng rng(1);
  KernelParams params;
  params.learning_rate = 0.1;
  params.momentum = 0.9;
  params.epsilon = 1e-6;
  params.weight_decay = 0.01;
  const TensorView w = Floats({9, 111});
  const auto check = [&](KernelKind kind, std::size_t inputs, const std::vector<int>& shared) {
    testing::SampleCall sample = CallOf(kind,
                                        params,
                                        std::vector<TensorView>(inputs, w),
                                        std::vector<TensorView>(shared.size(), w));
    testing::CheckSample(sample, rng, cuda::PrepareOwnKernel);
    sample.shared = shared;
    sample.output_bytes.assign(shared.size(), 0);
    testing::CheckSample(sample, rng, cuda::PrepareOwnKernel);
  };
  check(KernelKind::kMomentum, 3, {0, 2});
  check(KernelKind::kRmsProp, 4, {0, 1, 2});
  check(KernelKind::kAdam, 4, {0, 2, 3});
  check(KernelKind::kGradientDescent, 2, {0});
}

}  // namespace
