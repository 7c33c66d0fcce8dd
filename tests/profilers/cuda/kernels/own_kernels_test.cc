// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/own_kernels.cc"

#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;

namespace {

TEST_CASE("own kernels do every kind that the libraries do not") {
  for (const testing::SampleCall& sample : testing::SampleCalls(1)) {
    switch (sample.call.kind) {
      case KernelKind::kMatmul:
      case KernelKind::kConvForward:
      case KernelKind::kConvBackwardData:
      case KernelKind::kConvBackwardFilter:
        continue;
      default:
        CAPTURE(sample.name);
        CHECK(cuda::PrepareOwnKernel(sample.call) != nullptr);
    }
  }
}

TEST_CASE("a call without arguments is refused by name, for every kind that needs some") {
  for (int k = 0; k < static_cast<int>(KernelKind::kProxy); ++k) {
    KernelCall call;
    call.kind = static_cast<KernelKind>(k);
    call.params.function = Function::kSum;
    if (call.kind <= KernelKind::kConvBackwardFilter || call.kind == KernelKind::kCopy) continue;
    if (call.kind == KernelKind::kElementwise) call.params.function = Function::kExp;
    const std::string expected =
        "CUDA kernels cannot do " + std::string(ToString(call.kind)) + "  -> : it has 0 inputs";
    try {
      cuda::PrepareOwnKernel(call);
      FAIL("no error for " << ToString(call.kind));
    } catch (const RunError& error) {
      CHECK(std::string(error.what()).rfind(expected, 0) == 0);
    }
  }
}

TEST_CASE("dtypes and shapes beyond the kernels are refused") {
  const auto error = [](const testing::SampleCall& sample) -> std::string {
    try {
      cuda::PrepareOwnKernel(sample.call);
    } catch (const RunError& caught) {
      const std::string text = caught.what();
      return text.substr(text.rfind(": ") + 2);
    }
    return "none";
  };
  const TensorView integers = ContiguousView(DType::kI32, {2, 2}), x = Floats({2, 2});
  CHECK(error(CallOf(KernelKind::kSoftmax, {}, {integers}, {x})) == "it works on f32 alone");
  CHECK(error(CallOf(KernelKind::kSoftmax, {}, {Floats({4})}, {Floats({4})})) ==
        "expected an argument of rank 2");
  CHECK(error(CallOf(KernelKind::kDropoutBackward, {}, {x, x}, {x})) == "masks are bool");
  CHECK(error(CallOf(KernelKind::kGradientDescent, {}, {x, Floats({4})}, {x})) ==
        "all arguments have one shape");
  CHECK(error(CallOf(KernelKind::kCopy, {}, {x, x}, {x})) ==
        "as many inputs as outputs are needed");
  CHECK(error(CallOf(KernelKind::kCopy, {}, {x, x}, {x, integers})) == "input and output 1 differ");
  CHECK(error(CallOf(
            KernelKind::kGather, {}, {x, ContiguousView(DType::kI64, {3})}, {Floats({3, 5})})) ==
        "table and output differ in dtype or width");
}

TEST_CASE("launching twice gives the same bytes") {
  Rng rng(1);
  for (const testing::SampleCall& sample : testing::SampleCalls(2)) {
    if (sample.call.kind <= KernelKind::kConvBackwardFilter) continue;
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
