#include "profilers/cuda/kernels/device.cuh"
#include "profilers/cuda/kernels/sequences.h"

namespace emplace::cuda {
namespace {

__global__ void RangeKernel(const __grid_constant__ RangeJob job) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= job.count) return;
  StoreAs(job.out, job.dtype, i * job.stride, job.start + job.step * static_cast<double>(i));
}

// A block processes a row, and each thread a piece of it: first the sums of the pieces, then the
// sum before each piece, then the prefix sums.
__global__ void CumulativeSumKernel(const __grid_constant__ CumulativeSumJob job) {
  __shared__ double before[kBlock];
  const std::int64_t piece = (job.width + blockDim.x - 1) / blockDim.x;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * job.width;
  const std::int64_t begin = threadIdx.x * piece;
  const std::int64_t end = begin + piece < job.width ? begin + piece : job.width;
  double sum = 0;
  for (std::int64_t i = begin; i < end; ++i) sum += LoadAs<double>(job.x, job.x_dtype, row + i);
  before[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    double total = 0;
    for (unsigned t = 0; t < blockDim.x; ++t) {
      const double of_piece = before[t];
      before[t] = total;
      total += of_piece;
    }
  }
  __syncthreads();
  sum = before[threadIdx.x];
  for (std::int64_t i = begin; i < end; ++i) {
    sum += LoadAs<double>(job.x, job.x_dtype, row + i);
    StoreAs(job.y, job.y_dtype, row + i, sum);
  }
}

}  // namespace

void LaunchRange(const RangeJob& job, cudaStream_t stream) {
  Launch("Range", RangeKernel, dim3(BlocksFor(job.count, kBlock)), dim3(kBlock), stream, job);
}

void LaunchCumulativeSum(const CumulativeSumJob& job, cudaStream_t stream) {
  Launch("Cumulative sum",
         CumulativeSumKernel,
         dim3(BlocksFor(job.rows, 1)),
         dim3(kBlock),
         stream,
         job);
}

}  // namespace emplace::cuda
