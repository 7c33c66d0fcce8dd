#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulator/engine/engine.h"
#include "simulator/queue/event_queue.h"
#include "simulator/queue/queue_memory.h"

namespace emplace {

/// Queue semantics with every feature of README.md: ops and hops in one queue. A key is a time and
/// a rank. The rank identifies the op or hop and sorts as the rest of README.md's key:
///
///   hop   item, destination, hop          (items are numbered by producer and tensor)
///   op    a bit above all that, position
///
/// @tparam Queue  EventQueue: fast; WideEventQueue: its keys hold the times of every problem
template <class Queue>
class GeneralQueueRun {
 public:
  /// @param problem  outlives this
  GeneralQueueRun(const CompiledProblem& problem, const EngineOptions& options);

  /// Simulates one placement.
  /// @param device    [num_ops] by position
  /// @param servers   all free, with busy times 0; out: free and busy times at the end
  /// @param times     out
  /// @param channels  [num_channels] all 0; out: channel outcomes; nullptr: not requested
  /// @return false if a time needs more bits than the key has; `servers`, `times` and `channels`
  ///   are then undefined
  bool Run(const std::uint8_t* device,
           ServerState& servers,
           QueueTimes& times,
           ChannelOutcome* channels);

 private:
  using Key = typename Queue::Key;
  struct OpState {
    Nanos ready;
    Nanos cold;  // cold reads so far
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
  // Issues a command of the host, not before `ready`. @return its earliest start
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
  std::uint64_t op_bit_;                    // in a rank
  std::vector<EventBacklog::Key> initial_;  // of the ops that await nothing, and kNone
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
