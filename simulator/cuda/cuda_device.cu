// simulator/gpu/gpu_device.h with CUDA, and the module's entry (simulator/gpu/gpu_module.h).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <cuda_runtime.h>
#include <dlfcn.h>

#include "framework/base/error.h"
#include "simulator/gpu/gpu_device.h"
#include "simulator/gpu/gpu_module.h"
#include "simulator/gpu/gpu_pass.h"

namespace emplace {
namespace {

constexpr int kMostThreads = 128;  // in a block: PlanGpuBlocks()
// Blocks that must fit on a streaming multiprocessor at once: a thread then has 64 registers.
constexpr int kLeastBlocks = 8;

// The arguments of a launch are in constant memory, which all threads read at once.
template <class Pass, bool kState, bool kArrivals>  // which columns are in shared memory
__global__ void __launch_bounds__(kMostThreads, kLeastBlocks)
    SimulateKernel(const __grid_constant__ GpuLaunch launch) {
  extern __shared__ std::uint32_t shared[];
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (thread >= launch.count) return;
  const auto block = static_cast<int>(blockDim.x);
  GpuColumn state{launch.state + thread, launch.stride};
  GpuColumn arrivals{launch.arrivals + thread, launch.stride};
  if constexpr (kState) state = {shared + threadIdx.x, block};
  if constexpr (kArrivals) {
    arrivals = {shared + launch.layout.words * block + threadIdx.x, block};
  }
  Pass(launch, thread, state, arrivals).Run();
}

void Check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // clears the error: an allocation that failed leaves the GPU usable
  throw RunError(std::string("simulation on a GPU: ") + what + ": " + cudaGetErrorName(result) +
                 " (" + cudaGetErrorString(result) + ")");
}

class CudaDevice final : public GpuDevice {
 public:
  explicit CudaDevice(int gpu) : gpu_(gpu) {
    Select();
    Check(cudaFree(nullptr), "starting it");
    for (cudaStream_t& stream : streams_) {
      Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    }
  }
  ~CudaDevice() override {
    cudaSetDevice(gpu_);
    for (const cudaStream_t stream : streams_) {
      if (stream == nullptr) continue;
      cudaStreamSynchronize(stream);
      cudaStreamDestroy(stream);
    }
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  GpuLimits limits() override {
    Select();
    std::size_t free = 0, total = 0;
    Check(cudaMemGetInfo(&free, &total), "asking for its memory");
    const auto attribute = [this](cudaDeviceAttr which) {
      int value = 0;
      Check(cudaDeviceGetAttribute(&value, which, gpu_), "asking for its limits");
      return value;
    };
    return {.free_memory = static_cast<std::int64_t>(free),
            .shared_per_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
            .shared_per_sm = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor)};
  }

  GpuMemory Allocate(std::int64_t bytes) override {
    Select();
    void* memory = nullptr;
    const std::string what = "allocating " + std::to_string(bytes) + " bytes";
    Check(cudaMalloc(&memory, static_cast<std::size_t>(bytes)), what.c_str());
    return {static_cast<std::byte*>(memory), [](std::byte* p) { cudaFree(p); }};
  }
  GpuMemory AllocateOnHost(std::int64_t bytes) override {
    Select();
    void* memory = nullptr;
    const std::string what = "allocating " + std::to_string(bytes) + " page-locked bytes";
    Check(cudaHostAlloc(&memory, static_cast<std::size_t>(bytes), cudaHostAllocPortable),
          what.c_str());
    return {static_cast<std::byte*>(memory), [](std::byte* p) { cudaFreeHost(p); }};
  }

  void CopyIn(int stream, std::byte* to, const std::byte* from, std::int64_t bytes) override {
    Copy(stream, to, from, bytes, cudaMemcpyHostToDevice);
  }
  void CopyOut(int stream, std::byte* to, const std::byte* from, std::int64_t bytes) override {
    Copy(stream, to, from, bytes, cudaMemcpyDeviceToHost);
  }

  void Launch(int stream, const GpuLaunch& launch) override {
    Select();
    WithGpuPass(launch.program, [&]<class Pass>() {
      if (launch.arrivals_in_shared) {
        Start(SimulateKernel<Pass, true, true>, stream, launch);
      } else if (launch.state_in_shared) {
        Start(SimulateKernel<Pass, true, false>, stream, launch);
      } else {
        Start(SimulateKernel<Pass, false, false>, stream, launch);
      }
    });
  }

  void Wait(int stream) override {
    Select();
    Check(cudaStreamSynchronize(streams_[stream]), "waiting for it");
  }

 private:
  using Kernel = void (*)(GpuLaunch);

  void Select() const { Check(cudaSetDevice(gpu_), "selecting it"); }

  void Copy(int stream,
            std::byte* to,
            const std::byte* from,
            std::int64_t bytes,
            cudaMemcpyKind kind) {
    Select();
    Check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, streams_[stream]),
          "copying");
  }

  void Start(Kernel kernel, int stream, const GpuLaunch& launch) {
    const auto threads = static_cast<unsigned>(launch.threads);
    const unsigned blocks = (static_cast<unsigned>(launch.count) + threads - 1) / threads;
    const std::size_t shared =
        sizeof(std::uint32_t) * static_cast<std::size_t>(SharedWords(launch));
    if (shared > 0) {
      const auto function = reinterpret_cast<const void*>(kernel);
      Check(cudaFuncSetAttribute(
                function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
            "asking for shared memory");
      if (launch.arrivals_in_shared) {
        // All shared memory is requested, so that as many blocks run at once as PlanGpuBlocks()
        // assumes; otherwise the cache gets a share, which holds the arrivals.
        Check(cudaFuncSetAttribute(function,
                                   cudaFuncAttributePreferredSharedMemoryCarveout,
                                   cudaSharedmemCarveoutMaxShared),
              "asking for shared memory");
      }
    }
    kernel<<<blocks, threads, shared, streams_[stream]>>>(launch);
    Check(cudaGetLastError(), "starting a launch");
  }

  const int gpu_;
  cudaStream_t streams_[kStreams] = {};
};

GpuCount CountGpus() {
  // CUDA's runtime would only report that the driver is insufficient.
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) {
    const char* const error = dlerror();
    return {0, std::string("cannot load the driver: ") + (error == nullptr ? "unknown" : error)};
  }
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found == cudaErrorNoDevice) return {0, "no GPU"};
  if (found == cudaErrorInsufficientDriver) {
    return {0, "the driver is older than CUDA " + std::to_string(CUDART_VERSION / 1000)};
  }
  Check(found, "counting GPUs");
  return {count, count == 0 ? "no GPU" : ""};
}

std::unique_ptr<GpuDevice> OpenGpu(int gpu) {
  return std::make_unique<CudaDevice>(gpu);
}

}  // namespace
}  // namespace emplace

extern "C" const emplace::SimulatorGpuModule* EmplaceSimulatorGpuModule() {
  static const emplace::SimulatorGpuModule module = {
      emplace::kSimulatorStamp, &emplace::CountGpus, &emplace::OpenGpu};
  return &module;
}
