#include <cmath>

#include "profilers/cuda/kernels/device.cuh"
#include "profilers/cuda/kernels/softmax.h"

namespace emplace::cuda {
namespace {

// A warp processes rows up to this width, a block longer ones.
constexpr std::int64_t kSoftmaxWarpWidth = 1024;

// A group of kGroup threads processes a row: blockDim = (kGroup, groups).
__device__ inline std::int64_t RowOfGroup() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
}

template <unsigned kGroup>
__device__ inline float RowMaximum(const float* row, std::int64_t width) {
  float value = -INFINITY;
  for (std::int64_t j = threadIdx.x; j < width; j += kGroup) value = std::fmax(value, row[j]);
  return CombineGroup<kGroup>(value, MaximumOf());
}

template <unsigned kGroup>
__device__ inline float RowExpSum(const float* row, float shift, std::int64_t width) {
  float value = 0;
  for (std::int64_t j = threadIdx.x; j < width; j += kGroup) value += std::exp(row[j] - shift);
  return CombineGroup<kGroup>(value, SumOf());
}

template <unsigned kGroup>
__global__ void SoftmaxKernel(const float* x, float* y, bool is_log, RowsShape shape) {
  const std::int64_t row = RowOfGroup();
  if (row >= shape.rows) return;
  x += row * shape.width;
  y += row * shape.width;
  const float maximum = RowMaximum<kGroup>(x, shape.width);
  const float sum = RowExpSum<kGroup>(x, maximum, shape.width);
  const float log_sum = std::log(sum);
  for (std::int64_t j = threadIdx.x; j < shape.width; j += kGroup) {
    y[j] = is_log ? x[j] - maximum - log_sum : std::exp(x[j] - maximum) / sum;
  }
}

template <unsigned kGroup>
__global__ void SoftmaxBackwardKernel(const float* dy,
                                      const float* y,
                                      float* dx,
                                      bool is_log,
                                      RowsShape shape) {
  const std::int64_t row = RowOfGroup();
  if (row >= shape.rows) return;
  dy += row * shape.width;
  y += row * shape.width;
  dx += row * shape.width;
  float sum = 0;
  for (std::int64_t j = threadIdx.x; j < shape.width; j += kGroup) {
    sum += is_log ? dy[j] : dy[j] * y[j];
  }
  sum = CombineGroup<kGroup>(sum, SumOf());
  for (std::int64_t j = threadIdx.x; j < shape.width; j += kGroup) {
    dx[j] = is_log ? dy[j] - std::exp(y[j]) * sum : y[j] * (dy[j] - sum);
  }
}

template <unsigned kGroup>
__global__ void SparseCrossEntropyKernel(const float* logits,
                                         const void* labels,
                                         DType label_dtype,
                                         float* loss,
                                         float* dlogits,
                                         RowsShape shape) {
  const std::int64_t row = RowOfGroup();
  if (row >= shape.rows) return;
  logits += row * shape.width;
  const std::int64_t label = Wrapped(LoadAs<std::int64_t>(labels, label_dtype, row), shape.width);
  const float maximum = RowMaximum<kGroup>(logits, shape.width);
  const float sum = RowExpSum<kGroup>(logits, maximum, shape.width);
  if (loss != nullptr && threadIdx.x == 0) {
    loss[row] = std::log(sum) - (logits[label] - maximum);
  }
  if (dlogits == nullptr) return;
  dlogits += row * shape.width;
  for (std::int64_t j = threadIdx.x; j < shape.width; j += kGroup) {
    dlogits[j] = std::exp(logits[j] - maximum) / sum - (j == label ? 1.0f : 0.0f);
  }
}

// One block is enough, because there is only one number per row to read.
__global__ void NllLossForwardKernel(const float* x,
                                     const void* labels,
                                     DType label_dtype,
                                     float* loss,
                                     float* total,
                                     RowsShape shape) {
  float sum = 0;
  for (std::int64_t row = threadIdx.x; row < shape.rows; row += kBlock) {
    const std::int64_t label = Wrapped(LoadAs<std::int64_t>(labels, label_dtype, row), shape.width);
    sum -= x[row * shape.width + label];
  }
  sum = CombineGroup<kBlock>(sum, SumOf());
  if (threadIdx.x != 0) return;
  loss[0] = sum / static_cast<float>(shape.rows);
  if (total != nullptr) total[0] = static_cast<float>(shape.rows);
}

__global__ void NllLossBackwardKernel(const float* dloss,
                                      const void* labels,
                                      DType label_dtype,
                                      const float* total,
                                      float* dx,
                                      RowsShape shape) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= shape.rows * shape.width) return;
  const std::int64_t row = i / shape.width;
  const std::int64_t label = Wrapped(LoadAs<std::int64_t>(labels, label_dtype, row), shape.width);
  dx[i] = i - row * shape.width == label ? -dloss[0] / total[0] : 0.0f;
}

// Launches the kernel for warps or for blocks.
template <class Kernel, class... Arguments>
void LaunchRows(const char* name,
                Kernel for_warps,
                Kernel for_blocks,
                const RowsShape& shape,
                cudaStream_t stream,
                const Arguments&... arguments) {
  if (shape.rows == 0 || shape.width == 0) return;
  if (shape.width <= kSoftmaxWarpWidth) {
    constexpr unsigned kGroups = kBlock / kWarp;
    Launch(name,
           for_warps,
           dim3(BlocksFor(shape.rows, kGroups)),
           dim3(kWarp, kGroups),
           stream,
           arguments...,
           shape);
  } else {
    Launch(name,
           for_blocks,
           dim3(BlocksFor(shape.rows, 1)),
           dim3(kBlock),
           stream,
           arguments...,
           shape);
  }
}

}  // namespace

void LaunchSoftmax(const float* x,
                   float* y,
                   bool is_log,
                   const RowsShape& shape,
                   cudaStream_t stream) {
  LaunchRows("Softmax", &SoftmaxKernel<kWarp>, &SoftmaxKernel<kBlock>, shape, stream, x, y, is_log);
}

void LaunchSoftmaxBackward(const float* dy,
                           const float* y,
                           float* dx,
                           bool is_log,
                           const RowsShape& shape,
                           cudaStream_t stream) {
  LaunchRows("Softmax backward",
             &SoftmaxBackwardKernel<kWarp>,
             &SoftmaxBackwardKernel<kBlock>,
             shape,
             stream,
             dy,
             y,
             dx,
             is_log);
}

void LaunchSparseCrossEntropy(const float* logits,
                              const void* labels,
                              DType label_dtype,
                              float* loss,
                              float* dlogits,
                              const RowsShape& shape,
                              cudaStream_t stream) {
  LaunchRows("Sparse cross entropy",
             &SparseCrossEntropyKernel<kWarp>,
             &SparseCrossEntropyKernel<kBlock>,
             shape,
             stream,
             logits,
             labels,
             label_dtype,
             loss,
             dlogits);
}

void LaunchNllLossForward(const float* x,
                          const void* labels,
                          DType label_dtype,
                          float* loss,
                          float* total,
                          const RowsShape& shape,
                          cudaStream_t stream) {
  Launch("NLL loss forward",
         NllLossForwardKernel,
         dim3(1),
         dim3(kBlock),
         stream,
         x,
         labels,
         label_dtype,
         loss,
         total,
         shape);
}

void LaunchNllLossBackward(const float* dloss,
                           const void* labels,
                           DType label_dtype,
                           const float* total,
                           float* dx,
                           const RowsShape& shape,
                           cudaStream_t stream) {
  if (shape.rows * shape.width == 0) return;
  Launch("NLL loss backward",
         NllLossBackwardKernel,
         dim3(BlocksFor(shape.rows * shape.width, kBlock)),
         dim3(kBlock),
         stream,
         dloss,
         labels,
         label_dtype,
         total,
         dx,
         shape);
}

}  // namespace emplace::cuda
