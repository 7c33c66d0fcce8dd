#pragma once

#include <cstdint>
#include <vector>

#include "simulator/engine/engine.h"
#include "simulator/queue/event_queue.h"
#include "simulator/queue/queue_memory.h"

namespace emplace {

/// Queue semantics on machines whose routes have one hop. If only one device sends over each
/// channel, transfers need no place in the queue, since each can be served together with its
/// producer. Otherwise all transfers of an op share one place. queue_direct.cc proves that this is
/// exact. It is several times as fast as the general run (queue_general.h).
///
/// Run() simulates a placement. Its parts allow simulations that begin in the middle
/// (queue_moves.h):
///
///   run.Start(device, times);  run.Serve(100, times);  run.Save(times, snapshot);  ...
///   run.Load(snapshot, true, times);  run.Serve(num_ops, times);  run.End(device, servers, ...);
class DirectQueueRun {
  // The state of one channel. Its index is that of the first pair of devices, from *
  // num_devices + to, whose route is the channel.
  struct alignas(64) Link {
    Nanos free = 0, latency = 0, gap = 0;
    std::int64_t last_key = 0;  // key of the copy in `last`
    int last = -1;              // index into copies; -1: nothing sent so far
    int column = 0;             // of `wire`
    int channel = -1;
  };
  struct alignas(32) OpState {
    Nanos ready;  // of a served op whose transfers are queued: the mask of their destinations
    Nanos cost;
    int missing;  // arrivals; once served: ~index in the order of service
    unsigned device;
    unsigned edge_begin, edge_end;  // readers of its items, in edges_
  };
  struct DeviceState {
    Nanos free, finish, busy, gap;
  };
  struct Waiting {  // the changing part of an OpState
    Nanos ready;
    int missing, position;
  };

 public:
  /// Returns true if all routes have one hop, devices have one slot, contention counts, and there
  /// are no hosts, no channels that occupy devices and no cold reads.
  static bool Fits(const CompiledProblem& problem, const EngineOptions& options);

  /// @param problem  one that Fits(); outlives this
  explicit DirectQueueRun(const CompiledProblem& problem);

  /// Simulates one placement.
  /// @param device   [num_ops] by position
  /// @param servers   all free, with busy times 0; out: free and busy times at the end
  /// @param times     out
  /// @param channels  [num_channels] all 0; out: channel outcomes; nullptr: not requested
  /// @return false for one of the few placements that need the general run: a time has more bits
  ///   than a key, or very many transfers that became ready at the same time would have to be
  ///   reordered. `servers`, `times` and `channels` are then undefined.
  bool Run(const std::uint8_t* device,
           ServerState& servers,
           QueueTimes& times,
           ChannelOutcome* channels);

  /// The state of a run that has served some ops, without devices of ops and times of served ops.
  struct Snapshot {
    int served = 0, first = 0;  // first: the least position of an op not yet served
    std::int64_t moves_left = 0;
    std::vector<Waiting> waiting;  // ops with some arrival or queued transfers
    std::vector<DeviceState> devices;
    std::vector<Link> links;
    std::vector<EventBacklog::Key> queued;  // ascending, and kNone
    std::vector<QueueTimes::Copy> copies;
    std::vector<int> before;  // [copies]
  };
  /// Returns the largest size of a snapshot. [B]
  size_t most_snapshot_bytes() const;

  /// Begins a run. @param device  [num_ops] by position
  void Start(const std::uint8_t* device, QueueTimes& times);
  /// Continues until `end` ops have been served.
  /// @return false: the run gives up, as in Run()
  bool Serve(int end, QueueTimes& times);
  /// @param snapshot  out; must be kept until the run, or a run that has loaded it, has ended
  void Save(const QueueTimes& times, Snapshot& snapshot);
  /// Restores a snapshot.
  /// @param times  holds the times of the ops that the snapshot has served
  /// @param with_copies  false: `times` and this object still hold the snapshot's copies. They do
  ///   if the previous run began with this snapshot or with a later one of the same run, unless
  ///   HasReordered().
  void Load(const Snapshot& snapshot, bool with_copies, QueueTimes& times);
  /// Moves an op to another device, also after further calls of Load().
  /// @param position  an op that is not yet served, and whose inputs are not yet served
  void Place(int position, int device);
  /// Does the rest of Run() after all ops have been served.
  bool End(const std::uint8_t* device,
           ServerState& servers,
           QueueTimes& times,
           ChannelOutcome* channels) const;
  /// Returns the index of an op in the order of service, after all ops have been served.
  int IndexOf(int position) const { return ~ops_[position].missing; }
  /// Returns whether transfers have been reordered since a snapshot of the run.
  bool HasReordered(const Snapshot& since) const { return moves_left_ != since.moves_left; }

 private:
  // Who sends on a channel: one device to another, one to several, or several devices.
  enum class Senders { kPair, kDevice, kSeveral };
  struct Edge {  // a reader of an item
    unsigned reader, item;
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
  // Returns the pair of a copy's source and destination.
  int PairOf(const std::uint8_t* device, const QueueTimes::Copy& copy) const {
    return device[p_.items[copy.item].producer] * p_.num_devices + copy.device;
  }
  void Finish(ServerState& servers, QueueTimes& times) const;
  void AddChannels(const std::uint8_t* device,
                   const QueueTimes& times,
                   ChannelOutcome* channels) const;
  // Adds the copies of shared transfers; until then only the one to the least destination exists.
  void AddSharedCopies(const std::uint8_t* device, QueueTimes& times) const;

  const CompiledProblem& p_;
  Senders senders_ = Senders::kPair;  // the most general of any channel
  bool broadcast_ = false;            // some channel broadcasts
  // A key is time << rank_bits_ | op_bit_ | position; the key of an op's transfers lacks op_bit_.
  int rank_bits_;
  EventBacklog::Key op_bit_;                // 0 if transfers have no place in the queue
  std::vector<Edge> edges_;                 // by producer, item, reader
  std::vector<int> awaits_;                 // [num_ops] arrivals
  std::vector<EventBacklog::Key> initial_;  // of the ops that await nothing, and kNone
  std::vector<int> link_of_;                // [num_devices, num_devices] into links_
  // [num_devices, num_devices] the destinations that may share a copy with this one, including
  // itself
  std::vector<std::uint64_t> together_;
  // State of a run.
  int served_ = 0;  // ops
  std::vector<OpState> ops_;
  std::vector<DeviceState> devices_;
  std::vector<Link> links_;  // [num_devices, num_devices], not all in use
  std::vector<int> before_;  // [copies] the previous copy on its link, -1: none
  EventBacklog backlog_;
  std::vector<int> moved_;       // for Reorder(): copies
  std::int64_t moves_left_ = 0;  // before the run gives up
};

}  // namespace emplace
