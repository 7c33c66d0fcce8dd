#pragma once

// Branch and bound: finds the best of all placements, with a proof, for problems with few groups.
// While it runs, it has the best placement so far and a rising lower bound.
//
// The search begins with the placements named by `start` and with a hill climb of `climb`
// evaluations from the best of them (agents/shared/moves.h, 32 moves at a time). Then it searches a
// tree. A node fixes the devices of the first groups in Problem::group_order(), and its children
// also fix the device of the next group. A node is pruned if no placement below it can be better
// than the best known one (Better() of framework/search/evaluator.h). Its bounds are those of its
// parent, raised by
//
//   time      PartialBound (framework/bounds/partial_bound.h), or PartialLoad (partial_load.h) for
//             the period; the other groups may have any device. Once a placement that fits is
//             known, PartialBound also removes the devices of a group with which no placement is
//             better
//   deficit   resident bytes of the fixed groups beyond each device's memory, plus those of the
//             other groups beyond all memory that is left
//
// Time bounds are computed when a node is taken from the queue, at depths where they pay: the
// number of placements below the node, times the share of them that bounds have recently ruled out,
// is at least `bound_cost`. This setting is the time of a node's bounds, in evaluations. At other
// depths bounds are computed for the first 64 nodes and then for one node in 64. The next node is
// the one with the least bounds. Once `most_open` nodes wait, the search takes the deepest node
// instead, so that the queue stops growing. If a node has at most `bound_cost` placements below it,
// all of them are evaluated, in batches of `batch`, except those that device loads and resident
// bytes rule out.
//
// Symmetric devices (framework/cluster/symmetry.h): only one of the nodes that a symmetry maps onto
// one another is kept. The order of a message's destinations may matter, so that the images of a
// placement have different step times. In that case one image for each order is evaluated with the
// placement. The proof therefore holds for every semantics of the simulator, to the nanosecond.
// Symmetries are not used in clusters of more than 11 devices where the order may matter.
//
// The search is finished when no node is left. The best placement found is then the optimum. The
// number of nodes grows exponentially with the number of groups. The result does not depend on the
// seed.
//
// Reference: A. H. Land, A. G. Doig, An Automatic Method of Solving Discrete Programming Problems,
// Econometrica 28 (1960).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "agents/branch_and_bound/partial_load.h"
#include "agents/initial_placements/start_setting.h"
#include "agents/shared/moves.h"
#include "framework/base/random.h"
#include "framework/bounds/partial_bound.h"
#include "framework/cluster/symmetry.h"
#include "framework/config/fields.h"
#include "framework/search/agent.h"
#include "framework/search/outcome_table.h"

namespace emplace {

class StateVisitor;

struct BranchAndBoundConfig {
  std::vector<std::string> start = {"single", "contiguous", "pipeline_stages", "heft", "etf"};
  int climb = 2000;
  int batch = 256;
  int bound_cost = 4;
  int most_open = 100'000;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, kStartHelp);
    v.Field(
        "climb", climb, Between(0, 1e9), "evaluations of the hill climb before the tree search");
    v.Field("batch", batch, Between(1, 1e6), "placements evaluated together");
    v.Field("bound_cost", bound_cost, Between(1, 1e6), "cost of a node's bounds, in evaluations");
    v.Field("most_open",
            most_open,
            Between(1, 1e8),
            "open nodes above which the deepest node is expanded next");
  }
};

class BranchAndBoundAgent final : public Agent {
 public:
  using Config = BranchAndBoundConfig;
  /// @throws SettingError for an unknown start
  BranchAndBoundAgent(const AgentContext& context, const Config& config);
  /// Evaluates the starts, or 32 moves of the climb, or about `batch` placements of the tree.
  void Step(Evaluator& evaluator) override;
  bool Finished() const override { return started_ && open_.empty() && dive_.empty(); }
  /// Returns a lower bound on the time of all placements that fit, once such a placement is known.
  /// Before, returns the root's bound, which holds for all placements. [ns]
  Nanos bound() const override { return bound_; }
  void VisitState(StateVisitor& v) override;

  /// Number of visited nodes.
  std::int64_t num_nodes() const { return num_nodes_; }

 private:
  struct Node {
    Score bound;
    std::vector<DeviceIndex> device;  // of the first groups in order_
  };
  /// Effect of the bounds at one depth.
  struct Level {
    std::int64_t computed = 0, left_out = 0;
    std::int64_t cut = 0;  // sum of the shares cut of nodes' placements, in 1/1024
  };
  static bool Later(const Node& a, const Node& b);

  void SetSymmetries();
  void Begin(Evaluator& evaluator);
  void Climb(Evaluator& evaluator);
  void Search(Evaluator& evaluator);
  Node Take();
  void Put(Node node);
  /// Computes a bound on the time of the placements within masks_ in which the first `depth` groups
  /// have their devices in device_, and removes devices from masks_. Does nothing where bounds do
  /// not pay.
  /// @param bound  known so far; raised if the new bound is larger
  /// @return false if none of the placements is better than the best
  bool Bound(std::size_t depth, Score& bound);
  /// Computes the time bound of the placements within masks_.
  /// @param target  only placements with a step time of at most this count [ns]
  Nanos TimeBound(Nanos target);
  /// Returns the number of placements within masks_ for the groups from a depth on.
  double Placements(std::size_t depth) const;
  /// Returns the binary logarithm of Placements().
  double LogPlacements(std::size_t depth) const;
  std::int64_t DeficitBound(std::size_t depth) const;
  void Fix(std::size_t depth, int device);
  void Free(std::size_t depth, std::uint64_t mask);
  std::uint64_t Choices(std::size_t depth, std::uint64_t used);
  void Divide(const Node& node);
  void Complete(std::size_t depth, std::uint64_t used);
  void AddRows();
  /// Removes nodes that cannot have a better placement and updates bound_ from the others.
  void Prune();

  std::shared_ptr<const Problem> problem_;
  Interrupt interrupt_;  // ends the construction of starts
  Config config_;
  MoveProposer proposer_;
  std::optional<PartialBound> step_bound_;  // the objective decides which of the two is set
  std::optional<PartialLoad> load_bound_;
  std::vector<int> order_;                   // of the groups
  std::vector<std::int64_t> rest_resident_;  // [num_groups + 1] sum from a depth on [B]
  // Symmetries, and the pairs of devices whose order each of them reverses.
  std::vector<DevicePermutation> symmetries_;
  std::vector<std::uint64_t> turned_;
  std::unordered_map<std::uint64_t, std::uint64_t> representatives_;  // by devices used
  std::vector<GroupItem> forks_;  // items with two or more destinations
  // [num_devices, 2^num_devices] pairs of devices, within a set of destinations, whose order
  // matters.
  std::vector<std::uint64_t> pairs_;
  std::unordered_map<std::uint64_t, std::vector<int>> images_;  // symmetries to evaluate, by pairs

  bool started_ = false;
  Rng rng_;
  std::int64_t climbed_ = 0, num_nodes_ = 0, num_bounds_ = 0;
  Placement best_;
  Score best_score_;
  Nanos bound_ = 0;
  std::vector<Level> levels_;  // [num_groups + 1] by depth
  std::vector<Node> open_;     // heap, the least first
  std::vector<Node> dive_;     // stack

  // Of one step.
  std::vector<std::uint64_t> masks_;    // [num_groups]
  std::vector<Nanos> load_;             // [num_devices] ops of fixed groups [ns]
  std::vector<std::int64_t> resident_;  // [num_devices] of fixed groups [B]
  std::vector<DeviceIndex> device_;     // [num_groups]
  std::vector<DeviceIndex> rows_;       // [num_rows, num_groups]
  std::vector<Nanos> step_time_;        // [num_rows]
  std::vector<std::int64_t> deficit_;   // [num_rows]
  MoveLists moves_;
  Nanos node_bound_ = 0;  // time bound of the node whose subtree is completed [ns]
};

}  // namespace emplace
