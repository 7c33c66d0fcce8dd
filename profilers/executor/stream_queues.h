#pragma once

// Queues that are streams of GPUs: what the host does in a step to feed them. All that touches a
// GPU is behind CommandStreams (cuda/cuda_streams.h), so that this part is tested without one.
//
// Eager: behind the start the host goes through the plan in issue order and enqueues every command
// in every step. The step time is that from the start until every stream has reported its end.
//
// Graph: the same calls are captured once into one graph. In a step it is launched behind a closed
// latch, which opens at the start, so that the launch takes no part in the time. The step time is
// by the GPU's clock, from the latch's opening to the graph's end; by the host's clock if cores
// take part.
//
// Streams wait for each other by events, for cores by counters (connections.h).

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profilers/executor/command_queue.h"
#include "profilers/executor/connections.h"
#include "profilers/executor/queue_plan.h"
#include "profilers/executor/retime.h"

namespace emplace {

/// The streams of a program. `stream` is a queue of its QueuePlan, `command` an index of its plan.
/// All functions may throw std::runtime_error.
class CommandStreams {
 public:
  virtual ~CommandStreams() = default;

  // Before the first step that needs them, so that no step allocates.

  virtual void PrepareEvent(int stream, int command) = 0;
  virtual void PrepareTrace() = 0;

  // These enqueue. What is in a stream happens in order.

  /// Kernels and copies of the command, if it HasWork(); with `traced` an event on either side.
  virtual void Run(int stream, int command, bool traced) = 0;
  virtual void RecordEvent(int stream, int command) = 0;  ///< behind PrepareEvent()
  /// For the event that was recorded last for the command.
  virtual void AwaitEvent(int stream, int command) = 0;
  virtual void AwaitCounter(int stream, const StepCounter& counter, std::uint64_t count) = 0;
  virtual void RaiseCounter(int stream, StepCounter& counter, std::uint64_t count) = 0;
  virtual void MarkStart(int stream) = 0;  ///< the origin of Times(), behind PrepareTrace()

  /// Makes one graph of all that `enqueue` enqueues, for launches with and without `traced`.
  virtual void Capture(bool traced, const std::function<void()>& enqueue) = 0;
  /// Enqueues the graph. It waits for `latch` to be 1, and raises `end` to 1.
  virtual void LaunchGraph(bool traced, const StepCounter& latch, StepCounter& end) = 0;
  /// By the GPU's clock, of the last graph. [ns]
  virtual Nanos GraphTime() = 0;

  /// Whether there is anything to Run().
  virtual bool HasWork(int command) const = 0;
  /// Start and finish of a command with work in the last step, a traced one that is drained. [ns]
  virtual std::pair<Nanos, Nanos> Times(int command) = 0;
  virtual TraceOverhead OverheadOf(int stream, bool as_graph) = 0;

  virtual void RequireAlive() = 0;    ///< @throws std::runtime_error if a stream has failed
  virtual void Drain() noexcept = 0;  ///< waits until the streams are empty or have failed
  virtual bool Read(const Address& address, std::span<std::byte> bytes) = 0;  ///< as QueueRunner's
};

class StreamQueues : public QueueRunner {
 public:
  /// @param device_names  [num_devices] for messages
  /// @param progress  [num_queues] the program's    @param own  [1 + num_queues] to be used here;
  /// the streams can write to both
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
