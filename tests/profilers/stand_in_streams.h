#pragma once

// Streams without a GPU: each is a thread that does in order what was enqueued. Events, counters
// and graphs behave as CUDA's do: who awaits an event waits for its latest record, who launches a
// graph does all its calls again.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profilers/executor/stream_queues.h"

namespace emplace::testing {

class StandInStreams : public CommandStreams {
 public:
  struct Behaviour {
    std::function<void(int command)> run;                 ///< what a command does; may be empty
    std::function<std::byte*(const Address&)> find = {};  ///< for Read(); nullptr: not here
    int refused = -1;                                     ///< command that cannot be enqueued
    int fatal = -1;  ///< command at which all streams stop working, as those of a GPU do
  };
  /// @param behaviour  may be changed between steps
  StandInStreams(int num_queues, const Behaviour& behaviour);
  ~StandInStreams() override;

  /// All calls so far that enqueue something, one line each: "1: run 3".
  const std::vector<std::string>& calls() const { return calls_; }

  void PrepareEvent(int stream, int command) override;
  void PrepareTrace() override { is_traceable_ = true; }
  void Run(int stream, int command, bool traced) override;
  void RecordEvent(int stream, int command) override;
  void AwaitEvent(int stream, int command) override;
  void AwaitCounter(int stream, const StepCounter& counter, std::uint64_t count) override;
  void RaiseCounter(int stream, StepCounter& counter, std::uint64_t count) override;
  void MarkStart(int stream) override;
  void Capture(bool traced, const std::function<void()>& enqueue) override;
  void LaunchGraph(bool traced, const StepCounter& latch, StepCounter& end) override;
  Nanos GraphTime() override { return kGraphTime; }
  bool HasWork(int /*command*/) const override { return true; }
  std::pair<Nanos, Nanos> Times(int command) override;
  TraceOverhead OverheadOf(int, bool) override { return {}; }
  void RequireAlive() override;
  void Drain() noexcept override;
  bool Read(const Address& address, std::span<std::byte> bytes) override;

  static constexpr Nanos kGraphTime = 123456789;

 private:
  class Stream;
  struct Event {
    std::shared_ptr<std::atomic<bool>> latest;  // record; nullptr: none yet
  };
  struct Trace {
    Nanos start = 0, finish = 0;
  };
  void Enqueue(int stream, const std::string& call, std::function<void()> work);
  template <class Condition>
  void SpinUntil(const Condition& condition) const;

  const Behaviour& behaviour_;
  std::vector<std::unique_ptr<Stream>> streams_;  // [num_queues]
  std::map<int, Event> events_;                   // by command
  std::map<int, Trace> traces_;                   // by command
  std::map<int, Nanos> starts_;                   // by stream
  std::vector<std::function<void()>> graphs_[2];
  std::vector<std::function<void()>>* captured_ = nullptr;
  std::vector<std::string> calls_;
  bool is_traceable_ = false;
  std::atomic<bool> has_failed_{false};
};

}  // namespace emplace::testing
