#include <cmath>

#include "profilers/cuda/kernels/device.cuh"
#include "profilers/cuda/kernels/pool.h"

namespace emplace::cuda {
namespace {

struct Position {
  std::uint32_t n, c;
  std::int32_t row, column;
};

// Finds the element of an [n, c, height, width] tensor that this thread writes. Returns false if
// there is none.
__device__ inline bool FindPosition(const PoolJob& job,
                                    std::int32_t height,
                                    std::int32_t width,
                                    Position& at) {
  const std::uint64_t index = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= static_cast<std::uint64_t>(job.n) * job.c * height * width) return false;
  std::uint32_t rest = static_cast<std::uint32_t>(index);
  const auto digit = [&](std::uint32_t size) {
    const std::uint32_t outer = rest / size;
    const std::uint32_t result = rest - outer * size;
    rest = outer;
    return result;
  };
  if (job.channels_last) at.c = digit(job.c);
  at.column = static_cast<std::int32_t>(digit(width));
  at.row = static_cast<std::int32_t>(digit(height));
  if (!job.channels_last) at.c = digit(job.c);
  at.n = rest;
  return true;
}

__device__ inline std::int64_t PlaneOf(const Position& at, const std::int64_t (&strides)[4]) {
  return at.n * strides[0] + at.c * strides[1];
}
__device__ inline std::int64_t InPlane(std::int32_t row,
                                       std::int32_t column,
                                       const std::int64_t (&strides)[4]) {
  return row * strides[2] + column * strides[3];
}

// The rows (or columns) of x in window `at`, clipped to x.
struct Range {
  std::int32_t begin, end;
};
__device__ inline Range WindowOf(const PoolJob& job, int axis, std::int32_t at, std::int32_t size) {
  const std::int32_t begin = at * job.stride[axis] - job.pad[axis];
  const std::int32_t end = begin + job.size[axis];
  return {begin < 0 ? 0 : begin, end < size ? end : size};
}
// Returns the windows that contain row (or column) `at` of x, clipped to y.
__device__ inline Range WindowsWith(const PoolJob& job,
                                    int axis,
                                    std::int32_t at,
                                    std::int32_t num_windows) {
  const std::int32_t last = (at + job.pad[axis]) / job.stride[axis];
  // Windows up to this position end before row (or column) `at`.
  const std::int32_t before = at + job.pad[axis] - job.size[axis];
  const std::int32_t first = before < 0 ? 0 : before / job.stride[axis] + 1;
  return {first, last + 1 < num_windows ? last + 1 : num_windows};
}

__device__ inline float DivisorOf(const PoolJob& job, Range rows, Range columns) {
  if (job.count_include_pad) return static_cast<float>(job.size[0] * job.size[1]);
  return static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
}

__global__ void MaxForwardKernel(const __grid_constant__ PoolJob job) {
  Position at;
  if (!FindPosition(job, job.p, job.q, at)) return;
  const Range rows = WindowOf(job, 0, at.row, job.h), columns = WindowOf(job, 1, at.column, job.w);
  const float* x = job.x + PlaneOf(at, job.x_strides);
  float best = -INFINITY;
  std::int64_t index = static_cast<std::int64_t>(rows.begin) * job.w + columns.begin;
  for (std::int32_t i = rows.begin; i < rows.end; ++i) {
    for (std::int32_t j = columns.begin; j < columns.end; ++j) {
      const float value = x[InPlane(i, j, job.x_strides)];
      if (value > best) {
        best = value;
        index = static_cast<std::int64_t>(i) * job.w + j;
      }
    }
  }
  job.y[PlaneOf(at, job.y_strides) + InPlane(at.row, at.column, job.y_strides)] = best;
  if (job.indices != nullptr) {
    StoreAs(job.indices,
            job.index_dtype,
            PlaneOf(at, job.index_strides) + InPlane(at.row, at.column, job.index_strides),
            index);
  }
}

// Returns whether (row, column) of x is the first in its window with this value.
__device__ inline bool IsFirst(const PoolJob& job,
                               const float* x,
                               float value,
                               Range rows,
                               Range columns,
                               std::int32_t row,
                               std::int32_t column) {
  for (std::int32_t i = rows.begin; i <= row; ++i) {
    const std::int32_t end = i < row ? columns.end : column;
    for (std::int32_t j = columns.begin; j < end; ++j) {
      if (x[InPlane(i, j, job.x_strides)] == value) return false;
    }
  }
  return true;
}

__global__ void MaxBackwardKernel(const __grid_constant__ PoolJob job) {
  Position at;
  if (!FindPosition(job, job.h, job.w, at)) return;
  const Range ps = WindowsWith(job, 0, at.row, job.p), qs = WindowsWith(job, 1, at.column, job.q);
  const float* x = job.x + PlaneOf(at, job.x_strides);
  const float* y = job.y_in + PlaneOf(at, job.y_strides);
  const float* dy = job.dy + PlaneOf(at, job.dy_strides);
  const float value = x[InPlane(at.row, at.column, job.x_strides)];
  float sum = 0;
  for (std::int32_t p = ps.begin; p < ps.end; ++p) {
    for (std::int32_t q = qs.begin; q < qs.end; ++q) {
      if (y[InPlane(p, q, job.y_strides)] != value) continue;
      const Range rows = WindowOf(job, 0, p, job.h), columns = WindowOf(job, 1, q, job.w);
      if (IsFirst(job, x, value, rows, columns, at.row, at.column)) {
        sum += dy[InPlane(p, q, job.dy_strides)];
      }
    }
  }
  job.dx[PlaneOf(at, job.dx_strides) + InPlane(at.row, at.column, job.dx_strides)] = sum;
}

__global__ void MaxBackwardIndicesKernel(const __grid_constant__ PoolJob job) {
  Position at;
  if (!FindPosition(job, job.h, job.w, at)) return;
  const Range ps = WindowsWith(job, 0, at.row, job.p), qs = WindowsWith(job, 1, at.column, job.q);
  const float* dy = job.dy + PlaneOf(at, job.dy_strides);
  const std::int64_t index_plane = PlaneOf(at, job.index_strides);
  const std::int64_t own = static_cast<std::int64_t>(at.row) * job.w + at.column;
  float sum = 0;
  for (std::int32_t p = ps.begin; p < ps.end; ++p) {
    for (std::int32_t q = qs.begin; q < qs.end; ++q) {
      const std::int64_t index = LoadAs<std::int64_t>(
          job.indices, job.index_dtype, index_plane + InPlane(p, q, job.index_strides));
      if (index == own) sum += dy[InPlane(p, q, job.dy_strides)];
    }
  }
  job.dx[PlaneOf(at, job.dx_strides) + InPlane(at.row, at.column, job.dx_strides)] = sum;
}

__global__ void AverageForwardKernel(const __grid_constant__ PoolJob job) {
  Position at;
  if (!FindPosition(job, job.p, job.q, at)) return;
  const Range rows = WindowOf(job, 0, at.row, job.h), columns = WindowOf(job, 1, at.column, job.w);
  const float* x = job.x + PlaneOf(at, job.x_strides);
  float sum = 0;
  for (std::int32_t i = rows.begin; i < rows.end; ++i) {
    for (std::int32_t j = columns.begin; j < columns.end; ++j) {
      sum += x[InPlane(i, j, job.x_strides)];
    }
  }
  job.y[PlaneOf(at, job.y_strides) + InPlane(at.row, at.column, job.y_strides)] =
      sum / DivisorOf(job, rows, columns);
}

__global__ void AverageBackwardKernel(const __grid_constant__ PoolJob job) {
  Position at;
  if (!FindPosition(job, job.h, job.w, at)) return;
  const Range ps = WindowsWith(job, 0, at.row, job.p), qs = WindowsWith(job, 1, at.column, job.q);
  const float* dy = job.dy + PlaneOf(at, job.dy_strides);
  float sum = 0;
  for (std::int32_t p = ps.begin; p < ps.end; ++p) {
    for (std::int32_t q = qs.begin; q < qs.end; ++q) {
      const Range rows = WindowOf(job, 0, p, job.h), columns = WindowOf(job, 1, q, job.w);
      sum += dy[InPlane(p, q, job.dy_strides)] / DivisorOf(job, rows, columns);
    }
  }
  job.dx[PlaneOf(at, job.dx_strides) + InPlane(at.row, at.column, job.dx_strides)] = sum;
}

}  // namespace

void LaunchPool(KernelKind kind, const PoolJob& job, cudaStream_t stream) {
  const bool is_forward =
      kind == KernelKind::kMaxPoolForward || kind == KernelKind::kAvgPoolForward;
  const std::int64_t plane = is_forward ? static_cast<std::int64_t>(job.p) * job.q
                                        : static_cast<std::int64_t>(job.h) * job.w;
  const std::int64_t count = plane * job.n * job.c;
  if (count == 0) return;
  const auto launch = [&](const char* name, void (*kernel)(const PoolJob)) {
    Launch(name, kernel, dim3(BlocksFor(count, kBlock)), dim3(kBlock), stream, job);
  };
  switch (kind) {
    case KernelKind::kMaxPoolForward:
      return launch("Max pool forward", MaxForwardKernel);
    case KernelKind::kMaxPoolBackward:
      return launch("Max pool backward", MaxBackwardKernel);
    case KernelKind::kMaxPoolBackwardIndices:
      return launch("Max pool backward by indices", MaxBackwardIndicesKernel);
    case KernelKind::kAvgPoolForward:
      return launch("Average pool forward", AverageForwardKernel);
    case KernelKind::kAvgPoolBackward:
      return launch("Average pool backward", AverageBackwardKernel);
    default:
      EMPLACE_CHECK(false, "not a pooling");
  }
}

}  // namespace emplace::cuda
