#pragma once

// What the programs and samplers of a CUDA backend share: streams, prepared kernels, memory, worker
// threads.

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

/// Memory that is replaced by a larger piece when more is needed. Programs that hold the smaller
/// piece keep it alive and go on using it.
struct GrowingMemory {
  Memory memory;
  std::int64_t bytes = 0;  ///< [B]
};

/// A prepared GPU kernel. `has_run` is true after its first launch, which loads its code.
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
  int sm_count = 0;        ///< streaming multiprocessors of the GPU or partition
  GrowingMemory arena, scratch;
  // On a GPU:
  Stream stream;
  std::unique_ptr<CudaKernelFactory> factory;
  GpuKernels gpu_kernels;
  // On a CPU:
  std::unique_ptr<HostWorker> worker;
  CpuKernels cpu_kernels;
};

/// A stream for copies, with memory for strided sources that are packed before they are copied.
struct CopyStream {
  Stream stream;
  GrowingMemory scratch;
};

/// All devices of a backend.
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
  /// The stream of a channel on a GPU, made when first asked for.
  CopyStream& copy_stream(int channel, int gpu);
  /// A stream of the whole GPU for all that is no command of a plan.
  cudaStream_t origin(int gpu);
  /// The kernel that packs a strided source of a copy; it runs on the whole GPU.
  GpuKernel& packer(int gpu, const KernelCall& call);
  /// The thread that does the copies of a channel between CPU devices.
  HostWorker& channel_worker(int channel);
  GrowingMemory& staging() { return staging_; }

  // The kernel of a call on a device, prepared when first asked for.

  GpuKernel& gpu_kernel(int device, const KernelCall& call);  ///< @throws CudaError, RunError
  CpuKernel& cpu_kernel(int device, const KernelCall& call);  ///< @throws RunError
  /// Replaces `memory` if it has less than `bytes`. @param gpu  nullopt: page-locked memory of the
  /// host
  /// @param owner  for the message @throws RunError naming owner and bytes
  static void Grow(GrowingMemory& memory,
                   std::int64_t bytes,
                   std::optional<int> gpu,
                   const std::string& owner);
  /// MeasureTraceOverhead(), measured once.
  TraceOverhead trace_overhead(int gpu, bool as_graph);
  /// InitialBytes(), computed once and kept while there is room.
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
