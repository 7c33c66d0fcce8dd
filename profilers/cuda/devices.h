#pragma once

// The resources that the programs and samplers of a CUDA backend share: streams, prepared kernels,
// memory, and the optional groups of cores.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "profilers/cpu/cpu_machine.h"
#include "profilers/cuda/cuda_backend.h"
#include "profilers/cuda/cuda_kernel.h"
#include "profilers/cuda/handles.h"
#include "profilers/cuda/partitions.h"
#include "profilers/cuda/stream_counters.h"
#include "profilers/device_query.h"
#include "profilers/executor/retime.h"

namespace emplace::cuda {

/// Memory that is replaced by a larger allocation when more is needed. Programs that hold the
/// smaller allocation keep it alive and continue to use it.
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

/// A device of the backend: a GPU, a partition of a GPU, or a group of cores.
struct Device {
  std::string name;
  std::optional<int> gpu;  ///< CUDA's ordinal; nullopt: a CPU
  int sm_count = 0;        ///< streaming multiprocessors of the GPU or partition
  GrowingMemory arena, scratch;
  // On a GPU:
  Stream stream;
  std::unique_ptr<CudaKernelFactory> factory;
  GpuKernels gpu_kernels;
};

/// A stream for copies, with memory in which strided sources are packed before the copy.
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
  /// Returns the ordinals of the GPUs in use, ascending.
  const std::vector<int>& used_gpus() const { return used_gpus_; }
  /// Returns the stream of a channel on a GPU. The first request makes it.
  CopyStream& copy_stream(int channel, int gpu);
  /// Returns a stream of the whole GPU for all work that is not a command of a plan.
  cudaStream_t origin(int gpu);
  /// Returns the kernel that packs a strided source of a copy. It runs on the whole GPU.
  GpuKernel& packer(int gpu, const KernelCall& call);
  /// Returns the groups of cores with the workers that run their queues; nullptr: there are none.
  const std::shared_ptr<CpuMachine>& cpu_machine() const { return cpu_machine_; }
  /// Returns the device of each group. [groups]
  const std::vector<int>& device_of_group() const { return device_of_group_; }
  GrowingMemory& staging() { return staging_; }

  /// Returns the kernel of a call on a GPU. The first request prepares it.
  /// @throws CudaError, RunError
  GpuKernel& gpu_kernel(int device, const KernelCall& call);
  /// Replaces `memory` if it has less than `bytes`.
  /// @param gpu    nullopt: page-locked memory of the host
  /// @param owner  for the message
  /// @throws RunError naming owner and bytes
  static void Grow(GrowingMemory& memory,
                   std::int64_t bytes,
                   std::optional<int> gpu,
                   const std::string& owner);
  /// Returns the result of MeasureTraceOverhead(), which is measured once.
  TraceOverhead trace_overhead(int gpu, bool as_graph);
  /// Returns InitialBytes(). The result is computed once and cached while there is room.
  const std::vector<std::byte>& initial_bytes(const InitialValue& value);

 private:
  struct WholeGpu {
    Stream origin;
    std::unique_ptr<CudaKernelFactory> factory;
    GpuKernels packers;
    std::optional<TraceOverhead> overheads[2];  // of streams, of graphs
  };

  // Members are destroyed from the bottom up: streams before their partitions.
  std::vector<GpuInfo> gpus_;
  std::vector<int> used_gpus_;
  std::map<int, Partitions> partitions_;  // by ordinal
  std::map<int, WholeGpu> whole_gpus_;
  std::vector<Device> devices_;
  std::map<std::pair<int, int>, CopyStream> copy_streams_;
  std::shared_ptr<CpuMachine> cpu_machine_;
  std::vector<int> device_of_group_;
  GrowingMemory staging_;
  std::map<std::tuple<int, int, int, std::int64_t>, std::vector<std::byte>> initial_bytes_;
  std::int64_t initial_bytes_size_ = 0;
};

}  // namespace emplace::cuda
