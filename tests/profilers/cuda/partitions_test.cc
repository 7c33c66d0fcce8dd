#include "profilers/cuda/partitions.h"

#include <set>
#include <vector>

#include "framework/base/error.h"
#include "profilers/cuda/cuda_check.h"
#include "profilers/cuda/probes.h"
#include "tests/profilers/cuda/gpu_guard.h"

using namespace emplace;

namespace {

/// SMs on which the blocks of a census ran, launched directly or as a captured graph.
std::set<int> SmsOf(cudaStream_t stream, bool as_graph) {
  const cuda::Memory counts =
      cuda::AllocateOnGpu(cuda::kMaxSms * static_cast<std::int64_t>(sizeof(unsigned)), "gpu:0");
  auto* const on_gpu = reinterpret_cast<unsigned*>(counts.get());
  EMPLACE_CUDA_CHECK(cudaMemset(on_gpu, 0, cuda::kMaxSms * sizeof(unsigned)));
  EMPLACE_CUDA_CHECK(cudaDeviceSynchronize());
  constexpr int kBlocks = 4096;
  if (as_graph) {
    cudaGraph_t captured = nullptr;
    cudaGraphExec_t executable = nullptr;
    EMPLACE_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    cuda::LaunchSmCensus(on_gpu, kBlocks, stream);
    EMPLACE_CUDA_CHECK(cudaStreamEndCapture(stream, &captured));
    const cuda::Graph graph(captured);
    EMPLACE_CUDA_CHECK(cudaGraphInstantiate(&executable, captured, 0));
    const cuda::GraphExec owner(executable);
    // From a stream that is no partition's: it is the node that must know where it belongs.
    const cuda::Stream plain = cuda::MakeStream();
    EMPLACE_CUDA_CHECK(cudaGraphLaunch(executable, plain.get()));
    EMPLACE_CUDA_CHECK(cudaStreamSynchronize(plain.get()));
  } else {
    cuda::LaunchSmCensus(on_gpu, kBlocks, stream);
    EMPLACE_CUDA_CHECK(cudaStreamSynchronize(stream));
  }
  std::vector<unsigned> blocks(cuda::kMaxSms);
  EMPLACE_CUDA_CHECK(
      cudaMemcpy(blocks.data(), on_gpu, blocks.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
  std::set<int> sms;
  unsigned sum = 0;
  for (int sm = 0; sm < cuda::kMaxSms; ++sm) {
    if (blocks[sm] > 0) sms.insert(sm);
    sum += blocks[sm];
  }
  CHECK(sum == kBlocks);
  return sms;
}

void CheckDisjoint(const std::vector<int>& sizes) {
  const cuda::Partitions partitions(0, "GPU", sizes);
  for (bool as_graph : {false, true}) {
    CAPTURE(as_graph);
    std::set<int> all;
    size_t sum = 0;
    for (size_t p = 0; p < sizes.size(); ++p) {
      const cuda::Stream stream = partitions.MakeStream(static_cast<int>(p));
      const std::set<int> sms = SmsOf(stream.get(), as_graph);
      CAPTURE(p);
      CHECK(static_cast<int>(sms.size()) == sizes[p]);
      all.insert(sms.begin(), sms.end());
      sum += sms.size();
    }
    CHECK(all.size() == sum);
  }
}

TEST_CASE("GPU: partitions run on disjoint SMs, launched directly and from a graph") {
  if (!GpuIsThere()) return;
  const GpuInfo gpu = cuda::QueryGpus().gpus[0];
  const int unit = gpu.compute_major >= 9 ? 8 : 4;
  if (gpu.sm_count < 4 * unit) {
    MESSAGE("skipped: too few SMs");
    return;
  }
  CheckDisjoint({unit, unit});
  CheckDisjoint({2 * unit, unit});
  const int quarter = gpu.sm_count / 4 / unit * unit;
  CheckDisjoint({quarter, quarter, quarter, quarter});
}

TEST_CASE("GPU: partitions that it cannot give are refused with what it has") {
  if (!GpuIsThere()) return;
  const std::vector<int> sizes = {8, 8192};
  CHECK_THROWS_AS(cuda::Partitions(0, "GPU", sizes), InputError);
}

}  // namespace
