// The fast engine of queue semantics (README.md, "Queue semantics"). A placement is simulated by
// the first of these runs that supports it:
//
//   direct          transfers are served with their producers, so that only ops are queued. If
//                   several devices send over one channel, all transfers of an op are queued as
//                   one. For machines whose routes have one hop (DirectQueueRun::Fits). Simulations
//                   of neighbours of one placement begin in the middle (QueueMoves).
//   general         ops and hops are queued with keys of 62 bits. For any machine, and for the
//                   placements that the direct run does not support.
//   general, wide   the same with keys of 127 bits, if times do not fit into keys of 62 bits.
//
// Each run gives the exact times or reports that it cannot. Peaks follow from the times.

#include <algorithm>
#include <optional>
#include <span>

#include "simulator/engine/engine.h"
#include "simulator/queue/queue_direct.h"
#include "simulator/queue/queue_general.h"
#include "simulator/queue/queue_memory.h"
#include "simulator/queue/queue_moves.h"

namespace emplace {
namespace {

class QueueEngine final : public Engine {
 public:
  QueueEngine(const CompiledProblem& problem, const EngineOptions& options)
      : p_(problem),
        options_(options),
        servers_(problem),
        times_(problem),
        general_(problem, options),
        wide_(problem, options),
        memory_(problem),
        peak_(problem.num_devices, 0) {
    if (DirectQueueRun::Fits(problem, options)) direct_.emplace(problem);
  }

  void Run(const std::uint8_t* device, const RunDetail& detail, Outcome& outcome) override {
    const bool done = direct_ && Try(detail, outcome, [&](ChannelOutcome* channels) {
                        return direct_->Run(device, servers_, times_, channels);
                      });
    if (!done) RunGeneral(device, detail, outcome);
    Conclude(device, times_, detail, outcome);
  }

  bool SetBase(std::span<const std::uint8_t> base, size_t count) override {
    if (!direct_) return false;
    if (!moves_) moves_.emplace(p_);
    return moves_->SetBase(base, count, servers_);
  }

  void RunNeighbor(std::span<const Move> moves,
                   const RunDetail& detail,
                   Outcome& outcome) override {
    const bool done = Try(detail, outcome, [&](ChannelOutcome* channels) {
      return moves_->Run(moves, servers_, channels);
    });
    if (!done) RunGeneral(moves_->device(), detail, outcome);
    Conclude(moves_->device(), done ? moves_->times() : times_, detail, outcome);
  }

 private:
  // Clears outcome and servers and calls run(channels). @return whether it supports the placement
  template <class Run>
  bool Try(const RunDetail& detail, Outcome& outcome, const Run& run) {
    PrepareOutcome(p_, detail, outcome);
    servers_.Reset();
    return run(detail.channels ? outcome.channels.data() : nullptr);
  }

  void RunGeneral(const std::uint8_t* device, const RunDetail& detail, Outcome& outcome) {
    const auto with = [&](auto& run) {
      return Try(detail, outcome, [&](ChannelOutcome* channels) {
        return run.Run(device, servers_, times_, channels);
      });
    };
    if (!with(general_)) with(wide_);
  }

  void Conclude(const std::uint8_t* device,
                const QueueTimes& times,
                const RunDetail& detail,
                Outcome& outcome) {
    outcome.step_time =
        options_.count_gaps ? std::max(times.latest, servers_.LatestFree()) : times.latest;
    const bool counted = options_.memory &&
                         (detail.peaks || (detail.deficits && !memory_.SurelyFits(device, times)));
    if (counted) {
      memory_.Count(device, times, peak_);
    } else {
      std::fill(peak_.begin(), peak_.end(), 0);
    }
    FinishOutcome(p_, servers_, peak_, outcome);
    if (detail.op_times) {
      for (int position = 0; position < p_.num_ops; ++position) {
        outcome.start[p_.op_at[position]] = times.start[position];
        outcome.finish[p_.op_at[position]] = times.finish[position];
      }
    }
  }

  const CompiledProblem& p_;
  const EngineOptions options_;
  ServerState servers_;
  QueueTimes times_;
  std::optional<DirectQueueRun> direct_;
  std::optional<QueueMoves> moves_;  // made when neighbours are first evaluated
  GeneralQueueRun<EventQueue> general_;
  GeneralQueueRun<WideEventQueue> wide_;
  QueueMemory memory_;
  std::vector<std::int64_t> peak_;
};

}  // namespace

std::unique_ptr<Engine> MakeQueueEngine(const CompiledProblem& problem,
                                        const EngineOptions& options) {
  return std::make_unique<QueueEngine>(problem, options);
}

}  // namespace emplace
