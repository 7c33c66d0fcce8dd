#include "profilers/cuda/cuda_kernel.h"

#include <map>

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "profilers/cuda/cuda_check.h"
#include "profilers/cuda/device_query.h"
#include "profilers/cuda/handles.h"
#include "profilers/cuda/partitions.h"
#include "tests/profilers/cuda/gpu_guard.h"
#include "tests/profilers/cuda/kernels/samples.h"

using namespace emplace;
using emplace::testing::CallOf;
using emplace::testing::Floats;
using emplace::testing::Nhwc;

namespace {

enum class Dispatch { kEager, kGraph };

// One stretch of device memory from which each call gets what it needs.
class Gpu {
 public:
  explicit Gpu(cuda::Stream stream = cuda::MakeStream()) : stream_(std::move(stream)) {}

  // Copies the buffers there, launches, copies them back. Before a capture every kernel has run
  // once: what the driver loads at a first launch is no part of it.
  void Run(cuda::CudaKernel& kernel, testing::OpBuffers& buffers, Dispatch dispatch) {
    if (dispatch == Dispatch::kGraph) {
      testing::OpBuffers first = buffers;
      Run(kernel, first, Dispatch::kEager);
    }
    used_ = 0;
    std::vector<char*> input_memory, output_memory;
    std::vector<void*> inputs, outputs;
    for (const testing::Buffer& buffer : buffers.input_storage) {
      inputs.push_back(input_memory.emplace_back(Upload(buffer)));
    }
    for (std::size_t i = 0; i < buffers.output_storage.size(); ++i) {
      const int shared = buffers.shared[i];
      outputs.push_back(output_memory.emplace_back(
          shared >= 0 ? input_memory[shared] : Upload(buffers.output_storage[i])));
    }
    char* scratch = Take(kernel.scratch_bytes());
    EMPLACE_CUDA_CHECK(cudaMemset(scratch, 0x7f, kernel.scratch_bytes()));
    EMPLACE_CUDA_CHECK(cudaDeviceSynchronize());

    if (dispatch == Dispatch::kEager) {
      kernel.Launch(inputs.data(), outputs.data(), scratch, stream_.get());
    } else {
      cudaGraph_t graph = nullptr;
      EMPLACE_CUDA_CHECK(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal));
      try {
        kernel.Launch(inputs.data(), outputs.data(), scratch, stream_.get());
      } catch (...) {
        cudaStreamEndCapture(stream_.get(), &graph);  // the stream serves the next call
        throw;
      }
      EMPLACE_CUDA_CHECK(cudaStreamEndCapture(stream_.get(), &graph));
      const cuda::Graph owned_graph(graph);
      cudaGraphExec_t executable = nullptr;
      EMPLACE_CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
      const cuda::GraphExec owned_executable(executable);
      EMPLACE_CUDA_CHECK(cudaGraphLaunch(executable, stream_.get()));
      EMPLACE_CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    }
    EMPLACE_CUDA_CHECK(cudaStreamSynchronize(stream_.get()));

    for (std::size_t i = 0; i < input_memory.size(); ++i) {
      Download(input_memory[i], buffers.input_storage[i]);
    }
    for (std::size_t i = 0; i < output_memory.size(); ++i) {
      if (buffers.shared[i] < 0) Download(output_memory[i], buffers.output_storage[i]);
    }
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{1} << 30;

  char* Take(std::int64_t bytes) {
    char* memory = reinterpret_cast<char*>(memory_.get()) + used_;
    used_ += (static_cast<std::size_t>(bytes) + 255) / 256 * 256;
    REQUIRE(used_ <= kBytes);
    return memory;
  }
  char* Upload(const testing::Buffer& buffer) {
    char* memory = Take(static_cast<std::int64_t>(buffer.size()));
    EMPLACE_CUDA_CHECK(cudaMemcpy(memory, buffer.data(), buffer.size(), cudaMemcpyHostToDevice));
    return memory;
  }
  static void Download(const char* memory, testing::Buffer& buffer) {
    EMPLACE_CUDA_CHECK(cudaMemcpy(buffer.data(), memory, buffer.size(), cudaMemcpyDeviceToHost));
  }

  cuda::Stream stream_;
  cuda::Memory memory_ = cuda::AllocateOnGpu(kBytes, "test");
  std::size_t used_ = 0;
};

void CheckOnGpu(const testing::SampleCall& sample,
                Rng& rng,
                Gpu& gpu,
                cuda::CudaKernelFactory& factory,
                Dispatch dispatch) {
  CAPTURE(sample.name);
  const testing::OpBuffers before = testing::RandomBuffers(sample, rng);
  testing::OpBuffers expected = before, actual = before;
  testing::RunReference(sample.call, expected);
  try {
    const auto kernel = factory.Prepare(sample.call);
    gpu.Run(*kernel, actual, dispatch);
    CHECK_EQ(testing::CompareOutputs(sample.call, before, expected, actual), "");
  } catch (const std::exception& error) {
    FAIL_CHECK(error.what());  // and go on with the other calls
  }
}

TEST_CASE("GPU: every kernel computes what the reference computes") {
  if (!GpuIsThere()) return;
  Gpu gpu;
  cuda::CudaKernelFactory factory;
  std::map<KernelKind, int> checked;
  for (std::uint64_t seed = 1; seed <= 2 * EMPLACE_TEST_SCALE; ++seed) {
    Rng rng(seed);
    for (const testing::SampleCall& sample : testing::SampleCalls(seed)) {
      CheckOnGpu(sample, rng, gpu, factory, Dispatch::kEager);
      ++checked[sample.call.kind];
    }
  }
  CHECK(checked.size() == static_cast<std::size_t>(KernelKind::kProxy) + 1);
}

TEST_CASE("GPU: every kernel can be captured") {
  if (!GpuIsThere()) return;
  Gpu gpu;
  cuda::CudaKernelFactory factory;
  Rng rng(7);
  for (const testing::SampleCall& sample : testing::SampleCalls(7)) {
    CheckOnGpu(sample, rng, gpu, factory, Dispatch::kGraph);
  }
}

TEST_CASE("GPU: every kernel runs in a partition, launched directly and captured") {
  if (!GpuIsThere()) return;
  const std::vector<int> sizes = {16};
  const cuda::Partitions partitions(0, "GPU", sizes);
  Gpu gpu(partitions.MakeStream(0));
  cuda::CudaKernelFactory factory(sizes[0]);
  Rng rng(8);
  for (const testing::SampleCall& sample : testing::SampleCalls(8)) {
    CheckOnGpu(sample, rng, gpu, factory, Dispatch::kEager);
    CheckOnGpu(sample, rng, gpu, factory, Dispatch::kGraph);
  }
}

TEST_CASE("GPU: products and convolutions of common sizes") {
  if (!GpuIsThere()) return;
  Gpu gpu;
  cuda::CudaKernelFactory factory;
  Rng rng(1);
  const auto check = [&](const testing::SampleCall& sample) {
    CheckOnGpu(sample, rng, gpu, factory, Dispatch::kEager);
  };
  TensorView bias = Floats({1, 128, 96});
  bias.strides = {0, 0, 1};
  check(CallOf(KernelKind::kMatmul,
               {},
               {Floats({1, 128, 300}), Floats({1, 300, 96}), bias},
               {Floats({1, 128, 96})}));
  check(CallOf(KernelKind::kMatmul,
               {},
               {Floats({12, 64, 40}), testing::Permuted(Floats({12, 64, 40}), {0, 2, 1})},
               {Floats({12, 64, 64})}));
  struct Layer {
    std::int64_t c, k, size, taps, stride, begin, end, groups;
  };
  for (const Layer& l : {Layer{3, 16, 32, 7, 2, 3, 3, 1},
                         Layer{32, 48, 14, 3, 1, 1, 1, 1},
                         Layer{32, 32, 14, 3, 2, 0, 1, 1},  // SAME of an even size
                         Layer{64, 64, 7, 1, 1, 0, 0, 1},
                         Layer{32, 32, 14, 3, 1, 1, 1, 32},  // depthwise
                         Layer{24, 48, 9, 5, 1, 2, 2, 4}}) {
    KernelParams params;
    params.groups = l.groups;
    params.window.size = {l.taps, l.taps};
    params.window.stride = {l.stride, l.stride};
    params.window.pad_begin = {l.begin, l.begin};
    params.window.pad_end = {l.end, l.end};
    const std::int64_t out = (l.size + l.begin + l.end - l.taps) / l.stride + 1;
    for (const bool channels_last : {false, true}) {
      CAPTURE(l.c);
      CAPTURE(l.taps);
      CAPTURE(channels_last);
      const TensorView x =
          channels_last ? Nhwc(2, l.c, l.size, l.size) : Floats({2, l.c, l.size, l.size});
      const TensorView y = channels_last ? Nhwc(2, l.k, out, out) : Floats({2, l.k, out, out});
      const std::int64_t c = l.c / l.groups;
      const TensorView w = channels_last
                               ? testing::Permuted(Floats({l.taps, l.taps, c, l.k}), {3, 2, 0, 1})
                               : Floats({l.k, c, l.taps, l.taps});
      check(CallOf(KernelKind::kConvForward, params, {x, w, Floats({l.k})}, {y}));
      check(CallOf(KernelKind::kConvBackwardData, params, {y, w}, {x}));
      check(CallOf(KernelKind::kConvBackwardFilter, params, {x, y}, {w}));
    }
  }
}

TEST_CASE("GPU: a call that nothing can do is refused by name") {
  if (!GpuIsThere()) return;
  cuda::CudaKernelFactory factory;
  CHECK_THROWS_WITH_AS(
      factory.Prepare(
          CallOf(KernelKind::kMatmul, {}, {Floats({1, 2, 3})}, {Floats({1, 2, 4})}).call),
      "CUDA kernels cannot do matmul f32 [1, 2, 3] -> f32 [1, 2, 4]: 1 inputs and 1 outputs; "
      "expected 2 to 3 and 1",
      RunError);
  CHECK(factory.Libraries().rfind("cuBLASLt ", 0) == 0);
  CHECK(factory.Libraries().find(", cuDNN ") != std::string::npos);
}

TEST_CASE("without a GPU there are no kernels, and the error says which call failed") {
  if (!cuda::QueryGpus().gpus.empty()) return;
  try {
    cuda::CudaKernelFactory factory;
    FAIL("a factory without GPU");
  } catch (const cuda::CudaError& error) {
    CHECK(std::string(error.what()).find("Create(&cu") != std::string::npos);
  }
}

}  // namespace
