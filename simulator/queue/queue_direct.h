#pragma once

#include <cstdint>
#include <vector>

#include "simulator/engine/engine.h"
#include "simulator/queue/event_queue.h"
#include "simulator/queue/queue_times.h"

namespace emplace {

/// Queue semantics on machines whose routes have one hop. Where every channel is fed by one device,
/// transfers need no place in the queue, since each can be served together with its producer.
/// Elsewhere all transfers of an op have one place together. queue_direct.cc tells why this is
/// exact. Several times as fast as the general run (queue_general.h).
///
/// Run() simulates a placement. Its parts allow for simulating from the middle (queue_moves.h):
///
///   run.Start(device, times);  run.Serve(100, times);  run.Save(times, snapshot);  ...
///   run.Load(snapshot, true, times);  run.Serve(num_ops, times);  run.End(device, servers, ...);
class DirectQueueRun {
  // What is sent over one channel. Its index is that of the first pair of devices, from *
  // num_devices + to, whose route the channel is.
  struct alignas(64) Link {
    Nanos free = 0, latency = 0, gap = 0;
    std::int64_t last_key = 0;  // key of the copy in `last`
    int last = -1;              // index into copies; -1: nothing sent so far
    int column = 0;             // of `wire`
    int channel = -1;
  };
  struct alignas(32) OpState {
    Nanos ready, cost;
    int missing;  // arrivals; once served: ~index, of the ops in the order of service
    int device;
    int edge_begin, edge_end;  // of its items' readers, in edges_
  };
  struct DeviceState {
    Nanos free, finish, busy, gap;
  };
  struct Waiting {  // of an OpState
    Nanos ready;
    int missing, position;
  };

 public:
  /// True if all routes have one hop, devices have one slot, and there are no hosts, no channels
  /// that occupy devices, no cold reads, and contention.
  static bool Fits(const CompiledProblem& problem, const EngineOptions& options);

  /// @param problem  one that fits; outlives this
  explicit DirectQueueRun(const CompiledProblem& problem);

  /// Simulates one placement.
  /// @param device   [num_ops] by position
  /// @param servers   all free, nothing busy; out: free and busy times at the end
  /// @param times     out
  /// @param channels  [num_channels] all 0; out: what they did; nullptr: not wanted
  /// @return false, with nothing of use in `servers`, `times` and `channels`, for one of the few
  ///   placements that are left to the general run: a time needs more bits than a key has, or very
  ///   many transfers that became ready at one time would have to change their order
  bool Run(const std::uint8_t* device,
           ServerState& servers,
           QueueTimes& times,
           ChannelOutcome* channels);

  /// The state of a run that has served some ops, without the devices of ops and the times of those
  /// served.
  struct Snapshot {
    int served = 0;
    std::int64_t moves_left = 0;
    std::vector<Waiting> waiting;  // ops not served for which something has arrived
    std::vector<DeviceState> devices;
    std::vector<Link> links;
    std::vector<EventBacklog::Key> queued;  // ascending
    std::vector<QueueTimes::Copy> copies;
    std::vector<int> before;  // [copies]
  };
  /// Most bytes that a snapshot takes. [B]
  size_t most_snapshot_bytes() const;

  /// Begins a run. @param device  [num_ops] by position
  void Start(const std::uint8_t* device, QueueTimes& times);
  /// Goes on until `end` ops have been served.
  /// @return false: given up, as by Run()
  bool Serve(int end, QueueTimes& times);
  /// @param snapshot  out; to be kept until the run, or one that has loaded it, has ended
  void Save(const QueueTimes& times, Snapshot& snapshot);
  /// Goes back to a snapshot.
  /// @param times  holds the times of the ops that it has served
  /// @param with_copies  false: `times` and this still hold the snapshot's copies. They do if the
  ///   run before began with it or with a later one of the same run, unless HasReordered().
  void Load(const Snapshot& snapshot, bool with_copies, QueueTimes& times);
  /// Puts an op on another device, for what follows Load() as well.
  /// @param position  of an op that is not served yet, and of whose reads none is
  void Place(int position, int device);
  /// When all ops have been served: the rest of Run().
  bool End(const std::uint8_t* device,
           ServerState& servers,
           QueueTimes& times,
           ChannelOutcome* channels) const;
  /// The index of an op in the order in which the run has served all ops.
  int IndexOf(int position) const { return ~ops_[position].missing; }
  /// Whether transfers have changed their order since a snapshot of the run.
  bool HasReordered(const Snapshot& since) const { return moves_left_ != since.moves_left; }

 private:
  // On a channel: from one device to another, from one to several, from several.
  enum class Senders { kPair, kDevice, kSeveral };
  struct Edge {  // a reader of an item
    int reader, item;
    Nanos wire;  // of the item, if all channels have one rate
  };

  void MakeLinks();
  void ForgetArrivals(int position) {
    ops_[position].ready = 0;
    ops_[position].missing = awaits_[position];
  }
  template <Senders kSenders, bool kOneRate>
  bool ServeOps(int end, QueueTimes& times);
  Nanos Reorder(Link& link, Nanos ready, QueueTimes& times);
  Nanos Wire(int item, const Link& link) const {
    return p_.wire[size_t(item) * p_.num_rates + link.column];
  }
  // Of a copy's source and its destination.
  int PairOf(const std::uint8_t* device, const QueueTimes::Copy& copy) const {
    return device[p_.items[copy.item].producer] * p_.num_devices + copy.device;
  }
  void Finish(ServerState& servers, QueueTimes& times) const;
  void AddChannels(const std::uint8_t* device,
                   const QueueTimes& times,
                   ChannelOutcome* channels) const;
  // So far a copy stands only for the least of the destinations that share it.
  void AddSharedCopies(const std::uint8_t* device, QueueTimes& times) const;

  const CompiledProblem& p_;
  Senders senders_ = Senders::kPair;  // the most on any channel
  bool broadcast_ = false;            // some channel broadcasts
  // A key is time << rank_bits_ | op_bit_ | position; of an op's transfers, without op_bit_.
  int rank_bits_;
  EventBacklog::Key op_bit_;                // 0 where transfers have no place in the queue
  std::vector<Edge> edges_;                 // by producer, item, reader
  std::vector<int> awaits_;                 // [num_ops] arrivals
  std::vector<EventBacklog::Key> initial_;  // of the ops that await nothing
  std::vector<int> link_of_;                // [num_devices, num_devices] into links_
  // [num_devices, num_devices] the destinations that may share a copy with this one, itself
  // included
  std::vector<std::uint64_t> together_;
  // State of a run.
  int served_ = 0;  // ops
  std::vector<OpState> ops_;
  std::vector<DeviceState> devices_;
  std::vector<Link> links_;  // [num_devices, num_devices], not all in use
  std::vector<int> before_;  // [copies] the copy sent before it on its link, -1: none
  EventBacklog backlog_;
  std::vector<int> moved_;       // by Reorder(): copies
  std::int64_t moves_left_ = 0;  // before the run is given up
};

}  // namespace emplace
