#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/search/evaluator.h"
#include "simulator/queue/queue_direct.h"

namespace emplace {

/// Simulates the neighbours of one placement, the base, by direct runs. A run of the base saves
/// snapshots of its state. The simulation of a neighbour begins at the last snapshot before its
/// first effect, since until then everything is as in the base.
class QueueMoves {
 public:
  /// @param problem  one that DirectQueueRun::Fits(); outlives this
  explicit QueueMoves(const CompiledProblem& problem);

  /// Simulates the base once so many of its neighbours have been requested that this pays.
  /// @param base     [num_groups]
  /// @param count    neighbours that will be simulated, besides those of earlier calls
  /// @param servers  overwritten
  /// @return false: Run() must not be called, because the neighbours are too few so far, or because
  ///   the base needs the general run
  bool SetBase(std::span<const std::uint8_t> base, size_t count, ServerState& servers);

  /// Simulates the base after some moves of groups.
  /// @param servers, channels  as in DirectQueueRun::Run(). @return likewise
  bool Run(std::span<const Move> moves, ServerState& servers, ChannelOutcome* channels);

  /// The times of the last Run().
  const QueueTimes& times() const { return times_; }
  /// [num_ops] by position: the placement of the last Run().
  const std::uint8_t* device() const { return device_.data(); }

  /// Returns the snapshot with which Run() begins: after index * num_ops / num_snapshots() ops.
  int SnapshotFor(std::span<const Move> moves) const;
  int num_snapshots() const { return static_cast<int>(snapshots_.size()); }

 private:
  std::span<const int> OpsOf(int group) const {
    return std::span(ops_).subspan(op_begin_[group], op_begin_[group + 1] - op_begin_[group]);
  }
  void Place(int group, int device);
  bool RunBase(ServerState& servers);
  void FindFirstEffects();

  const CompiledProblem& p_;
  DirectQueueRun run_;
  QueueTimes times_;
  std::vector<int> op_begin_, ops_;  // [num_groups + 1] into [num_ops]: positions, by group
  // Of the base.
  std::vector<std::uint8_t> base_;         // [num_groups]; empty: none yet
  size_t asked_ = 0;                       // neighbours
  bool simulated_ = false, done_ = false;  // done: its run did not give up
  std::vector<Nanos> start_, finish_;      // [num_ops]
  std::vector<int> first_effect_;  // [num_groups] number of ops served before the group matters
  std::vector<DirectQueueRun::Snapshot> snapshots_;
  // Of the last neighbour.
  int kept_ = 0;                      // ops of the base's order whose times are in times_
  std::vector<std::uint8_t> device_;  // [num_ops]
  std::vector<int> moved_;            // groups
};

}  // namespace emplace
