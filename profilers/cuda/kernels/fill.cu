#include "profilers/cuda/kernels/device.cuh"
#include "profilers/cuda/kernels/fill.h"

namespace emplace::cuda {
namespace {

template <class T>
__global__ void FillKernel(const __grid_constant__ FillJob job, T value) {
  const std::uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= job.dims.count) return;
  std::int64_t at[1];
  OffsetsOf(job.dims, index, at);
  static_cast<T*>(job.output)[at[0]] = value;
}

// Returns a pseudorandom number from one mix of the counter, which is sufficient for data. Philox
// 4x32 with ten rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) would
// give four numbers.
__device__ inline float Uniform(std::uint64_t counter) {
  std::uint64_t x = (counter + 1) * 0x9e3779b97f4a7c15ull;  // splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  x ^= x >> 31;
  return static_cast<float>(x >> 40) * (1.0f / 16777216.0f);  // 24 bits: exact in f32, below 1
}

__global__ void RandomUniformKernel(float* out, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) out[i] = Uniform(static_cast<std::uint64_t>(i));
}

__global__ void DropoutForwardKernel(const float* x,
                                     float* y,
                                     std::uint8_t* mask,
                                     float probability,
                                     float scale,
                                     std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const bool keeps = Uniform(static_cast<std::uint64_t>(i)) >= probability;
  y[i] = keeps ? x[i] * scale : 0.0f;
  if (mask != nullptr) mask[i] = keeps ? 1 : 0;
}

__global__ void DropoutBackwardKernel(const float* dy,
                                      const std::uint8_t* mask,
                                      float* dx,
                                      float scale,
                                      std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) dx[i] = mask[i] != 0 ? dy[i] * scale : 0.0f;
}

}  // namespace

FillJob PlanFill(double value, const TensorView& output) {
  FillJob job;
  job.dtype = output.dtype;
  job.value = value;
  job.dims = Collapse<1>({&output, 1}, DimOrder::kMemory);
  return job;
}

void LaunchFill(const FillJob& job, cudaStream_t stream) {
  if (job.dims.count == 0) return;
  const dim3 blocks(BlocksFor(job.dims.count, kBlock)), threads(kBlock);
  switch (job.dtype) {
    case DType::kF32:
      return Launch(
          "Fill", FillKernel<float>, blocks, threads, stream, job, static_cast<float>(job.value));
    case DType::kI32:
      return Launch("Fill",
                    FillKernel<std::int32_t>,
                    blocks,
                    threads,
                    stream,
                    job,
                    static_cast<std::int32_t>(job.value));
    case DType::kI64:
      return Launch("Fill",
                    FillKernel<std::int64_t>,
                    blocks,
                    threads,
                    stream,
                    job,
                    static_cast<std::int64_t>(job.value));
    case DType::kBool:
      return Launch("Fill",
                    FillKernel<std::uint8_t>,
                    blocks,
                    threads,
                    stream,
                    job,
                    static_cast<std::uint8_t>(job.value != 0));
  }
}

void LaunchRandomUniform(float* out, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  Launch("Random uniform",
         RandomUniformKernel,
         dim3(BlocksFor(count, kBlock)),
         dim3(kBlock),
         stream,
         out,
         count);
}

void LaunchDropoutForward(const float* x,
                          float* y,
                          std::uint8_t* mask,
                          double probability,
                          std::int64_t count,
                          cudaStream_t stream) {
  if (count == 0) return;
  // With probability 1 all elements are dropped; 0 * infinity would be NaN.
  const double scale = probability < 1 ? 1 / (1 - probability) : 0;
  Launch("Dropout forward",
         DropoutForwardKernel,
         dim3(BlocksFor(count, kBlock)),
         dim3(kBlock),
         stream,
         x,
         y,
         mask,
         static_cast<float>(probability),
         static_cast<float>(scale),
         count);
}

void LaunchDropoutBackward(const float* dy,
                           const std::uint8_t* mask,
                           float* dx,
                           double scale,
                           std::int64_t count,
                           cudaStream_t stream) {
  if (count == 0) return;
  Launch("Dropout backward",
         DropoutBackwardKernel,
         dim3(BlocksFor(count, kBlock)),
         dim3(kBlock),
         stream,
         dy,
         mask,
         dx,
         static_cast<float>(scale),
         count);
}

}  // namespace emplace::cuda
