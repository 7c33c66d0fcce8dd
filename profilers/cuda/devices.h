#pragma once

// What the programs of a CUDA backend share: streams, prepared kernels, arenas, worker threads.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "profilers/cpu/cpu_kernel.h"
#include "profilers/cuda/cuda_backend.h"
#include "profilers/cuda/cuda_kernel.h"
#include "profilers/cuda/handles.h"
#include "profilers/cuda/host_worker.h"
#include "profilers/cuda/partitions.h"
#include "profilers/cuda/retime.h"
#include "profilers/device_query.h"

namespace emplace::cuda {

/// Memory that grows. Who was handed the smaller one keeps it alive, and works on it.
struct GrowingMemory {
  Memory memory;
  std::int64_t bytes = 0;  ///< [B]
};

/// A prepared GPU kernel; `has_run` once its first launch, which loads code, lies behind.
struct GpuKernel {
  std::unique_ptr<CudaKernel> kernel;
  bool has_run = false;
};
using GpuKernels = std::map<std::string, GpuKernel>;  ///< by CallKey
using CpuKernels = std::map<std::string, std::unique_ptr<CpuKernel>>;

/// A device of the backend: on a GPU, or a group of cores.
struct Device {
  std::string name;
  std::optional<int> gpu;  ///< CUDA's ordinal; nullopt: a CPU
  int sm_count = 0;        ///< that it has
  GrowingMemory arena, scratch;
  // On a GPU:
  Stream stream;
  std::unique_ptr<CudaKernelFactory> factory;
  GpuKernels gpu_kernels;
  // On a CPU:
  std::unique_ptr<HostWorker> worker;
  CpuKernels cpu_kernels;
};

/// A stream for copies, with what packs strided sources.
struct CopyStream {
  Stream stream;
  GrowingMemory scratch;
};

class Devices {
 public:
  /// @throws InputError, RunError, CudaError as MakeCudaBackend
  explicit Devices(const std::vector<DeviceSpec>& specs);
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  int size() const { return static_cast<int>(devices_.size()); }
  Device& operator[](int device) { return devices_[device]; }
  const GpuInfo& gpu(int ordinal) const { return gpus_[ordinal]; }
  /// Ordinals of the GPUs in use, ascending.
  const std::vector<int>& used_gpus() const { return used_gpus_; }
  /// One stream per channel and GPU, made when first asked for.
  CopyStream& copy_stream(int channel, int gpu);
  /// A plain stream of a GPU: for everything but commands.
  cudaStream_t origin(int gpu);
  /// Packs strided sources; in whole GPUs.
  GpuKernel& packer(int gpu, const KernelCall& call);
  /// Between CPU devices.
  HostWorker& channel_worker(int channel);
  GrowingMemory& staging() { return staging_; }

  GpuKernel& gpu_kernel(int device, const KernelCall& call);  ///< @throws CudaError, RunError
  CpuKernel& cpu_kernel(int device, const KernelCall& call);  ///< @throws RunError
  /// At least that much memory: on the GPU, or page-locked on the host for nullopt.
  static void Grow(GrowingMemory& memory,
                   std::int64_t bytes,
                   std::optional<int> gpu,
                   const std::string& owner);
  /// MeasureTraceOverhead(), remembered.
  TraceOverhead trace_overhead(int gpu, bool as_graph);
  /// InitialBytes(), remembered.
  const std::vector<std::byte>& initial_bytes(const InitialValue& value);

 private:
  struct WholeGpu {
    Stream origin;
    std::unique_ptr<CudaKernelFactory> factory;
    GpuKernels packers;
    std::optional<TraceOverhead> overheads[2];  // of streams, of graphs
  };

  // Destroyed from the bottom up: streams before the partitions they belong to.
  std::vector<GpuInfo> gpus_;
  std::vector<int> used_gpus_;
  std::map<int, Partitions> partitions_;  // by ordinal
  std::map<int, WholeGpu> whole_gpus_;
  std::vector<Device> devices_;
  std::map<std::pair<int, int>, CopyStream> copy_streams_;
  std::map<int, HostWorker> channel_workers_;
  GrowingMemory staging_;
  std::map<std::tuple<int, int, int, std::int64_t>, std::vector<std::byte>> initial_bytes_;
  std::int64_t initial_bytes_size_ = 0;
};

}  // namespace emplace::cuda
