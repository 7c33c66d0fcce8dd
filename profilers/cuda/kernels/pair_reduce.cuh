#pragma once

// Two sums at once for every column or channel, for batch norm and layer norm. A functor returns
// the two terms of each element.

#include "profilers/cuda/kernels/device.cuh"
#include "profilers/cuda/kernels/reduce.h"

namespace emplace::cuda {

/// A pair of sums, passed to the kernel by value. Each column or channel ("kept") is summed over
/// all other dimensions ("reduced").
struct PairReduceJob {
  ReduceShape shape;
  std::uint32_t num_kept = 0;
  std::int64_t kept_strides[2] = {};  ///< of the two operands along the kept dimension
  Strided<2> reduced{};
  float2* partial = nullptr;  ///< [splits, num_kept]
};

/// Returns the size of job.partial [B].
inline std::int64_t PartialBytes(const PairReduceJob& job) {
  return static_cast<std::int64_t>(job.shape.splits) * job.num_kept * 2 * sizeof(float);
}

/// Returns the two sums of one column or channel. Partial sums are added in f64.
__device__ inline double2 TotalOf(const PairReduceJob& job, std::uint32_t kept) {
  double2 total = make_double2(0, 0);
  for (std::uint32_t split = 0; split < job.shape.splits; ++split) {
    const float2 part = job.partial[static_cast<std::int64_t>(split) * job.num_kept + kept];
    total.x += part.x;
    total.y += part.y;
  }
  return total;
}

namespace internal {

template <class Terms>
__device__ inline float2 WalkPair(const PairReduceJob& job,
                                  const Terms& terms,
                                  std::uint32_t kept,
                                  std::uint32_t offset,
                                  std::uint32_t step) {
  const std::uint32_t begin = blockIdx.y * job.shape.per_split;
  const std::uint32_t left = job.reduced.count - begin;
  const std::uint32_t end = begin + (job.shape.per_split < left ? job.shape.per_split : left);
  float2 sum = make_float2(0, 0);
  for (std::uint32_t r = begin + offset; r < end; r += step) {
    std::int64_t at[2];
    OffsetsOf(job.reduced, r, at);
    for (int n = 0; n < 2; ++n) at[n] += kept * job.kept_strides[n];
    const float2 term = terms(job, kept, r, at[0], at[1]);
    sum.x += term.x;
    sum.y += term.y;
  }
  return sum;
}

// blockDim = (kGroup, groups), grid = (kept / groups, splits).
template <unsigned kGroup, class Terms>
__global__ void PairRowsKernel(const __grid_constant__ PairReduceJob job, Terms terms) {
  const std::uint32_t kept = blockIdx.x * blockDim.y + threadIdx.y;
  if (kept >= job.num_kept) return;
  float2 sum = WalkPair(job, terms, kept, threadIdx.x, kGroup);
  sum.x = CombineGroup<kGroup>(sum.x, SumOf());
  sum.y = CombineGroup<kGroup>(sum.y, SumOf());
  if (threadIdx.x == 0) {
    job.partial[static_cast<std::int64_t>(blockIdx.y) * job.num_kept + kept] = sum;
  }
}

inline constexpr unsigned kPairRows = 8;

// blockDim = (32, kPairRows), grid = (kept / 32, splits).
template <class Terms>
__global__ void PairColumnsKernel(const __grid_constant__ PairReduceJob job, Terms terms) {
  __shared__ float2 of_row[kPairRows][kWarp];
  const std::uint32_t kept = blockIdx.x * kWarp + threadIdx.x;
  float2 sum = make_float2(0, 0);
  if (kept < job.num_kept) sum = WalkPair(job, terms, kept, threadIdx.y, kPairRows);
  of_row[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || kept >= job.num_kept) return;
  for (unsigned row = 1; row < kPairRows; ++row) {
    sum.x += of_row[row][threadIdx.x].x;
    sum.y += of_row[row][threadIdx.x].y;
  }
  job.partial[static_cast<std::int64_t>(blockIdx.y) * job.num_kept + kept] = sum;
}

}  // namespace internal

/// Fills job.partial.
/// @param name   for errors
/// @param terms  terms(job, kept, reduced index, offset in operand 0, in operand 1) returns the two
///   terms of an element
template <class Terms>
void LaunchPairReduce(const char* name,
                      const PairReduceJob& job,
                      const Terms& terms,
                      cudaStream_t stream) {
  if (job.shape.path == ReducePath::kColumns) {
    Launch(name,
           internal::PairColumnsKernel<Terms>,
           dim3(BlocksFor(job.num_kept, kWarp), job.shape.splits),
           dim3(kWarp, internal::kPairRows),
           stream,
           job,
           terms);
  } else if (job.shape.group == 32) {
    Launch(name,
           internal::PairRowsKernel<kWarp, Terms>,
           dim3(BlocksFor(job.num_kept, kBlock / kWarp), job.shape.splits),
           dim3(kWarp, kBlock / kWarp),
           stream,
           job,
           terms);
  } else {
    Launch(name,
           internal::PairRowsKernel<kBlock, Terms>,
           dim3(BlocksFor(job.num_kept, 1), job.shape.splits),
           dim3(kBlock),
           stream,
           job,
           terms);
  }
}

}  // namespace emplace::cuda
