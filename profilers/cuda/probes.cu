#include "profilers/cuda/cuda_check.h"
#include "profilers/cuda/probes.h"

namespace emplace::cuda {

namespace {

__global__ void NullKernel() {
}

__global__ void StampKernel(volatile std::uint64_t* flag, std::uint64_t value) {
  *flag = value;
  __threadfence_system();
}

__global__ void SmCensusKernel(unsigned* blocks_on_sm) {
  unsigned sm = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  // Long enough that the blocks spread over all SMs that they may use.
  const long long start = clock64();
  while (clock64() - start < 20000) {
  }
  if (threadIdx.x == 0 && sm < kMaxSms) atomicAdd(&blocks_on_sm[sm], 1U);
}

}  // namespace

void LaunchNull(cudaStream_t stream) {
  NullKernel<<<1, 1, 0, stream>>>();
  EMPLACE_CUDA_CHECK(cudaGetLastError());
}

void LaunchStamp(std::uint64_t* flag, std::uint64_t value, cudaStream_t stream) {
  StampKernel<<<1, 1, 0, stream>>>(flag, value);
  EMPLACE_CUDA_CHECK(cudaGetLastError());
}

void LaunchSmCensus(unsigned* blocks_on_sm, int blocks, cudaStream_t stream) {
  SmCensusKernel<<<blocks, 32, 0, stream>>>(blocks_on_sm);
  EMPLACE_CUDA_CHECK(cudaGetLastError());
}

}  // namespace emplace::cuda
