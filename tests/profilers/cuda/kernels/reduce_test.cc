// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/reduce.cc"

#include "profilers/cuda/kernels/own_kernels.h"
#include "profilers/cuda/kernels/reduce.cu"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;

namespace {

TEST_CASE("the parts of a reduction cover all inputs, and none is empty") {
  for (const std::int64_t outputs : {1, 7, 64, 1000, 100000}) {
    for (const std::int64_t reduced : {1, 31, 1000, 4096, 5000, 1000003, 50000000}) {
      for (const bool kept_runs : {false, true}) {
        const cuda::ReduceShape shape =
            cuda::ChooseReduceShape(outputs, reduced, kept_runs, !kept_runs);
        CHECK(shape.splits >= 1);
        CHECK(shape.splits <= 512);
        const std::int64_t covered = std::int64_t{shape.splits} * shape.per_split;
        CHECK(covered >= reduced);
        CHECK(covered - shape.per_split < reduced);
      }
    }
  }
}

TEST_CASE("the path follows from how the input lies") {
  const auto plan = [](const TensorView& output, const TensorView& input) {
    return cuda::PlanReduce(Function::kSum, output, input);
  };
  // A row per output; short rows get a warp, long ones a block.
  CHECK(plan(Floats({64, 1}), Floats({64, 100})).shape.path == cuda::ReducePath::kRows);
  CHECK(plan(Floats({64, 1}), Floats({64, 100})).shape.group == 32);
  CHECK(plan(Floats({64, 1}), Floats({64, 2000})).shape.group == 256);
  // A bias gradient: columns of NHWC, planes of NCHW.
  CHECK(plan(Floats({1, 64, 1, 1}), testing::Nhwc(8, 64, 9, 9)).shape.path ==
        cuda::ReducePath::kColumns);
  CHECK(plan(Floats({1, 64, 1, 1}), Floats({8, 64, 9, 9})).shape.path == cuda::ReducePath::kRows);
  // Few outputs of many inputs are cut into parts.
  CHECK(plan(Floats({1}), Floats({1 << 20})).shape.splits > 100);
  CHECK(plan(Floats({1}), Floats({1 << 20})).scratch_bytes() > 0);
  CHECK(plan(Floats({64, 1}), Floats({64, 100})).scratch_bytes() == 0);
}

TEST_CASE("long rows, many columns and parts of both") {
  Rng rng(1);
  for (const Function function :
       {Function::kSum, Function::kMean, Function::kMax, Function::kHalfSumOfSquares}) {
    KernelParams params;
    params.function = function;
    CAPTURE(ToString(function));
    const auto check = [&](const TensorView& input, std::vector<std::int64_t> output) {
      testing::CheckSample(
          CallOf(KernelKind::kReduce, params, {input}, {Floats(std::move(output))}),
          rng,
          cuda::PrepareOwnKernel);
    };
    check(Floats({5, 3000}), {5, 1});
    check(Floats({1, 50001}), {1, 1});
    check(Floats({3000, 37}), {1, 37});
    check(Floats({700, 8}), {1, 8});
    check(testing::Nhwc(4, 33, 9, 10), {1, 33, 1, 1});
    check(Floats({4, 33, 9, 10}), {1, 33, 1, 1});
    check(Floats({20, 3, 50, 4}), {20, 1, 50, 1});
    check(testing::Permuted(Floats({40, 3000}), {1, 0}), {1, 40});
    check(testing::Permuted(Floats({40, 3000}), {1, 0}), {3000, 1});
  }
}

}  // namespace
