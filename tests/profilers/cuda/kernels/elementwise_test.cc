// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/elementwise.cc"

#include "profilers/cuda/kernels/elementwise.cu"
#include "profilers/cuda/kernels/own_kernels.h"
#include "profilers/kernels/function_table.h"
#include "profilers/kernels/kernel_table.h"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;

namespace {

TEST_CASE("the path follows from dtypes and how the operands lie") {
  const auto path = [](const TensorView& output, std::vector<TensorView> inputs) {
    return cuda::PlanElementwise(Function::kAdd, 0, output, inputs).path;
  };
  const TensorView dense = Floats({2, 8, 4, 4}), nhwc = testing::Nhwc(2, 8, 4, 4);
  TensorView broadcast = dense;
  broadcast.strides = {0, 1, 0, 0};
  TensorView integers = dense, bools = dense;
  integers.dtype = DType::kI32;
  bools.dtype = DType::kBool;
  CHECK(path(dense, {dense, dense}) == cuda::ElementwisePath::kFlat);
  CHECK(path(nhwc, {nhwc, nhwc}) == cuda::ElementwisePath::kFlat);  // one run of memory too
  CHECK(path(nhwc, {nhwc, dense}) == cuda::ElementwisePath::kFloat);
  CHECK(path(dense, {dense, broadcast}) == cuda::ElementwisePath::kFloat);
  CHECK(path(bools, {dense, dense}) == cuda::ElementwisePath::kMixed);
  CHECK(path(integers, {integers, integers}) == cuda::ElementwisePath::kWide);
  CHECK(cuda::PlanElementwise(Function::kExp, 0, dense, std::vector{dense}).per_thread == 4);
}

TEST_CASE("every function on vectors and on what is left over, and with a scalar") {
  Rng rng(1);
  for (const FunctionDescription& function : kFunctionTable) {
    if (function.arity == Arity::kNone || function.arity == Arity::kReduction) continue;
    CAPTURE(function.name);
    KernelParams params;
    params.function = function.function;
    params.alpha = 0.5;
    const bool compares = function.types == FunctionTypes::kComparison;
    for (const std::int64_t size : {1, 4, 1023, 1024, 5000, 5003}) {
      const TensorView output = ContiguousView(compares ? DType::kBool : DType::kF32, {size});
      for (const std::size_t num_inputs : {1, 2}) {
        const testing::SampleCall sample =
            CallOf(KernelKind::kElementwise,
                   params,
                   std::vector<TensorView>(num_inputs, Floats({size})),
                   {output});
        if (!WhyMalformed(sample.call).empty()) continue;  // too few or too many operands
        testing::CheckSample(sample, rng, cuda::PrepareOwnKernel);
      }
    }
  }
}

TEST_CASE("powers with code of their own, of positive numbers") {
  Rng rng(3);
  KernelParams params;
  params.function = Function::kPow;
  for (const double exponent : {1.0, 2.0, 3.0, -1.0, 1.7}) {
    CAPTURE(exponent);
    params.alpha = exponent;
    testing::CheckSample(
        CallOf(KernelKind::kElementwise, params, {Floats({1030})}, {Floats({1030})}),
        rng,
        cuda::PrepareOwnKernel);
  }
}

TEST_CASE("sums of more inputs than a launch takes") {
  Rng rng(2);
  KernelParams params;
  params.function = Function::kAdd;
  for (const int count : {3, 8, 9, 15, 16, 31}) {
    for (const bool is_strided : {false, true}) {
      std::vector<TensorView> inputs(count, testing::Nhwc(2, 3, 5, 4));
      if (is_strided) inputs[count / 2] = Floats({2, 3, 5, 4});
      testing::CheckSample(
          CallOf(KernelKind::kElementwise, params, inputs, {testing::Nhwc(2, 3, 5, 4)}),
          rng,
          cuda::PrepareOwnKernel);
    }
  }
}

}  // namespace
