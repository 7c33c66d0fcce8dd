// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // first: makes the sources below run on the CPU
// clang-format on
#include "profilers/cuda/kernels/batch_norm.cc"

#include "profilers/cuda/kernels/batch_norm.cu"
#include "profilers/cuda/kernels/own_kernels.h"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;

namespace {

TEST_CASE("planes and columns, in parts, of mixed layouts") {
  Rng rng(1);
  KernelParams params;
  params.epsilon = 1e-3;
  for (const bool saves_inverse_std : {false, true}) {
    params.saves_inverse_std = saves_inverse_std;
    const TensorView nchw = Floats({3, 20, 17, 19}), nhwc = testing::Nhwc(3, 20, 17, 19);
    const TensorView c = Floats({20});
    for (const auto& [x, y] : {std::pair{nchw, nchw}, {nhwc, nhwc}, {nchw, nhwc}}) {
      testing::CheckSample(
          CallOf(KernelKind::kBatchNormForward, params, {x, c, c, c, c}, {y, c, c, c, c}),
          rng,
          cuda::PrepareOwnKernel);
      testing::CheckSample(
          CallOf(KernelKind::kBatchNormBackward, params, {x, y, c, c, c}, {x, c, c}),
          rng,
          cuda::PrepareOwnKernel);
    }
  }
}

TEST_CASE("the plan walks NCHW in rows and NHWC in columns") {
  const TensorView nchw[] = {Floats({8, 64, 28, 28})}, nhwc[] = {testing::Nhwc(8, 64, 28, 28)};
  const cuda::BatchNormPlan rows = cuda::PlanBatchNorm(nchw[0], nchw);
  const cuda::BatchNormPlan columns = cuda::PlanBatchNorm(nhwc[0], nhwc);
  CHECK(rows.sums.path == cuda::ReducePath::kRows);
  CHECK(columns.sums.path == cuda::ReducePath::kColumns);
  CHECK(columns.reduced.rank == 1);
  CHECK(rows.count == 8 * 28 * 28);
  CHECK(rows.per_thread == 4);
}

TEST_CASE("the variance of a channel far from zero does not cancel") {
  // x = 1000 +- 1 in equal parts: mean 1000, variance 1. E[x^2] - E[x]^2 in f32 would be off by
  // 1e6 * 2^-24 = 0.06.
  std::vector<float> x(4096), y(4096);
  for (int i = 0; i < 4096; ++i) x[i] = i % 2 == 0 ? 1001.0f : 999.0f;
  const TensorView view[] = {Floats({4, 1, 32, 32})};
  const cuda::BatchNormPlan plan = cuda::PlanBatchNorm(view[0], view);
  std::vector<float> scratch(plan.scratch_bytes() / sizeof(float));
  const float scale = 1, offset = 0;
  float mean = 0, variance = 0;
  cuda::BatchNormForward job;
  job.x = x.data();
  job.scale = &scale;
  job.offset = &offset;
  job.y = y.data();
  job.mean = &mean;
  job.second = &variance;
  job.scratch = scratch.data();
  cuda::LaunchBatchNormForward(plan, job, nullptr);
  CHECK(mean == doctest::Approx(1000).epsilon(1e-7));
  CHECK(variance == doctest::Approx(1).epsilon(1e-5));
  CHECK(y[0] == doctest::Approx(1).epsilon(1e-4));
}

}  // namespace
