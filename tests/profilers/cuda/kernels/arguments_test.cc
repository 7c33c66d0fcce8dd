// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/arguments.cc"

#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;

namespace {

TEST_CASE("a malformed call is refused, whatever is refused is named") {
  KernelCall call = CallOf(KernelKind::kFill, {}, {}, {Floats({3})}).call;
  CHECK(cuda::NamingCall(call, [] { return 7; }) == 7);
  CHECK_THROWS_WITH_AS(cuda::NamingCall(call, []() -> int { throw RunError("too large"); }),
                       "CUDA kernels cannot do fill  -> f32 [3]: too large",
                       RunError);
  call.outputs.clear();
  CHECK_THROWS_WITH_AS(cuda::NamingCall(call, [] { return 7; }),
                       "CUDA kernels cannot do fill  -> : 0 inputs and 0 outputs; expected 0 and 1",
                       RunError);
}

TEST_CASE("parts of scratch are aligned and do not overlap") {
  cuda::ScratchLayout scratch;
  CHECK(scratch.Take(0) == 0);
  CHECK(scratch.Take(1) == 0);
  CHECK(scratch.Take(256) == 256);
  CHECK(scratch.Take(257) == 512);
  CHECK(scratch.bytes() == 1024);
}

TEST_CASE("the alignment of a view follows from its offset") {
  TensorView view = Floats({4});
  CHECK(cuda::AlignmentOf(view) == 256);
  view.offset = 1;
  CHECK(cuda::AlignmentOf(view) == 4);
  view.offset = 12;
  CHECK(cuda::AlignmentOf(view) == 16);
  view.offset = 128;
  CHECK(cuda::AlignmentOf(view) == 256);
}

TEST_CASE("an argument is copied only where its layout or alignment is not the wanted one") {
  cuda::ScratchLayout scratch;
  const TensorView nhwc = testing::Nhwc(2, 3, 4, 5);
  Argument argument{false, 0, nhwc};
  CHECK_FALSE(cuda::LaidOutArgument(argument, nhwc, scratch).is_copied());
  CHECK(scratch.bytes() == 0);
  CHECK(cuda::LaidOutArgument(argument, scratch).is_copied());
  CHECK(scratch.bytes() == 512);  // 480 bytes
  // Dimensions of size 1 have no layout.
  argument.view = Floats({2, 1, 4, 1});
  argument.view.strides[1] = 99;
  CHECK_FALSE(cuda::LaidOutArgument(argument, scratch).is_copied());
  argument.view = Floats({8});
  argument.view.offset = 1;
  CHECK_FALSE(cuda::LaidOutArgument(argument, Floats({8}), scratch).is_copied());
  CHECK(cuda::LaidOutArgument(argument, Floats({8}), scratch, 16).is_copied());
}

}  // namespace
