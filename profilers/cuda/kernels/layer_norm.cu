#include <cmath>

#include "profilers/cuda/kernels/layer_norm.h"
#include "profilers/cuda/kernels/pair_reduce.cuh"

namespace emplace::cuda {
namespace {

// A warp processes rows up to this width, a block longer ones.
constexpr std::int64_t kWarpWidth = 512;

template <unsigned kGroup>
__global__ void ForwardKernel(LayerNormForward job) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= job.rows) return;
  const float* x = job.x + row * job.width;
  float* y = job.y + row * job.width;
  float sum = 0;
  for (std::int64_t j = threadIdx.x; j < job.width; j += kGroup) sum += x[j];
  const float mean = CombineGroup<kGroup>(sum, SumOf()) / static_cast<float>(job.width);
  float squares = 0;
  for (std::int64_t j = threadIdx.x; j < job.width; j += kGroup) {
    squares += (x[j] - mean) * (x[j] - mean);
  }
  const float variance = CombineGroup<kGroup>(squares, SumOf()) / static_cast<float>(job.width);
  const float inverse_std = 1.0f / std::sqrt(variance + job.epsilon);
  for (std::int64_t j = threadIdx.x; j < job.width; j += kGroup) {
    y[j] = (x[j] - mean) * inverse_std * job.scale[j] + job.offset[j];
  }
  if (threadIdx.x == 0) {
    job.mean[row] = mean;
    job.inverse_std[row] = inverse_std;
  }
}

template <unsigned kGroup>
__global__ void BackwardRowsKernel(LayerNormBackward job) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= job.rows) return;
  const float* dy = job.dy + row * job.width;
  const float* x = job.x + row * job.width;
  float* dx = job.dx + row * job.width;
  const float mean = job.mean[row], inverse_std = job.inverse_std[row];
  float sum_g = 0, sum_gz = 0;
  for (std::int64_t j = threadIdx.x; j < job.width; j += kGroup) {
    const float g = dy[j] * job.scale[j];
    sum_g += g;
    sum_gz += g * (x[j] - mean) * inverse_std;
  }
  const float mean_g = CombineGroup<kGroup>(sum_g, SumOf()) / static_cast<float>(job.width);
  const float mean_gz = CombineGroup<kGroup>(sum_gz, SumOf()) / static_cast<float>(job.width);
  for (std::int64_t j = threadIdx.x; j < job.width; j += kGroup) {
    const float z = (x[j] - mean) * inverse_std;
    dx[j] = (dy[j] * job.scale[j] - mean_g - z * mean_gz) * inverse_std;
  }
}

// The terms of a column: dy z and dy.
struct ParameterTerms {
  const float *dy, *x, *mean, *inverse_std;

  __device__ float2 operator()(const PairReduceJob&,
                               std::uint32_t,
                               std::uint32_t row,
                               std::int64_t at_dy,
                               std::int64_t at_x) const {
    const float d = dy[at_dy];
    return make_float2(d * (x[at_x] - mean[row]) * inverse_std[row], d);
  }
};

__global__ void ParametersKernel(const __grid_constant__ PairReduceJob job,
                                 float* dscale,
                                 float* doffset) {
  const std::uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= job.num_kept) return;
  const double2 total = TotalOf(job, j);
  dscale[j] = static_cast<float>(total.x);
  doffset[j] = static_cast<float>(total.y);
}

PairReduceJob ParametersJob(std::int64_t rows, std::int64_t width) {
  PairReduceJob job;
  const TensorView column{DType::kF32, {rows}, {width}, 0};
  const TensorView operands[] = {column, column};
  job.reduced = Collapse<2>(operands, DimOrder::kLogical);
  job.num_kept = static_cast<std::uint32_t>(width);
  job.kept_strides[0] = job.kept_strides[1] = 1;
  job.shape = ChooseReduceShape(width, rows, /*kept_runs=*/true, /*reduced_runs=*/width == 1);
  return job;
}

template <class Job>
void LaunchRows(const char* name,
                void (*for_warps)(Job),
                void (*for_blocks)(Job),
                const Job& job,
                cudaStream_t stream) {
  if (job.width <= kWarpWidth) {
    constexpr unsigned kGroups = kBlock / kWarp;
    Launch(name, for_warps, dim3(BlocksFor(job.rows, kGroups)), dim3(kWarp, kGroups), stream, job);
  } else {
    Launch(name, for_blocks, dim3(BlocksFor(job.rows, 1)), dim3(kBlock), stream, job);
  }
}

}  // namespace

void LaunchLayerNormForward(const LayerNormForward& job, cudaStream_t stream) {
  if (job.rows == 0 || job.width == 0) return;
  LaunchRows("Layer norm forward", &ForwardKernel<kWarp>, &ForwardKernel<kBlock>, job, stream);
}

std::int64_t LayerNormScratchBytes(std::int64_t rows, std::int64_t width) {
  return PartialBytes(ParametersJob(rows, width));
}

void LaunchLayerNormBackward(const LayerNormBackward& job, cudaStream_t stream) {
  if (job.rows == 0 || job.width == 0) return;
  LaunchRows(
      "Layer norm backward", &BackwardRowsKernel<kWarp>, &BackwardRowsKernel<kBlock>, job, stream);
  PairReduceJob parameters = ParametersJob(job.rows, job.width);
  parameters.partial = static_cast<float2*>(job.scratch);
  LaunchPairReduce("Layer norm parameters",
                   parameters,
                   ParameterTerms{job.dy, job.x, job.mean, job.inverse_std},
                   stream);
  Launch("Layer norm parameters' sums",
         ParametersKernel,
         dim3(BlocksFor(job.width, kBlock)),
         dim3(kBlock),
         stream,
         parameters,
         job.dscale,
         job.doffset);
}

}  // namespace emplace::cuda
