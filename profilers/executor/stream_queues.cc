#include "profilers/executor/stream_queues.h"

#include <chrono>
#include <tuple>

#include "framework/base/error.h"
#include "profilers/executor/spin_wait.h"

namespace emplace {

StreamQueues::StreamQueues(std::shared_ptr<const ExecutionPlan> plan,
                           QueuePlan queues,
                           std::vector<std::string> device_names,
                           std::unique_ptr<CommandStreams> streams,
                           std::shared_ptr<StepCounter[]> progress,
                           std::shared_ptr<StepCounter[]> own,
                           DispatchMode mode)
    : plan_(std::move(plan)),
      queues_(std::move(queues)),
      device_names_(std::move(device_names)),
      connections_(ConnectCommands(queues_)),
      streams_(std::move(streams)),
      progress_(std::move(progress)),
      own_(std::move(own)),
      as_graph_(mode == DispatchMode::kGraph) {
  for (int q = 0; q < queues_.num_queues(); ++q) {
    if (queues_.lists[q].empty()) continue;
    if (queues_.kinds[q] == QueueKind::kStream) {
      used_.push_back(q);
    } else {
      cores_take_part_ = true;
    }
  }
  EMPLACE_CHECK(!used_.empty());
  for (int c = 0; c < std::ssize(plan_->commands); ++c) {
    if (queues_.kinds[queues_.queue_of_command[c]] == QueueKind::kStream) commands_.push_back(c);
  }
  for (int c : commands_) {
    if (connections_[c].has_event) streams_->PrepareEvent(queues_.queue_of_command[c], c);
  }
  if (as_graph_) streams_->Capture(/*traced=*/false, [this] { EnqueueAll(/*traced=*/false); });
}

// Runs a part of a step. If it fails, the streams are never used again, and no pending wait for or
// by them remains.
template <typename Part>
void StreamQueues::OrBreak(StepState& step, const Part& part) {
  try {
    part();
  } catch (const std::runtime_error& error) {
    is_broken_ = true;
    step.Fail();  // cores still raise their counters to the end
    Raise(latch(), 1);
    streams_->Drain();
    throw RunError(error.what());  // the error types of a module must not leave the module
  }
}

void StreamQueues::Begin(StepState& step) {
  if (is_broken_) throw RunError("the devices of this program failed earlier");
  Raise(latch(), 0);
  for (int stream : used_) Raise(end_of(stream), 0);
  OrBreak(step, [&] {
    if (step.traced() && !is_traceable_) {
      streams_->PrepareTrace();
      if (as_graph_) streams_->Capture(/*traced=*/true, [this] { EnqueueAll(/*traced=*/true); });
      overheads_.resize(queues_.num_queues());
      for (int stream : used_) overheads_[stream] = streams_->OverheadOf(stream, as_graph_);
      is_traceable_ = true;
    }
    if (step.traced()) {
      for (int stream : used_) {
        streams_->AwaitCounter(stream, latch(), 1);
        streams_->MarkStart(stream);
      }
    }
    // The latch holds the graph back until all of it is submitted, so that the step time excludes
    // the launch.
    if (as_graph_) streams_->LaunchGraph(step.traced(), latch(), end_of(used_.front()));
  });
}

Nanos StreamQueues::End(StepState& step) {
  Nanos end = 0;
  if (is_broken_) return end;
  OrBreak(step, [&] {
    step.Meet();
    Raise(latch(), 1);
    if (!as_graph_) {
      EnqueueAll(step.traced());
      for (int stream : used_) streams_->RaiseCounter(stream, end_of(stream), 1);
    }
    AwaitEnds();
    end = step.Now();
    if (as_graph_ && !cores_take_part_) end = streams_->GraphTime();
  });
  return end;
}

void StreamQueues::EnqueueAll(bool traced) {
  for (int command : commands_) {
    try {
      Enqueue(command, traced);
    } catch (const std::runtime_error& error) {
      throw RunError(NameOf(*plan_, command, device_names_) + ": " + error.what());
    }
  }
}

void StreamQueues::Enqueue(int command, bool traced) {
  const int stream = queues_.queue_of_command[command];
  const auto number = [&](int c) { return static_cast<std::uint64_t>(queues_.number[c]); };
  const Connection& connection = connections_[command];
  for (int other : connection.events) streams_->AwaitEvent(stream, other);
  for (int other : connection.counters) {
    streams_->AwaitCounter(stream, progress_[queues_.queue_of_command[other]], number(other));
  }
  streams_->Run(stream, command, traced);
  if (connection.has_event) streams_->RecordEvent(stream, command);
  if (connection.has_counter) streams_->RaiseCounter(stream, progress_[stream], number(command));
}

void StreamQueues::AwaitEnds() {
  using Clock = std::chrono::steady_clock;
  const auto is_over = [&] {
    if (as_graph_) return HasReached(end_of(used_.front()), 1);
    for (int stream : used_) {
      if (!HasReached(end_of(stream), 1)) return false;
    }
    return true;
  };
  // A GPU that has failed raises no counter. The query takes time, so it is made only once per
  // interval.
  constexpr auto kBetweenQuestions = std::chrono::milliseconds(50);
  auto next_question = Clock::now() + kBetweenQuestions;
  for (SpinWait spin; !is_over(); spin.Turn()) {
    if (Clock::now() < next_question) continue;
    streams_->RequireAlive();
    next_question = Clock::now() + kBetweenQuestions;
  }
}

void StreamQueues::Collect(StepRecord& record) {
  std::vector<bool> is_timed(plan_->commands.size(), true);
  streams_->Drain();
  try {
    for (int command : commands_) {
      is_timed[command] = streams_->HasWork(command);
      if (!is_timed[command]) continue;
      std::tie(record.start[command], record.finish[command]) = streams_->Times(command);
    }
  } catch (const std::runtime_error& error) {
    is_broken_ = true;
    throw RunError(error.what());
  }
  Retime(queues_, is_timed, overheads_, record);
}

bool StreamQueues::Read(const Address& address, std::span<std::byte> bytes) {
  return streams_->Read(address, bytes);
}

}  // namespace emplace
