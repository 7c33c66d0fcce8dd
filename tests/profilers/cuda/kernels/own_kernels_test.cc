// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/own_kernels.cc"

#include "profilers/kernels/kernel_table.h"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;

namespace {

// Neither of a library nor composed of others.
bool IsOwn(const KernelCall& call) {
  return call.kind > KernelKind::kConvBackwardFilter && DescriptionOf(call.kind).compose == nullptr;
}

TEST_CASE("own kernels do every kind that the libraries do not, as the reference does") {
  for (std::uint64_t seed = 1; seed <= 3 * EMPLACE_TEST_SCALE; ++seed) {
    Rng rng(seed);
    for (const testing::SampleCall& sample : testing::SampleCalls(seed)) {
      if (!IsOwn(sample.call)) continue;
      CAPTURE(seed);
      testing::CheckSample(sample, rng, cuda::PrepareOwnKernel);
    }
  }
}

TEST_CASE("a malformed call of any kind is refused with the words of the kernel table") {
  for (const testing::SampleCall& sample : testing::SampleCalls(1)) {
    KernelCall call = sample.call;
    if (call.is_proxy()) continue;
    CAPTURE(sample.name);
    call.outputs.clear();
    try {
      cuda::PrepareOwnKernel(call);
      FAIL("no error");
    } catch (const RunError& error) {
      CHECK(std::string(error.what()) ==
            "CUDA kernels cannot do " + Describe(call) + ": " + WhyMalformed(call));
    }
  }
}

TEST_CASE("launching twice gives the same bytes") {
  Rng rng(1);
  for (const testing::SampleCall& sample : testing::SampleCalls(2)) {
    if (!IsOwn(sample.call)) continue;
    CAPTURE(sample.name);
    const testing::OpBuffers before = testing::RandomBuffers(sample, rng);
    testing::OpBuffers first = before, second = before;
    const auto kernel = cuda::PrepareOwnKernel(sample.call);
    for (testing::OpBuffers* buffers : {&first, &second}) {
      std::vector<char> scratch(kernel->scratch_bytes() + 1, buffers == &first ? '\1' : '\2');
      kernel->Launch(buffers->inputs().data(), buffers->outputs().data(), scratch.data(), nullptr);
    }
    CHECK(first.input_storage == second.input_storage);
    CHECK(first.output_storage == second.output_storage);
  }
}

}  // namespace
