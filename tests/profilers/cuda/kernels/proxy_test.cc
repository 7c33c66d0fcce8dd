// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/proxy.cu"

#include "profilers/cuda/kernels/own_kernels.h"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;
using emplace::testing::OpBuffers;

namespace {

TEST_CASE("a proxy zeroes its outputs and nothing else, whatever its arguments") {
  Rng rng(1);
  std::vector<TensorView> inputs, outputs;
  for (int i = 0; i < 40; ++i) inputs.push_back(ContiguousView(DType::kI64, {7 * i}));
  for (int i = 0; i < 20; ++i) outputs.push_back(Floats({5, 3 + i}));
  outputs[3].strides = {20, 2};  // with holes
  outputs[4].offset = 1;
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].shape[0] += 1;
  KernelParams params;
  params.alpha = 1e6;
  const testing::SampleCall sample = CallOf(KernelKind::kProxy, params, inputs, outputs);
  testing::CheckSample(sample, rng, cuda::PrepareOwnKernel);
  OpBuffers buffers = testing::RandomBuffers(sample, rng);
  const auto kernel = cuda::PrepareOwnKernel(sample.call);
  std::vector<char> scratch(kernel->scratch_bytes());
  kernel->Launch(buffers.inputs().data(), buffers.outputs().data(), scratch.data(), nullptr);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const double value : testing::ReadElements(outputs[i], buffers.output(i).data())) {
      CHECK(value == 0);
    }
  }
}

}  // namespace
