#pragma once

// What the grouper knows of each unit, and the placer of each group.
//
// A unit is what a problem places as one: a group of its grouping, after co-location. The published
// inputs [R] (ICLR 2018) are the op's type, the shapes of its outputs and the topological indices
// of its neighbours for the grouper; counts of types, summed output shapes and the adjacency of
// groups for the placer. How they are scaled is not known; all scalings here are [ours]. Costs,
// bytes and positions are [ours] too, each behind a setting.
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/config/fields.h"
#include "framework/learn/ops.h"
#include "framework/search/problem.h"

namespace emplace {

inline constexpr int kMaxOutputs = 6, kMaxDims = 4;  ///< shapes of a unit [R]
inline constexpr int kMaxNeighbors = 6;              ///< in each direction [R]
inline constexpr int kPositionOctaves = 5;           ///< sines and cosines of a position [ours]

/// Tensors (and control edges, 0 B) that one unit makes and another reads.
struct UnitEdge {
  int from, to;
  std::int64_t bytes;  ///< distinct tensors [B]
};

/// Facts about the units, before any scaling.
struct UnitFeatures {
  explicit UnitFeatures(const Problem& problem);
  int num_units() const { return static_cast<int>(num_ops.size()); }
  int num_devices() const { return static_cast<int>(costs.cols()); }

  std::vector<int> num_ops;        ///< [num_units]
  std::vector<std::string> kinds;  ///< the vocabulary, sorted
  SparseMatrix kind_counts;        ///< [num_units, kinds] ops of each kind
  /// [num_units, 24] first four dimensions of the six largest outputs (by bytes, the first of
  /// equals first); -1 where there are fewer.
  Matrix shapes;
  /// [num_units, 12] positions of the six in-neighbours with the most bytes, the nearest first
  /// among equals, then of the out-neighbours; -1 where there are fewer.
  Matrix neighbors;
  /// [num_units] index in problem.group_order() over num_units, in [0, 1)
  std::vector<float> position;
  Matrix costs;                 ///< [num_units, num_devices] [ns]; -1: not allowed
  Matrix bytes;                 ///< [num_units, 2] resident and other outputs [B]
  std::vector<UnitEdge> edges;  ///< ascending by from, to; from != to
};

/// Which facts beyond the published ones a network sees [ours].
struct FeatureConfig {
  bool costs = true, bytes = true, position = true;
  void Visit(FieldVisitor& v) {
    v.Field("costs", costs, "see the cost on each device");
    v.Field("bytes", bytes, "see the bytes of resident and of other outputs");
    v.Field("position", position, "see the place in topological order");
  }
};

/// The grouper's fixed input. Columns in this order: shapes as log(1 + x) / 10, neighbours'
/// positions (-1 stays -1 in both); then as `config` says: costs and bytes as log(1 + x) / 20 (not
/// allowed: -1), the PositionWaves of the position.
/// @param standardize  each column then gets mean 0 and variance 1 over the units (a constant one:
///   0)
/// @return [num_units, F]
Matrix GrouperInput(const UnitFeatures& units, const FeatureConfig& config, bool standardize);

/// A grouping of the units as the placer reads it: a sequence of the groups that have units. An
/// empty group has nothing to place, so it is no decision and not in the sequence.
struct GroupSequence {
  std::vector<int> groups;  ///< [S] ids of the groups, in the order of the sequence
  Matrix input;             ///< [S, PlacerInputWidth]
  Matrix allowed;           ///< [S, num_devices] 1 where at least one unit of the group may run
};

/// Columns of `input`: shares of the group's ops by kind; sums over its units of the output shapes
/// (paddings count 0); adjacency to all groups by id (1 where a unit of the group reads what one of
/// the other makes: every producer counts; 1 for the group itself, which tells its id); then as
/// `config` says: sums of the costs on each device (of the units allowed there) and of the bytes;
/// the mean position and the root mean square distance from it. Each column of sums is divided by
/// its mean over the groups that have units.
/// @param group_of_unit  [num_units] in [0, num_groups)
/// @param by_position  order by mean position [ours], the first id of equals first; else by id
GroupSequence MakeGroupSequence(const Problem& problem,
                                const UnitFeatures& units,
                                std::span<const int> group_of_unit,
                                int num_groups,
                                const FeatureConfig& config,
                                bool by_position);
int PlacerInputWidth(const UnitFeatures& units, int num_groups, const FeatureConfig& config);

/// Every unit on its group's device; one that may not run there on the device, among those allowed,
/// where it is fastest, the first of equals (as TensorFlow's soft placement moves it).
/// @param device_of_group  [num_groups]; only entries of groups that have units are read
Placement PlaceUnits(const Problem& problem,
                     std::span<const int> group_of_unit,
                     std::span<const int> device_of_group);

}  // namespace emplace
