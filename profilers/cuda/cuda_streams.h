#pragma once

// The GPU streams of a program. Every device has its compute stream, every channel a copy stream.
// executor/stream_queues.h describes the order in which commands are enqueued.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "profilers/cuda/devices.h"
#include "profilers/executor/stream_queues.h"

namespace emplace::cuda {

class CudaStreams final : public CommandStreams {
 public:
  /// Prepares kernels and transfers, runs every kernel once, and writes initial values to GPUs.
  /// @param memory  on GPUs, or page-locked on the host
  /// @throws RunError naming device and bytes if memory runs out, or the command whose kernel
  ///   cannot be prepared
  CudaStreams(std::shared_ptr<Devices> devices,
              std::shared_ptr<const ExecutionPlan> plan,
              const QueuePlan& queues,
              ProgramMemory memory);

  void PrepareEvent(int stream, int command) override;
  void PrepareTrace() override;
  void Run(int stream, int command, bool traced) override;
  void RecordEvent(int stream, int command) override;
  void AwaitEvent(int stream, int command) override;
  void AwaitCounter(int stream, const StepCounter& counter, std::uint64_t count) override;
  void RaiseCounter(int stream, StepCounter& counter, std::uint64_t count) override;
  void MarkStart(int stream) override;
  void Capture(bool traced, const std::function<void()>& enqueue) override;
  void LaunchGraph(bool traced, const StepCounter& latch, StepCounter& end) override;
  Nanos GraphTime() override;
  bool HasWork(int command) const override { return commands_[command].has_work(); }
  std::pair<Nanos, Nanos> Times(int command) override;
  TraceOverhead OverheadOf(int stream, bool as_graph) override;
  void RequireAlive() override;
  void Drain() noexcept override;
  bool Read(const Address& address, std::span<std::byte> bytes) override;

 private:
  struct Launch {
    CudaKernel* kernel = nullptr;
    const std::vector<void*>*inputs = nullptr, *outputs = nullptr;
    void* scratch = nullptr;
  };
  struct Transfer {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::int64_t bytes = 0;
    int to_gpu = -1, from_gpu = -1;  ///< both set and different: copy between peers
  };
  struct Command {
    int stream = -1;  ///< -1: on cores
    std::vector<Launch> launches;
    std::vector<Transfer> transfers;
    Event done, trace_start, trace_end;  ///< if prepared
    bool has_work() const { return !launches.empty() || !transfers.empty(); }
  };
  /// A stream in use.
  struct Lane {
    std::string name;
    int gpu = 0;
    cudaStream_t stream = nullptr;  ///< nullptr: not in use
    Event join;
    Event start;  ///< of traced steps
  };

  int GpuOf(int device) const;  ///< -1: staging or cores
  void AssignStreams(const QueuePlan& queues);
  void PrepareOp(int index);
  void PrepareCopy(int index);
  void RunKernelsOnce();
  void SetInitialValues();
  void RecordTrace(const Event& event, const Lane& lane);
  GraphExec CaptureGraph(const std::function<void()>& enqueue);
  const Lane& first_lane() const { return lanes_[used_.front()]; }
  template <typename Function>
  void Named(int command, const Function& function);

  std::shared_ptr<Devices> devices_;
  std::shared_ptr<const ExecutionPlan> plan_;
  ProgramMemory memory_;           // keeps the arenas even if those of the backend have grown since
  std::vector<Memory> scratches_;  // likewise
  std::vector<Lane> lanes_;        // [num_queues]
  std::vector<int> used_;          // queues
  std::vector<Command> commands_;  // [num_commands]
  std::vector<std::vector<void*>> inputs_, outputs_;  // [num_ops] addresses
  std::vector<std::vector<void*>> pack_arguments_;
  Event start_, end_;    // of the graph
  GraphExec graphs_[2];  // without and with trace
  bool is_capturing_ = false;
};

}  // namespace emplace::cuda
