#include "tests/profilers/stand_in_streams.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace::testing {

// A thread with work to do in order.
class StandInStreams::Stream {
 public:
  Stream() : thread_([this] { Loop(); }) {}
  ~Stream() {
    Push({});
    thread_.join();
  }
  void Push(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
  }
  void Drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return work_.empty(); });
  }

 private:
  void Loop() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !work_.empty(); });
      const std::function<void()> work = work_.front();
      lock.unlock();
      if (work) work();
      lock.lock();
      work_.pop_front();
      changed_.notify_all();
      if (!work) return;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::thread thread_;
};

namespace {

Nanos StreamClockNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

StandInStreams::StandInStreams(int num_queues, const Behaviour& behaviour) : behaviour_(behaviour) {
  for (int q = 0; q < num_queues; ++q) streams_.push_back(std::make_unique<Stream>());
}

StandInStreams::~StandInStreams() = default;

template <class Condition>
void StandInStreams::SpinUntil(const Condition& condition) const {
  while (!condition() && !has_failed_) std::this_thread::yield();
}

void StandInStreams::Enqueue(int stream, const std::string& call, std::function<void()> work) {
  calls_.push_back(fmt::format("{}: {}", stream, call));
  streams_[stream]->Push([this, work = std::move(work)] {
    if (!has_failed_) work();
  });
}

void StandInStreams::PrepareEvent(int /*stream*/, int command) {
  EMPLACE_CHECK(events_.try_emplace(command).second);
}

void StandInStreams::Run(int stream, int command, bool traced) {
  if (command == behaviour_.refused) throw std::runtime_error("refused");
  if (captured_ != nullptr) {
    captured_->push_back([=, this] { Run(stream, command, traced); });
    return;
  }
  EMPLACE_CHECK(!traced || is_traceable_);
  Trace* const trace = traced ? &traces_[command] : nullptr;
  Enqueue(stream, fmt::format("run {}{}", command, traced ? " traced" : ""), [=, this] {
    if (command == behaviour_.fatal) {
      has_failed_ = true;
      return;
    }
    if (trace != nullptr) trace->start = StreamClockNow();
    if (behaviour_.run) behaviour_.run(command);
    if (trace != nullptr) trace->finish = StreamClockNow();
  });
}

void StandInStreams::RecordEvent(int stream, int command) {
  if (captured_ != nullptr) {
    captured_->push_back([=, this] { RecordEvent(stream, command); });
    return;
  }
  const auto record = std::make_shared<std::atomic<bool>>(false);
  events_.at(command).latest = record;
  Enqueue(stream, fmt::format("record {}", command), [record] { *record = true; });
}

void StandInStreams::AwaitEvent(int stream, int command) {
  if (captured_ != nullptr) {
    captured_->push_back([=, this] { AwaitEvent(stream, command); });
    return;
  }
  const auto record = events_.at(command).latest;
  EMPLACE_CHECK(record != nullptr);  // CUDA would not wait at all
  Enqueue(stream, fmt::format("await event {}", command), [this, record] {
    SpinUntil([&] { return record->load(); });
  });
}

void StandInStreams::AwaitCounter(int stream, const StepCounter& counter, std::uint64_t count) {
  if (captured_ != nullptr) {
    captured_->push_back([=, this, &counter] { AwaitCounter(stream, counter, count); });
    return;
  }
  Enqueue(stream, fmt::format("await counter {}", count), [this, &counter, count] {
    SpinUntil([&] { return HasReached(counter, count); });
  });
}

void StandInStreams::RaiseCounter(int stream, StepCounter& counter, std::uint64_t count) {
  if (captured_ != nullptr) {
    captured_->push_back([=, this, &counter] { RaiseCounter(stream, counter, count); });
    return;
  }
  Enqueue(
      stream, fmt::format("raise counter {}", count), [&counter, count] { Raise(counter, count); });
}

void StandInStreams::MarkStart(int stream) {
  EMPLACE_CHECK(is_traceable_ && captured_ == nullptr);
  Nanos& start = starts_[stream];
  Enqueue(stream, "mark start", [&start] { start = StreamClockNow(); });
}

void StandInStreams::Capture(bool traced, const std::function<void()>& enqueue) {
  captured_ = &graphs_[traced];
  try {
    enqueue();
  } catch (...) {
    captured_ = nullptr;
    throw;
  }
  captured_ = nullptr;
}

void StandInStreams::LaunchGraph(bool traced, const StepCounter& latch, StepCounter& end) {
  const int count = static_cast<int>(streams_.size());
  for (int s = 0; s < count; ++s) AwaitCounter(s, latch, 1);
  for (const auto& call : graphs_[traced]) call();
  const auto left = std::make_shared<std::atomic<int>>(count);
  for (int s = 0; s < count; ++s) {
    Enqueue(s, "end of graph", [left, &end] {
      if (left->fetch_sub(1) == 1) Raise(end, 1);
    });
  }
}

std::pair<Nanos, Nanos> StandInStreams::Times(int command) {
  const Trace& trace = traces_.at(command);
  const Nanos origin = starts_.begin()->second;
  return {trace.start - origin, trace.finish - origin};
}

void StandInStreams::RequireAlive() {
  if (has_failed_) throw std::runtime_error("the streams have failed");
}

void StandInStreams::Drain() noexcept {
  for (const auto& stream : streams_) stream->Drain();
}

bool StandInStreams::Read(const Address& address, std::span<std::byte> bytes) {
  const std::byte* const from = behaviour_.find ? behaviour_.find(address) : nullptr;
  if (from == nullptr) return false;
  std::memcpy(bytes.data(), from, bytes.size());
  return true;
}

}  // namespace emplace::testing
