#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulator/engine/engine.h"
#include "simulator/queue/event_queue.h"
#include "simulator/queue/queue_times.h"

namespace emplace {

/// Queue semantics with everything that README.md knows: ops and hops in one queue. A key is a
/// time, and a rank that says what it is and sorts, at equal times, by the rest of README.md's key:
///
///   hop   item, destination, hop          (items are numbered by producer and tensor)
///   op    a bit above all that, position
///
/// @tparam Queue  EventQueue: fast; WideEventQueue: its keys have room for every problem's times
template <class Queue>
class GeneralQueueRun {
 public:
  /// @param problem  outlives this
  GeneralQueueRun(const CompiledProblem& problem, const EngineOptions& options);

  /// Simulates one placement.
  /// @param device    [num_ops] by position
  /// @param servers   all free, nothing busy; out: free and busy times at the end
  /// @param times     out
  /// @param channels  [num_channels] all 0; out: what they did; nullptr: not wanted
  /// @return false, with nothing of use in `servers`, `times` and `channels`, if a time needs more
  ///   bits than the key has
  bool Run(const std::uint8_t* device,
           ServerState& servers,
           QueueTimes& times,
           ChannelOutcome* channels);

 private:
  using Key = typename Queue::Key;
  static constexpr int kKeyBits = 8 * sizeof(Key) - 1;
  struct OpState {
    Nanos ready;
    Nanos cold;  // of cold reads, so far
    int missing, device;
  };

  void ServeOp(int position, Nanos ready);
  void QueueCopies(int item, int source, std::uint64_t remote, Nanos time);
  std::uint64_t ServedTogether(int source, std::uint64_t mask, int channel) const;
  void ServeHop(std::uint64_t rank, Nanos ready);
  void FinishHop(int item, int source, int destination, int hop, Nanos start, Nanos arrival);
  void Arrive(int reader, Nanos time);

  int FirstChannel(int from, int to) const {
    return p_.routes[p_.route_begin[from * p_.num_devices + to]];
  }
  // The host issues a command, not before `ready`. @return its earliest start
  Nanos Issue(int device, Nanos ready) {
    host_ = std::max(host_, ready) + p_.issue[device];
    return host_ + p_.launch[device];
  }
  Key KeyOf(Nanos time, std::uint64_t rank) const {
    return static_cast<Key>(time) << rank_bits_ | static_cast<Key>(rank);
  }
  std::uint64_t HopRank(int item, int destination, int hop) const {
    return (static_cast<std::uint64_t>(item) << destination_bits_ |
            static_cast<std::uint64_t>(destination))
               << hop_bits_ |
           static_cast<std::uint64_t>(hop);
  }

  const CompiledProblem& p_;
  const bool contention_;
  int hop_bits_, destination_bits_, rank_bits_;
  std::uint64_t op_bit_;                    // of a rank
  std::vector<EventBacklog::Key> initial_;  // of the ops that await nothing
  // State of a run.
  const std::uint8_t* device_ = nullptr;
  ServerState* servers_ = nullptr;
  QueueTimes* times_ = nullptr;
  ChannelOutcome* channels_ = nullptr;
  std::vector<OpState> ops_;           // [num_ops]
  std::vector<std::uint64_t> remote_;  // [num_items] devices that read it elsewhere
  std::vector<Nanos> left_;            // [num_items] latest arrival of a first hop
  typename Queue::Backlog backlog_;
  Queue queue_{backlog_};
  Nanos host_ = 0;
};

}  // namespace emplace
