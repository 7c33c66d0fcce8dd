#include "profilers/cuda/kernels/device.cuh"
#include "profilers/cuda/kernels/indexing.h"

namespace emplace::cuda {
namespace {

template <class T>
__global__ void GatherKernel(GatherJob job) {
  const std::int64_t width = job.row_bytes / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= job.n * width) return;
  const std::int64_t row = i / width;
  const std::int64_t from =
      Wrapped(LoadAs<std::int64_t>(job.indices, job.index_dtype, row), job.table_rows);
  static_cast<T*>(job.out)[i] = static_cast<const T*>(job.table)[from * width + i - row * width];
}

__global__ void ScatterAddKernel(ScatterAddJob job) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= job.n * job.width) return;
  const std::int64_t row = i / job.width;
  const std::int64_t to =
      Wrapped(LoadAs<std::int64_t>(job.indices, job.index_dtype, row), job.table_rows);
  atomicAdd(job.table + to * job.width + (i - row * job.width), job.alpha * job.rows[i]);
}

template <class T>
void LaunchGatherAs(const GatherJob& job, cudaStream_t stream) {
  Launch("Gather",
         GatherKernel<T>,
         dim3(BlocksFor(job.n * (job.row_bytes / static_cast<std::int64_t>(sizeof(T))), kBlock)),
         dim3(kBlock),
         stream,
         job);
}

}  // namespace

void LaunchGather(const GatherJob& job, cudaStream_t stream) {
  if (job.n == 0 || job.row_bytes == 0) return;
  const auto mixed = reinterpret_cast<std::uintptr_t>(job.table) |
                     reinterpret_cast<std::uintptr_t>(job.out) |
                     static_cast<std::uintptr_t>(job.row_bytes);
  if (mixed % sizeof(float4) == 0) return LaunchGatherAs<float4>(job, stream);
  if (mixed % sizeof(float) == 0) return LaunchGatherAs<float>(job, stream);
  LaunchGatherAs<char>(job, stream);
}

void LaunchScatterAdd(const ScatterAddJob& job, cudaStream_t stream) {
  if (job.n == 0 || job.width == 0) return;
  Launch("Scatter add",
         ScatterAddKernel,
         dim3(BlocksFor(job.n * job.width, kBlock)),
         dim3(kBlock),
         stream,
         job);
}

}  // namespace emplace::cuda
