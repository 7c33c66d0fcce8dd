#include <cmath>

#include "profilers/cuda/kernels/batch_norm.h"
#include "profilers/cuda/kernels/pair_reduce.cuh"

namespace emplace::cuda {
namespace {

// The coefficients of a channel for the second pass. Forward: y = (x - a) b + c. Backward: dx = b
// (dy - c - (x - a) d).
struct Coefficients {
  float a, b, c, d;
};

// Sums of x and x^2 relative to the channel's first element. Without it, the squares of a channel
// far from 0 would cancel.
struct ForwardTerms {
  const float* x;

  __device__ float2 operator()(const PairReduceJob& job,
                               std::uint32_t channel,
                               std::uint32_t,
                               std::int64_t at,
                               std::int64_t) const {
    const float value = x[at] - x[channel * job.kept_strides[0]];
    return make_float2(value, value * value);
  }
};

// Sums of dy and dy (x - mean).
struct BackwardTerms {
  const float *dy, *x, *mean;

  __device__ float2 operator()(const PairReduceJob&,
                               std::uint32_t channel,
                               std::uint32_t,
                               std::int64_t at_dy,
                               std::int64_t at_x) const {
    const float d = dy[at_dy];
    return make_float2(d, d * (x[at_x] - mean[channel]));
  }
};

__global__ void ForwardStatisticsKernel(const __grid_constant__ PairReduceJob sums,
                                        BatchNormForward job,
                                        Coefficients* coefficients) {
  const std::uint32_t c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= sums.num_kept) return;
  const double count = sums.reduced.count;
  const double2 total = TotalOf(sums, c);
  const double from_first = total.x / count;
  const double mean = job.x[c * sums.kept_strides[0]] + from_first;
  const double spread = total.y / count - from_first * from_first;
  const double variance = spread > 0 ? spread : 0;
  const double inverse_std = 1.0 / std::sqrt(variance + job.epsilon);
  coefficients[c] = {static_cast<float>(mean),
                     static_cast<float>(inverse_std * job.scale[c]),
                     job.offset[c],
                     0.0f};
  job.mean[c] = static_cast<float>(mean);
  job.second[c] = static_cast<float>(job.saves_inverse_std ? inverse_std : variance);
  if (job.running_mean == nullptr) return;
  const double unbiased = variance * count / (count > 1 ? count - 1 : 1);
  const bool has_running = job.running_mean_in != nullptr;
  const double weight = has_running ? job.momentum : 1;
  const double old_mean = has_running ? job.running_mean_in[c] : 0;
  const double old_variance = has_running ? job.running_variance_in[c] : 0;
  job.running_mean[c] = static_cast<float>((1 - weight) * old_mean + weight * mean);
  job.running_variance[c] = static_cast<float>((1 - weight) * old_variance + weight * unbiased);
}

__global__ void BackwardStatisticsKernel(const __grid_constant__ PairReduceJob sums,
                                         BatchNormBackward job,
                                         Coefficients* coefficients) {
  const std::uint32_t c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= sums.num_kept) return;
  const double count = sums.reduced.count;
  const double2 total = TotalOf(sums, c);
  const double inverse_std =
      job.saves_inverse_std ? static_cast<double>(job.second[c])
                            : 1.0 / std::sqrt(static_cast<double>(job.second[c]) + job.epsilon);
  const double dscale = total.y * inverse_std;
  coefficients[c] = {job.mean[c],
                     static_cast<float>(job.scale[c] * inverse_std),
                     static_cast<float>(total.x / count),
                     static_cast<float>(inverse_std * dscale / count)};
  job.dscale[c] = static_cast<float>(dscale);
  job.doffset[c] = static_cast<float>(total.x);
}

// Calls apply(offset in operand 0, 1, 2, channel) for the elements of this thread.
template <class Apply>
__device__ inline void ForElements(const BatchNormPlan& plan, const Apply& apply) {
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * plan.per_thread;
  if (first >= plan.all.count) return;
  std::int64_t at[4];
  OffsetsOf(plan.all, static_cast<std::uint32_t>(first), at);
  const int last = plan.all.rank - 1;
  for (int i = 0; i < plan.per_thread; ++i) {
    apply(at[0], at[1], at[2], at[3]);
    if (last < 0) return;
    for (int n = 0; n < 4; ++n) at[n] += plan.all.strides[n][last];
  }
}

__global__ void ForwardApplyKernel(const __grid_constant__ BatchNormPlan plan,
                                   const float* x,
                                   float* y,
                                   const Coefficients* coefficients) {
  ForElements(plan, [&](std::int64_t to, std::int64_t from, std::int64_t, std::int64_t channel) {
    const Coefficients k = coefficients[channel];
    y[to] = (x[from] - k.a) * k.b + k.c;
  });
}

__global__ void BackwardApplyKernel(const __grid_constant__ BatchNormPlan plan,
                                    const float* dy,
                                    const float* x,
                                    float* dx,
                                    const Coefficients* coefficients) {
  ForElements(
      plan, [&](std::int64_t to, std::int64_t from_dy, std::int64_t from_x, std::int64_t channel) {
        const Coefficients k = coefficients[channel];
        dx[to] = k.b * (dy[from_dy] - k.c - (x[from_x] - k.a) * k.d);
      });
}

PairReduceJob SumsJob(const BatchNormPlan& plan, void* scratch) {
  PairReduceJob job;
  job.shape = plan.sums;
  job.num_kept = static_cast<std::uint32_t>(plan.channels);
  for (int n = 0; n < 2; ++n) job.kept_strides[n] = plan.channel_strides[n];
  job.reduced = plan.reduced;
  // The coefficients come first because they have the larger alignment.
  job.partial = reinterpret_cast<float2*>(static_cast<Coefficients*>(scratch) + plan.channels);
  return job;
}

dim3 ApplyBlocks(const BatchNormPlan& plan) {
  return BlocksFor(plan.all.count, static_cast<std::int64_t>(kBlock) * plan.per_thread);
}

}  // namespace

void LaunchBatchNormForward(const BatchNormPlan& plan,
                            const BatchNormForward& job,
                            cudaStream_t stream) {
  if (plan.all.count == 0) return;
  const PairReduceJob sums = SumsJob(plan, job.scratch);
  auto* coefficients = static_cast<Coefficients*>(job.scratch);
  LaunchPairReduce("Batch norm sums", sums, ForwardTerms{job.x}, stream);
  Launch("Batch norm statistics",
         ForwardStatisticsKernel,
         dim3(BlocksFor(plan.channels, kBlock)),
         dim3(kBlock),
         stream,
         sums,
         job,
         coefficients);
  Launch("Batch norm forward",
         ForwardApplyKernel,
         ApplyBlocks(plan),
         dim3(kBlock),
         stream,
         plan,
         job.x,
         job.y,
         coefficients);
}

void LaunchBatchNormBackward(const BatchNormPlan& plan,
                             const BatchNormBackward& job,
                             cudaStream_t stream) {
  if (plan.all.count == 0) return;
  const PairReduceJob sums = SumsJob(plan, job.scratch);
  auto* coefficients = static_cast<Coefficients*>(job.scratch);
  LaunchPairReduce(
      "Batch norm gradient sums", sums, BackwardTerms{job.dy, job.x, job.mean}, stream);
  Launch("Batch norm gradient statistics",
         BackwardStatisticsKernel,
         dim3(BlocksFor(plan.channels, kBlock)),
         dim3(kBlock),
         stream,
         sums,
         job,
         coefficients);
  Launch("Batch norm backward",
         BackwardApplyKernel,
         ApplyBlocks(plan),
         dim3(kBlock),
         stream,
         plan,
         job.dy,
         job.x,
         job.dx,
         coefficients);
}

}  // namespace emplace::cuda
