#include "profilers/cuda/devices.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "framework/base/error.h"
#include "profilers/cuda/cuda_check.h"
#include "profilers/cuda/device_query.h"
#include "profilers/cuda/trace_overhead.h"
#include "profilers/kernels/kernel_call.h"

namespace emplace::cuda {

Devices::Devices(const std::vector<DeviceSpec>& specs) : gpus_(QueryGpus().gpus) {
  std::map<int, std::vector<int>> sizes;  // of the partitions of each GPU
  std::set<int> used;
  for (const DeviceSpec& spec : specs) {
    const auto* gpu = std::get_if<GpuDeviceSpec>(&spec);
    if (gpu == nullptr) continue;
    if (gpu->gpu < 0 || gpu->gpu >= static_cast<int>(gpus_.size())) {
      throw InputError(gpu->name + ": this machine has " + std::to_string(gpus_.size()) + " GPUs");
    }
    used.insert(gpu->gpu);
    if (gpu->sm_count != 0) sizes[gpu->gpu].push_back(gpu->sm_count);
  }
  used_gpus_.assign(used.begin(), used.end());
  for (int gpu : used_gpus_) {
    SelectGpu(gpu);
    WholeGpu& whole = whole_gpus_[gpu];
    whole.origin = MakeStream();
    whole.factory = std::make_unique<CudaKernelFactory>();
    if (sizes.contains(gpu)) {
      partitions_.try_emplace(gpu, gpu, gpus_[gpu].name, sizes[gpu]);
    }
    for (int other : used_gpus_) {
      int reachable = 0;
      if (other != gpu) EMPLACE_CUDA_CHECK(cudaDeviceCanAccessPeer(&reachable, gpu, other));
      if (reachable == 0) continue;
      const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
      if (error == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();
      } else {
        EMPLACE_CUDA_CHECK(error);
      }
    }
  }

  std::map<int, int> next_partition;
  std::vector<CpuGroup> groups;
  for (const DeviceSpec& spec : specs) {
    Device& device = devices_.emplace_back();
    if (const auto* cpu = std::get_if<CpuGroup>(&spec)) {
      device.name = cpu->name;
      device_of_group_.push_back(static_cast<int>(devices_.size()) - 1);
      groups.push_back(*cpu);
      continue;
    }
    const auto& gpu = std::get<GpuDeviceSpec>(spec);
    device.name = gpu.name;
    device.gpu = gpu.gpu;
    device.sm_count = gpu.sm_count == 0 ? gpus_[gpu.gpu].sm_count : gpu.sm_count;
    SelectGpu(gpu.gpu);
    device.stream = gpu.sm_count == 0
                        ? MakeStream()
                        : partitions_.at(gpu.gpu).MakeStream(next_partition[gpu.gpu]++);
    device.factory = std::make_unique<CudaKernelFactory>(gpu.sm_count);
  }
  if (!groups.empty()) cpu_machine_ = OpenCpuMachine(std::move(groups));
}

Devices::~Devices() = default;

CopyStream& Devices::copy_stream(int channel, int gpu) {
  CopyStream& copies = copy_streams_[{channel, gpu}];
  if (!copies.stream) {
    SelectGpu(gpu);
    copies.stream = MakeStream();
  }
  return copies;
}

cudaStream_t Devices::origin(int gpu) {
  return whole_gpus_.at(gpu).origin.get();
}

GpuKernel& Devices::packer(int gpu, const KernelCall& call) {
  WholeGpu& whole = whole_gpus_.at(gpu);
  GpuKernel& packer = whole.packers[CallKey(call)];
  if (!packer.kernel) {
    SelectGpu(gpu);
    packer.kernel = whole.factory->Prepare(call);
  }
  return packer;
}

GpuKernel& Devices::gpu_kernel(int device, const KernelCall& call) {
  Device& where = devices_[device];
  GpuKernel& kernel = where.gpu_kernels[CallKey(call)];
  if (!kernel.kernel) {
    SelectGpu(*where.gpu);
    kernel.kernel = where.factory->Prepare(call);
  }
  return kernel;
}

void Devices::Grow(GrowingMemory& memory,
                   std::int64_t bytes,
                   std::optional<int> gpu,
                   const std::string& owner) {
  if (memory.memory && bytes <= memory.bytes) return;
  if (gpu) SelectGpu(*gpu);
  const auto allocate = [&](std::int64_t size) {
    memory.memory = gpu ? AllocateOnGpu(size, owner) : AllocatePinned(size, owner);
    memory.bytes = size;
  };
  // Allocates more than needed, so that plans that grow in small steps discard few arenas.
  const std::int64_t generous = std::max(bytes, memory.bytes + memory.bytes / 2);
  try {
    allocate(generous);
  } catch (const RunError&) {
    memory = {};
    allocate(bytes);
  }
}

TraceOverhead Devices::trace_overhead(int gpu, bool as_graph) {
  WholeGpu& whole = whole_gpus_.at(gpu);
  std::optional<TraceOverhead>& overhead = whole.overheads[as_graph ? 1 : 0];
  if (!overhead) {
    SelectGpu(gpu);
    overhead = MeasureTraceOverhead(whole.origin.get(), as_graph);
  }
  return *overhead;
}

const std::vector<std::byte>& Devices::initial_bytes(const InitialValue& value) {
  constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;
  const auto [found, is_new] = initial_bytes_.try_emplace(
      {value.tensor, static_cast<int>(value.fill), static_cast<int>(value.dtype), value.bytes});
  if (!is_new) return found->second;
  if (initial_bytes_size_ > 0 && initial_bytes_size_ + value.bytes > kMostBytes) {
    initial_bytes_.clear();
    initial_bytes_size_ = 0;
    return initial_bytes(value);
  }
  initial_bytes_size_ += value.bytes;
  return found->second = InitialBytes(value);
}

}  // namespace emplace::cuda
