#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "framework/cluster/cluster.h"
#include "framework/cost/costs.h"
#include "framework/graph/graph.h"
#include "framework/graph/grouping.h"
#include "framework/placement/placement.h"

namespace emplace {

/// The quantity that a search minimises: Outcome::step_time of the evaluator.
enum class Objective : std::uint8_t {
  kStepTime,  ///< latency of one step [ns]
  kPeriod,    ///< steady-state time between steps, the largest device load [ns]
};

/// Selects the constructor's checks that concern more than one placement.
enum class ProblemChecks : std::uint8_t {
  kAll,
  kPlacementOnly,  ///< for simulating one given placement: routes that it does not need may be
                   ///< missing, and parameters may fit nowhere
};

/// A placement problem, with all data that a search may use. Immutable and validated; any number of
/// evaluators and agents may share it.
class Problem {
 public:
  /// @throws InputError for sizes that do not fit together; a group whose ops share no allowed
  ///   device (names two ops that exclude each other); a missing route between two devices that a
  ///   dependency may need (names both devices and the dependency); costs so large that times could
  ///   overflow; parameters that fit nowhere (more resident bytes than all allowed devices hold
  ///   together, or a single tensor larger than every device its producer may run on; names the
  ///   bytes and the choices)
  Problem(std::shared_ptr<const Graph> graph,
          Grouping grouping,
          std::shared_ptr<const Cluster> cluster,
          Costs costs,
          Objective objective = Objective::kStepTime,
          ProblemChecks checks = ProblemChecks::kAll);

  const Graph& graph() const { return *graph_; }
  const Grouping& grouping() const { return grouping_; }
  const Cluster& cluster() const { return *cluster_; }
  const Costs& costs() const { return costs_; }
  Objective objective() const { return objective_; }
  int num_ops() const { return graph_->num_ops(); }
  int num_groups() const { return grouping_.num_groups(); }
  int num_devices() const { return cluster_->num_devices(); }

  /// Returns a mask, never 0; bit d is set if all ops of the group may run on device d.
  std::uint64_t allowed_devices(int group) const { return allowed_[group]; }
  bool allowed(int group, int device) const { return allowed_[group] >> device & 1; }
  /// Returns the sum of the costs of the group's ops; kMaxNanos if it may not run there. [ns]
  Nanos group_cost(int group, int device) const {
    return group_cost_[size_t(group) * num_devices() + device];
  }
  /// Returns the bytes that stay in memory for the whole step on the group's device: parameters,
  /// buffers and optimiser state made by its ops. [B]
  std::int64_t group_resident_bytes(int group) const { return resident_bytes_[group]; }

  /// The bytes that cross between two groups if they are on different devices. They count distinct
  /// tensors in both directions; a control edge counts 0.
  struct Edge {
    int neighbor;        ///< the other group
    std::int64_t bytes;  ///< [B]
  };
  /// Returns the edges of a group, in ascending order of the neighbour.
  std::span<const Edge> neighbors(int group) const {
    return {edges_.data() + edge_offsets_[group], edges_.data() + edge_offsets_[group + 1]};
  }
  /// Returns the groups in the order of their first op in the graph's topological order.
  std::span<const int> group_order() const { return group_order_; }

 private:
  void SetEdges();

  std::shared_ptr<const Graph> graph_;
  Grouping grouping_;
  std::shared_ptr<const Cluster> cluster_;
  Costs costs_;
  Objective objective_;
  std::vector<std::uint64_t> allowed_;
  std::vector<Nanos> group_cost_;
  std::vector<std::int64_t> resident_bytes_;
  std::vector<int> edge_offsets_, group_order_;
  std::vector<Edge> edges_;
};

}  // namespace emplace
