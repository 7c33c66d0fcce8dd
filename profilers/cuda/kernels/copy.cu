#include <algorithm>

#include "profilers/cuda/kernels/copy.h"
#include "profilers/cuda/kernels/device.cuh"

namespace emplace::cuda {
namespace {

constexpr int kJobsPerLaunch = 16;  // kernel parameters stay below 4 KiB
constexpr unsigned kMaxBlocks = 4096;
constexpr int kTileRows = 8;

struct CopyJobs {
  CopyJob job[kJobsPerLaunch];
};
static_assert(sizeof(CopyJobs) <= 4096);

template <class T>
__device__ void CopyGeneral(const CopyJob& job, std::uint32_t first, std::uint32_t step) {
  for (std::int64_t i = first; i < job.dims.count; i += step) {
    std::int64_t at[2];
    OffsetsOf(job.dims, static_cast<std::uint32_t>(i), at);
    static_cast<T*>(job.destination)[at[0]] = static_cast<const T*>(job.source)[at[1]];
  }
}

template <class T>
__device__ void CopyFlat(const CopyJob& job,
                         std::int64_t bytes,
                         std::uint32_t first,
                         std::uint32_t step) {
  constexpr std::int64_t kSize = sizeof(T);
  for (std::int64_t i = first; i < bytes / kSize; i += step) {
    static_cast<T*>(job.destination)[i] = static_cast<const T*>(job.source)[i];
  }
  for (std::int64_t i = bytes / kSize * kSize + first; i < bytes; i += step) {
    static_cast<char*>(job.destination)[i] = static_cast<const char*>(job.source)[i];
  }
}

// Row y of the grid processes one job.
__global__ void CopyKernel(const __grid_constant__ CopyJobs jobs) {
  const CopyJob& job = jobs.job[blockIdx.y];
  const std::uint32_t first = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t step = gridDim.x * blockDim.x;
  if (job.path == CopyPath::kFlat) {
    const std::int64_t bytes = static_cast<std::int64_t>(job.dims.count) * job.element_bytes;
    const auto address = reinterpret_cast<std::uintptr_t>(job.source) |
                         reinterpret_cast<std::uintptr_t>(job.destination);
    if (address % sizeof(uint4) == 0) {
      CopyFlat<uint4>(job, bytes, first, step);
    } else if (address % sizeof(std::uint32_t) == 0) {
      CopyFlat<std::uint32_t>(job, bytes, first, step);
    } else {
      CopyFlat<char>(job, bytes, first, step);
    }
  } else if (job.element_bytes == 4) {
    CopyGeneral<std::uint32_t>(job, first, step);
  } else if (job.element_bytes == 8) {
    CopyGeneral<std::uint64_t>(job, first, step);
  } else {
    CopyGeneral<std::uint8_t>(job, first, step);
  }
}

// A block moves one tile through shared memory, so that accesses on both sides are contiguous.
__global__ void TransposeKernel(const __grid_constant__ CopyJob job) {
  __shared__ std::uint32_t tile[kTile][kTile + 1];  // one column more avoids bank conflicts
  const Strided<2>& dims = job.dims;
  const int row_dim = job.source_dim;
  const int column_dim = dims.rank - 1;
  const std::uint32_t across = (dims.shape[column_dim] + kTile - 1) / kTile;
  const std::uint32_t down = (dims.shape[row_dim] + kTile - 1) / kTile;
  std::uint32_t index = blockIdx.x;
  const std::uint32_t column = index % across * kTile;
  index /= across;
  const std::uint32_t row = index % down * kTile;
  index /= down;
  std::int64_t to = 0, from = 0;
  for (int d = column_dim - 1; d >= 0; --d) {
    if (d == row_dim) continue;
    const std::uint32_t at = index % dims.shape[d];
    index /= dims.shape[d];
    to += at * dims.strides[0][d];
    from += at * dims.strides[1][d];
  }
  const auto* source = static_cast<const std::uint32_t*>(job.source) + from;
  auto* destination = static_cast<std::uint32_t*>(job.destination) + to;
  for (int y = threadIdx.y; y < kTile; y += kTileRows) {
    const std::uint32_t r = row + threadIdx.x, c = column + y;
    if (r < dims.shape[row_dim] && c < dims.shape[column_dim]) {
      tile[y][threadIdx.x] = source[r + c * dims.strides[1][column_dim]];
    }
  }
  __syncthreads();
  for (int y = threadIdx.y; y < kTile; y += kTileRows) {
    const std::uint32_t r = row + y, c = column + threadIdx.x;
    if (r < dims.shape[row_dim] && c < dims.shape[column_dim]) {
      destination[r * dims.strides[0][row_dim] + c] = tile[threadIdx.x][y];
    }
  }
}

}  // namespace

void LaunchCopies(std::span<const CopyJob> jobs, cudaStream_t stream) {
  CopyJobs batch;
  int filled = 0;
  std::int64_t most = 0;
  const auto flush = [&] {
    if (filled == 0) return;
    const unsigned blocks = std::min(BlocksFor(most, kBlock * 4), kMaxBlocks);
    Launch("Copy", CopyKernel, dim3(blocks, filled), dim3(kBlock), stream, batch);
    filled = 0;
    most = 0;
  };
  for (const CopyJob& job : jobs) {
    if (job.dims.count == 0) continue;
    if (job.path == CopyPath::kTiled) {
      Launch("Transpose",
             TransposeKernel,
             dim3(BlocksFor(TilesOf(job), 1)),
             dim3(kTile, kTileRows),
             stream,
             job);
      continue;
    }
    batch.job[filled++] = job;
    most = std::max<std::int64_t>(most, job.dims.count);
    if (filled == kJobsPerLaunch) flush();
  }
  flush();
}

}  // namespace emplace::cuda
