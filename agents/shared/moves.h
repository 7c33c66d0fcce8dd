#pragma once

// Neighbourhood of the local searches: small random changes of a placement that keep every group on
// an allowed device.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "framework/config/fields.h"
#include "framework/search/evaluator.h"
#include "framework/search/problem.h"

namespace emplace {

/// Relative frequencies of the kinds of moves.
struct MoveConfig {
  double single = 3;
  double swap = 0.5;
  double neighbors = 3;
  double block = 5;
  double part = 10;
  double toward_neighbors = 0.5;
  void Visit(FieldVisitor& v) {
    v.Field("single", single, AtLeast(0), "weight of moving one group");
    v.Field("swap", swap, AtLeast(0), "weight of exchanging the devices of two groups");
    v.Field("neighbors",
            neighbors,
            AtLeast(0),
            "weight of moving a group and some of its neighbours together");
    v.Field("block", block, AtLeast(0), "weight of moving a run of groups in topological order");
    v.Field("part",
            part,
            AtLeast(0),
            "weight of moving a part of the graph that exchanges little with the rest, from 32 "
            "groups on");
    v.Field("toward_neighbors",
            toward_neighbors,
            Between(0, 1),
            "probability that a group moves to the device of a neighbour");
  }
};

/// @throws SettingError for `key` if the weights of all moves that every problem has are 0
void RequireMoves(const MoveConfig& config, const std::string& key);

/// Neighbours of a placement as lists of moves. Clear() keeps the memory.
class MoveLists {
 public:
  void Clear();
  /// Adds a move to the next neighbour.
  void Add(int group, int device) { moves_.push_back({group, static_cast<DeviceIndex>(device)}); }
  /// Completes the next neighbour.
  void End() { begin_.push_back(static_cast<int>(moves_.size())); }

  std::size_t size() const { return begin_.size() - 1; }
  /// Returns a view of the neighbours.
  /// @param base  must outlive the view; so must this object
  Neighbors Of(const Placement& base) const { return {base, begin_, moves_}; }
  /// Applies the moves of neighbour `i`. @param device  [num_groups]
  void Apply(std::size_t i, std::span<DeviceIndex> device) const;

 private:
  std::vector<int> begin_{0};
  std::vector<Move> moves_;
};

/// Brings the entries into a uniformly random order.
void Shuffle(std::vector<int>& order, Rng& rng);
/// Returns a uniformly random permutation of 0 .. n - 1.
std::vector<int> RandomOrder(int n, Rng& rng);

/// Returns a hash of a move. The sum of the hashes of a set of moves is a hash of the set,
/// independent of their order.
std::uint64_t HashOf(const Move& move);

class MoveProposer {
 public:
  /// @throws SettingError as RequireMoves
  MoveProposer(const Problem& problem, const MoveConfig& config, const std::string& key);

  /// Returns false if every group has only one allowed device.
  bool any() const { return !movable_.empty(); }
  /// Returns the number of moves of one group to another of its allowed devices.
  std::int64_t num_single_moves() const { return num_single_moves_; }

  /// Adds a neighbour of `base` to the lists, which differs in at least one group; any() must be
  /// true. A pivot group is drawn among those with a choice, and a target among its allowed devices
  /// other than its own: with probability `toward_neighbors` the device of a random neighbour (if
  /// that is such a device), else any of them uniformly. Then
  /// - single: the pivot moves to the target;
  /// - swap: the pivot and a random group on another device exchange devices (8 tries, then
  ///   single);
  /// - neighbors: the pivot moves, and up to 8 random neighbours each follow with probability 1/2;
  /// - block: a run of 2^U groups around the pivot in group_order moves, with U uniform and the run
  ///   at most half of all groups. Groups that are not allowed on the target stay;
  /// - part: the part of the pivot in a random one of several partitions (merged_groups.h) moves
  ///   likewise. There are partitions into 8, 32, 128, ... parts, as long as a part has at least 4
  ///   groups on average; none below 32 groups.
  void Propose(Rng& rng, const Placement& base, MoveLists& lists) const;

  /// Adds a neighbour of `base` to the lists: each group with a choice moves to another random
  /// allowed device with probability `share`. At least one of them moves.
  void Perturb(Rng& rng, double share, const Placement& base, MoveLists& lists) const;

 private:
  struct Partition {
    std::vector<int> part;                  // [num_groups]
    std::vector<std::vector<int>> members;  // [num_parts]
  };
  int DrawOther(Rng& rng, int group, int device) const;
  int DrawAim(Rng& rng, int group, const Placement& base) const;
  bool Swap(Rng& rng, int pivot, const Placement& base, MoveLists& lists) const;

  const Problem& problem_;
  double toward_neighbors_;
  std::array<double, 5> cumulative_;  // weights of single, swap, neighbors, block, part
  std::vector<int> movable_;          // groups with a choice
  std::int64_t num_single_moves_ = 0;
  std::vector<Partition> partitions_;
  std::vector<int> position_;  // [num_groups] in group_order
};

}  // namespace emplace
