#pragma once

// Branch and bound: the best of all placements, with a proof, for problems of few groups; as long
// as it runs, the best so far and a lower bound that rises.
//
// It begins with the placements named by `start`, and with a hill climb of `climb` evaluations from
// the best of them (common/moves.h, 32 moves at a time). Then it searches a tree: a node fixes the
// devices of the first groups in Problem::group_order(), a child those of one more. A node is left
// out if nothing below it can be better than the best known (Better() of
// framework/search/evaluator.h). Its bounds are those of the node above, raised by
//
//   time      PartialBound (framework/bounds/partial_bound.h), for the period PartialLoad
//             (partial_load.h): the other groups may have any device. Once a placement that fits is
//             known, PartialBound also takes those devices from groups with which nothing is better
//   deficit   resident bytes of the fixed groups beyond each device's memory, plus those of the
//             others beyond all that is left
//
// Bounds on the time are computed when a node's turn comes, where they pay: at a depth at which the
// placements below it, times the share of them that bounds ruled out lately, are at least
// `bound_cost`, as if bounds took as long as so many evaluations; elsewhere for the first 64 nodes
// and one of 64. The node of least bounds is next; once `most_open` wait, the deepest, so that they
// become no more. Of a node with at most `bound_cost` placements below, all are evaluated, in
// batches of `batch`, but for those that loads of devices and resident bytes rule out.
//
// Symmetric devices (framework/cluster/symmetry.h): of nodes that a symmetry maps onto one another
// one is kept. Where the order of destinations may matter for a placement, so that its images may
// have other step times, one image of each order is evaluated with it. So what is proved holds for
// every semantics of the simulator, to the nanosecond. In clusters of more than 11 devices where
// the order may matter, symmetries are not used.
//
// Finished when no node is left: the best placement found is then the best there is. The nodes grow
// exponentially with the groups. Deterministic, whatever the seed.
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
#include "agents/shared/moves.h"
#include "agents/starts/start_help.h"
#include "framework/base/random.h"
#include "framework/bounds/partial_bound.h"
#include "framework/cluster/symmetry.h"
#include "framework/config/fields.h"
#include "framework/search/agent.h"
#include "framework/search/outcome_table.h"

namespace emplace {

class StateVisitor;

struct BranchAndBoundConfig {
  std::vector<std::string> start = {"single", "contiguous", "heft", "etf"};
  int climb = 2000;
  int batch = 256;
  int bound_cost = 4;
  int most_open = 100'000;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, kStartHelp);
    v.Field("climb", climb, Between(0, 1e9), "evaluations of the hill climb before the tree");
    v.Field("batch", batch, Between(1, 1e6), "placements evaluated at once");
    v.Field("bound_cost",
            bound_cost,
            Between(1, 1e6),
            "evaluations that take as long as a node's bounds");
    v.Field(
        "most_open", most_open, Between(1, 1e8), "nodes waiting from which on the deepest is next");
  }
};

class BranchAndBoundAgent final : public Agent {
 public:
  using Config = BranchAndBoundConfig;
  /// @throws SettingError for an unknown start
  BranchAndBoundAgent(const AgentContext& context, const Config& config);
  /// The starts; or 32 moves of the climb; or about `batch` placements of the tree.
  void Step(Evaluator& evaluator) override;
  bool Finished() const override { return started_ && open_.empty() && dive_.empty(); }
  /// Once a placement that fits is known: of all that fit. Before, the root's bound, which holds
  /// for all. [ns]
  Nanos bound() const override { return bound_; }
  void VisitState(StateVisitor& v) override;

  /// Nodes looked at, and how often bounds on the time were computed.
  std::int64_t num_nodes() const { return num_nodes_; }
  std::int64_t num_bounds() const { return num_bounds_; }

 private:
  struct Node {
    Score bound;
    std::vector<DeviceIndex> device;  // of the first groups in order_
  };
  /// What bounds at a depth have been good for.
  struct Level {
    std::int64_t computed = 0, left_out = 0;
    std::int64_t cut = 0;  // in 1/1024 of the placements below a node
  };
  static bool Later(const Node& a, const Node& b);

  void SetSymmetries();
  void Begin(Evaluator& evaluator);
  void Climb(Evaluator& evaluator);
  void Search(Evaluator& evaluator);
  Node Take();
  void Put(Node node);
  /// Bounds the time of the placements within masks_, in which the first `depth` groups are where
  /// device_ says, and takes devices from masks_, if at this depth that is worth its time.
  /// @param bound  known so far; raised
  /// @return whether some may be better than the best
  bool Bound(std::size_t depth, Score& bound);
  /// @param target  of the steps that take at most that [ns]
  Nanos TimeBound(Nanos target);
  /// How many there are within masks_ for the groups from a depth on.
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
  /// Forgets nodes that cannot hold anything better, and notes the bound that the others prove.
  void Prune();

  std::shared_ptr<const Problem> problem_;
  Interrupt interrupt_;  // ends the construction of starts
  Config config_;
  MoveProposer proposer_;
  std::optional<PartialBound> step_bound_;  // which of the two there is, the objective decides
  std::optional<PartialLoad> load_bound_;
  std::vector<int> order_;                   // of the groups
  std::vector<std::int64_t> rest_resident_;  // [num_groups + 1] from a depth on [B]
  // Symmetries, and for each which pairs of devices it turns round.
  std::vector<DevicePermutation> symmetries_;
  std::vector<std::uint64_t> turned_;
  std::unordered_map<std::uint64_t, std::uint64_t> representatives_;  // by devices used
  std::vector<GroupItem> forks_;  // items of two destinations or more
  // [num_devices, 2^num_devices] pairs of devices in a set of destinations whose order matters
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
  Nanos node_bound_ = 0;  // of the node whose subtree is completed
};

}  // namespace emplace
