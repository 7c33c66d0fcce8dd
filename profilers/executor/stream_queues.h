#pragma once

// Queues that are streams of GPUs. This file contains the work of the host that feeds them in a
// step. All GPU calls are in CommandStreams (cuda/cuda_streams.h), so that this part can be tested
// without a GPU.
//
// Eager: after the start, the host enqueues every command in issue order, in every step. The step
// time is the time from the start until every stream has reported its end.
//
// Graph: the same calls are captured once into one graph. In each step the graph is launched with a
// closed latch, which opens at the start, so that the step time excludes the launch. The step time
// is measured by the GPU's clock, from the opening of the latch to the end of the graph. If cores
// take part, it is measured by the host's clock.
//
// Streams wait for each other by events, and for cores by counters (queue_plan.h).

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profilers/executor/command_queue.h"
#include "profilers/executor/queue_plan.h"
#include "profilers/executor/retime.h"

namespace emplace {

/// The streams of a program. `stream` is a queue of the program's QueuePlan, `command` is an index
/// of its plan. All functions may throw std::runtime_error.
class CommandStreams {
 public:
  virtual ~CommandStreams() = default;

  // Called before the first step that needs them, so that no step allocates.

  virtual void PrepareEvent(int stream, int command) = 0;
  virtual void PrepareTrace() = 0;

  // These functions enqueue. The work in a stream runs in order.

  /// Enqueues the kernels and copies of the command, if it HasWork(); with `traced`, an event
  /// before and one after them.
  virtual void Run(int stream, int command, bool traced) = 0;
  virtual void RecordEvent(int stream, int command) = 0;  ///< after PrepareEvent()
  /// Awaits the last recorded event of the command.
  virtual void AwaitEvent(int stream, int command) = 0;
  virtual void AwaitCounter(int stream, const StepCounter& counter, std::uint64_t count) = 0;
  virtual void RaiseCounter(int stream, StepCounter& counter, std::uint64_t count) = 0;
  virtual void MarkStart(int stream) = 0;  ///< the origin of Times(), after PrepareTrace()

  /// Makes one graph of all work that `enqueue` enqueues, for launches with and without `traced`.
  virtual void Capture(bool traced, const std::function<void()>& enqueue) = 0;
  /// Enqueues the graph. The graph waits for `latch` to be 1, and raises `end` to 1.
  virtual void LaunchGraph(bool traced, const StepCounter& latch, StepCounter& end) = 0;
  /// Returns the time of the last graph by the GPU's clock. [ns]
  virtual Nanos GraphTime() = 0;

  /// Returns whether there is anything to Run().
  virtual bool HasWork(int command) const = 0;
  /// Returns start and finish of a command with work in the last step, which must be traced and
  /// drained. [ns]
  virtual std::pair<Nanos, Nanos> Times(int command) = 0;
  virtual TraceOverhead OverheadOf(int stream, bool as_graph) = 0;

  virtual void RequireAlive() = 0;    ///< @throws std::runtime_error if a stream has failed
  virtual void Drain() noexcept = 0;  ///< waits until the streams are empty or have failed
  /// As QueueRunner::Read().
  virtual bool Read(const Address& address, std::span<std::byte> bytes) = 0;
};

class StreamQueues : public QueueRunner {
 public:
  /// @param device_names  [num_devices] for messages
  /// @param progress      [num_queues] the counters of the program
  /// @param own           [1 + num_queues] the latch and end counters of this object; the streams
  ///   can write to both arrays
  StreamQueues(std::shared_ptr<const ExecutionPlan> plan,
               QueuePlan queues,
               std::vector<std::string> device_names,
               std::unique_ptr<CommandStreams> streams,
               std::shared_ptr<StepCounter[]> progress,
               std::shared_ptr<StepCounter[]> own,
               DispatchMode mode);

  int num_parties() const override { return 1; }
  void Begin(StepState& step) override;
  Nanos End(StepState& step) override;
  void Collect(StepRecord& record) override;
  bool Read(const Address& address, std::span<std::byte> bytes) override;

 private:
  StepCounter& latch() const { return own_[0]; }
  StepCounter& end_of(int stream) const { return own_[1 + stream]; }
  void EnqueueAll(bool traced);
  void Enqueue(int command, bool traced);
  void AwaitEnds();
  template <typename Part>
  void OrBreak(StepState& step, const Part& part);

  const std::shared_ptr<const ExecutionPlan> plan_;
  const QueuePlan queues_;
  const std::vector<std::string> device_names_;
  const std::vector<Connection> connections_;
  const std::unique_ptr<CommandStreams> streams_;
  const std::shared_ptr<StepCounter[]> progress_, own_;
  const bool as_graph_;
  std::vector<int> used_;      // streams with commands
  std::vector<int> commands_;  // of streams, in issue order
  bool cores_take_part_ = false;
  bool is_traceable_ = false;             // from the first traced step on
  std::vector<TraceOverhead> overheads_;  // [num_queues], likewise
  bool is_broken_ = false;
};

}  // namespace emplace
