#pragma once

// Inputs of the grouper for each unit, and of the placer for each group of units.
//
// A unit is a group of the problem's own grouping, after co-location: its ops are placed together.
// The published inputs (ICLR 2018) of the grouper are the type of the op, the shapes of its outputs
// and the topological indices of its neighbours; those of the placer are counts of types, summed
// output shapes and the adjacency of groups. Their scaling in the paper is not known; all scalings
// here are our own. Costs, bytes and positions are additions of ours, each with a setting.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/config/fields.h"
#include "framework/learn/ops.h"
#include "framework/search/problem.h"

namespace emplace {

inline constexpr int kMaxOutputs = 6, kMaxDims = 4;  ///< shapes of a unit
inline constexpr int kMaxNeighbors = 6;              ///< in each direction
inline constexpr int kPositionOctaves = 5;           ///< sines and cosines of a position

/// The tensors (and control edges, 0 B) that unit `from` makes and unit `to` reads.
struct UnitEdge {
  int from, to;
  std::int64_t bytes;  ///< distinct tensors [B]
};

/// Unscaled properties of the units.
struct UnitFeatures {
  /// @param num_parts  parts of the partition; 0: none
  explicit UnitFeatures(const Problem& problem, int num_parts = 0);
  int num_units() const { return static_cast<int>(num_ops.size()); }
  int num_devices() const { return static_cast<int>(costs.cols()); }

  std::vector<int> num_ops;        ///< [num_units]
  std::vector<std::string> kinds;  ///< the vocabulary, sorted
  SparseMatrix kind_counts;        ///< [num_units, kinds] ops of each kind
  /// [num_units, 24] The first four dimensions of the six largest outputs (by bytes; the first of
  /// equals first); -1 where there are fewer.
  Matrix shapes;
  /// [num_units, 12] Positions of the six in-neighbours with the most bytes (among equals the
  /// nearest first), then of the six out-neighbours; -1 where there are fewer.
  Matrix neighbors;
  /// [num_units] Index in problem.group_order() divided by num_units, in [0, 1).
  std::vector<float> position;
  Matrix costs;                 ///< [num_units, num_devices] [ns]; -1: not allowed
  Matrix bytes;                 ///< [num_units, 2] resident and other outputs [B]
  std::vector<UnitEdge> edges;  ///< ascending by from, to; from != to
  /// [num_units] Part of each unit, by MergedGroups()
  std::vector<int> part;
};

/// Settings that select the inputs beyond the published ones.
struct FeatureConfig {
  bool costs = true, bytes = true, position = true;
  void Visit(FieldVisitor& v) {
    v.Field("costs", costs, "add the cost on each device");
    v.Field("bytes", bytes, "add the bytes of resident and of other outputs");
    v.Field("position", position, "add the position in topological order");
  }
};

/// Returns the grouper's fixed input. Its columns, in this order: the shapes as log(1 + x) / 10;
/// the positions of the neighbours (-1 stays -1 in both); then, as selected by `config`: costs and
/// bytes as log(1 + x) / 20 (not allowed: -1), and the PositionWaves of the position.
/// @param standardize  scales each column to mean 0 and variance 1 over the units; a constant
///   column becomes 0
/// @return [num_units, F]
Matrix GrouperInput(const UnitFeatures& units, const FeatureConfig& config, bool standardize);

/// A grouping of the units as the placer reads it: the sequence of the groups that have units. An
/// empty group needs no device and is not in the sequence.
struct GroupSequence {
  std::vector<int> groups;  ///< [S] ids of the groups, in the order of the sequence
  Matrix input;             ///< [S, PlacerInputWidth]
  Matrix allowed;           ///< [S, num_devices] 1 where at least one unit of the group may run
};

/// Returns the sequence of a grouping. The columns of `input`, in this order:
/// - shares of the group's ops by kind
/// - sums of the output shapes over its units (paddings count 0)
/// - adjacency to all groups by id: 1 where a unit of the group reads an output of a unit of the
///   other group; 1 for the group itself, which identifies the group
/// - as selected by `config`: sums of the costs on each device (of the units allowed there) and of
///   the bytes; the mean position and the root mean square distance from it
/// Each column of sums is divided by its mean over the groups that have units.
/// @param group_of_unit  [num_units] in [0, num_groups)
/// @param by_position  order by mean position (not in the paper), the first id of equals first;
///   false: order by id
GroupSequence MakeGroupSequence(const Problem& problem,
                                const UnitFeatures& units,
                                std::span<const int> group_of_unit,
                                int num_groups,
                                const FeatureConfig& config,
                                bool by_position);
int PlacerInputWidth(const UnitFeatures& units, int num_groups, const FeatureConfig& config);

/// Returns the placement with every unit on its group's device. A unit that may not run there goes
/// to its fastest allowed device, the first of equals, as in TensorFlow's soft placement.
/// @param device_of_group  [num_groups]; only entries of groups that have units are read
Placement PlaceUnits(const Problem& problem,
                     std::span<const int> group_of_unit,
                     std::span<const int> device_of_group);

}  // namespace emplace
