#pragma once

// A plan loaded by the CUDA backend. cuda_backend.h says how it runs.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profilers/cuda/devices.h"
#include "profilers/executor/backend.h"

namespace emplace::cuda {

/// A plan on GPUs and CPU groups.
class CudaProgram final : public Program {
 public:
  /// @throws RunError naming device and bytes if memory runs out, or op and device if a kernel
  /// cannot be prepared
  CudaProgram(std::shared_ptr<Devices> devices,
              std::shared_ptr<const ExecutionPlan> plan,
              DispatchMode mode);
  ~CudaProgram() override;

  StepRecord Step(bool traced) override;
  std::vector<std::byte> ReadTensor(Address address, std::int64_t bytes) override;

 private:
  /// One command on a GPU stream.
  struct Launch {
    CudaKernel* kernel = nullptr;
    const std::vector<void*>*inputs = nullptr, *outputs = nullptr;
    void* scratch = nullptr;
  };
  struct Transfer {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::int64_t bytes = 0;
    int to_gpu = -1, from_gpu = -1;  ///< both set and different: peers
  };
  struct GpuCommand {
    int command = 0;
    int lane = 0;                               ///< index into lanes_
    std::vector<cudaEvent_t> wait_events;       ///< of other lanes
    std::vector<const Counter*> wait_counters;  ///< of host commands
    std::vector<Launch> launches;
    std::vector<Transfer> transfers;
    Event done;                    ///< if another lane waits for it
    Counter* finished = nullptr;   ///< if a host command waits for it
    Event trace_start, trace_end;  ///< made by the first traced step if anything runs here
    bool has_work() const { return !launches.empty() || !transfers.empty(); }
  };
  /// A GPU stream in use.
  struct Lane {
    std::string name;
    int gpu = 0;
    cudaStream_t stream = nullptr;
    Counter* end = nullptr;  ///< set behind its last command
    Event join;
    Event base;  ///< of traced steps: their start
  };
  struct HostLane {
    HostWorker* worker = nullptr;
    HostJob job;
  };

  std::byte* At(Address address) const;
  bool IsHost(int device) const;  ///< staging and CPU devices
  std::string NameOf(const PlanCommand& command) const;
  void TakeMemory();
  void AssignStreams();
  void PrepareGpuCommand(int index);
  void PrepareHostCommand(int index);
  void Connect();
  void RunKernelsOnce();
  void SetInitialValues();
  void PrepareTrace(bool as_graph);
  GraphExec Capture(bool traced);

  void Enqueue(GpuCommand& command, bool traced, bool captured);
  void EnqueueAll(bool traced, bool captured);
  void AwaitEnd();
  void CollectTrace(StepRecord& record);
  template <typename Function>
  void Named(const PlanCommand& command, const Function& function);

  std::shared_ptr<Devices> devices_;
  std::shared_ptr<const ExecutionPlan> plan_;
  DispatchMode mode_;
  std::vector<Memory> arenas_;  // kept although the backend's may have grown since
  std::vector<Memory> scratches_;
  Memory staging_, counter_memory_;
  Counter* counters_ = nullptr;  // [num_counters_]: latch, gate, one per lane, one per signal
  size_t num_counters_ = 0;
  Counter *latch_ = nullptr, *gate_ = nullptr;
  std::vector<int> lane_of_stream_;       // [num_streams] index into lanes_ or -1
  std::vector<int> host_lane_of_stream_;  // likewise for host_lanes_
  std::vector<Lane> lanes_;
  std::vector<HostLane> host_lanes_;
  std::vector<TraceOverhead> overheads_;  // [num_streams], from the first traced step on
  std::vector<GpuCommand> gpu_commands_;  // in issue order
  std::vector<std::vector<void*>> inputs_, outputs_;  // [num_ops] addresses
  std::vector<std::vector<void*>> pack_arguments_;
  Event start_, end_;
  GraphExec graph_, traced_graph_;  ///< the latter made by the first traced step
  std::atomic<bool> abort_{false};
  bool is_broken_ = false;
};

}  // namespace emplace::cuda
