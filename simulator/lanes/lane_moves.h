#pragma once

// Simulates neighbours of a placement, a vector register of them at once, and not from the
// beginning. A pass over the base placement saves snapshots of the state at some positions of the
// issue order. A neighbour differs from the base from the first position at which the device of a
// moved group matters (LaneProgram::first_effect); its simulation begins at the last snapshot
// before. The tables of moved groups are patched for the lanes, and restored after the pass.
//
// Snapshots are also valid for memory, since peaks are counted without resident bytes: the peak of
// a prefix of the issue order does not depend on them.
//
// Internal to the simulator. One per thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/search/evaluator.h"
#include "simulator/lanes/lane_buffers.h"

namespace emplace {

class LaneMoves {
 public:
  /// @param program  possible; must outlive this
  /// @param kernel   one that this processor can run
  LaneMoves(const LaneProgram& program, const LaneKernel& kernel);

  int lanes() const { return buffers_.kernel().lanes; }
  /// Snapshots are numbered by position; 0 is the beginning.
  int num_snapshots() const { return static_cast<int>(positions_.size()); }

  /// Sets the placement whose neighbours follow. Does nothing if the base is the same; if it
  /// differs in some groups, the pass over it begins where they matter.
  /// @param base  [num_groups] devices, all allowed
  void SetBase(std::span<const std::uint8_t> base, bool busy_wanted);

  /// Returns the last snapshot from which a neighbour can be simulated.
  int SnapshotFor(std::span<const Move> moves) const;

  /// Simulates neighbours of the base in lanes 0 .. n - 1.
  /// @param which     [n] indices into `neighbors`; 1 <= n <= lanes(); moves to allowed devices
  /// @param snapshot  not later than SnapshotFor() of each of them
  void Run(const Neighbors& neighbors, std::span<const int> which, int snapshot);

  /// The results of the last run.
  const LaneBuffers& results() const { return buffers_; }

 private:
  void Place(int group, int lane, std::uint8_t device);
  void PlaceInAll(int group, std::uint8_t device);
  void MoveInLane(int lane, Move move);
  void UndoMoves();
  int SnapshotBefore(int position) const;
  void Restore(int snapshot);
  void FindLater(int item);
  void FindLastUses(std::span<const int> groups);
  void PassOverBase(int snapshot);

  LaneBuffers buffers_;
  std::vector<int> positions_;        // of the snapshots
  std::vector<std::byte> snapshots_;  // [num_snapshots - 1] states; the beginning needs none
  std::vector<std::uint8_t> base_;    // [num_groups]; empty: none yet
  std::uint64_t base_in_use_ = 0;
  bool base_has_busy_ = false;
  std::vector<int> moved_;              // groups that some lane has moved
  std::vector<std::uint8_t> is_moved_;  // [num_groups]
  std::vector<std::int32_t> classes_;
};

}  // namespace emplace
