#pragma once

// Draws edits of a placement from the policy, many from one pass through its network, and computes
// their log-probabilities. Given the placement x and logits l[g, d]:
//
// - A pivot p is drawn in proportion to the probability that the policy gives to devices other than
//   x_p. The aim d is drawn from softmax(l[p, .]) without x_p.
// - A window of groups around p is p alone (`single`), a connected set of 2^U groups grown at
//   random from p (`neighbors`), or a run of 2^U groups in the order of the groups (`block`). U is
//   uniform up to half of all groups.
// - Every other group g of the window gets a device drawn from softmax(l[g, .] + a [d]): the logit
//   a, uniform in [0, attraction], attracts the groups to the aim. Thus a whole block may move
//   together, or each group by itself; the network decides which groups move along.
// - `whole` has neither pivot nor aim; every group gets a device drawn from softmax(l[g, .]).
//
// The first edit of a batch may be the most probable device of every group. Edits that change
// nothing or were tried before are drawn again, up to a few tries per edit.
//
// Given pivot, window and a, the log-probability of an edit is a sum over its groups; the policy
// gradient differentiates this sum. The edits are not from a paper. The resulting search resembles
// a large neighbourhood search with a learned repair.

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "agents/graph_policy/graph_policy_config.h"
#include "agents/shared/moves.h"
#include "framework/base/random.h"
#include "framework/learn/tape.h"
#include "framework/search/problem.h"

namespace emplace {

/// Edits as moves, and their decisions: one per group of a window.
struct EditBatch {
  struct Decision {
    int edit = 0;  ///< index; decisions ascend by it
    int group = 0, device = 0;
    int aim = -1;  ///< device whose logit is raised; -1: none
    float attraction = 0;
    bool leaves = false;  ///< for a pivot: its present device is excluded
  };
  MoveLists moves;
  std::vector<Decision> decisions;
  std::size_t size() const { return moves.size(); }
};

/// Hashes of edits, independent of the order of their moves.
using TriedEdits = std::unordered_set<std::uint64_t>;

class EditProposer {
 public:
  /// @param problem  outlives this
  /// @throws SettingError below "edits"
  EditProposer(const Problem& problem, const EditConfig& config);

  /// Returns true if a group has several allowed devices.
  bool any() const { return !movable_.empty(); }
  /// Returns the number of moves of one group to another of its allowed devices.
  std::int64_t num_single_moves() const { return num_single_moves_; }

  /// Draws up to `count` edits; any() must be true.
  /// @param probability  [num_groups, num_devices] softmax of the logits; 0 where not allowed
  /// @param greedy  the first edit moves every group to its most probable device
  /// @param tried  edits to leave out; the drawn edits are added
  void Draw(Rng& rng,
            const Placement& base,
            const Matrix& probability,
            int count,
            bool greedy,
            TriedEdits& tried,
            EditBatch& batch);

  /// Computes the log-probability of each decision, given pivot, window and attraction.
  /// @param logits  [num_groups, num_devices]     @return [decisions, 1]
  Var LogProbability(Tape& tape, Var logits, const Placement& base, const EditBatch& batch) const;

 private:
  int DrawPivot(Rng& rng) const;
  void DrawWindow(Rng& rng, int pivot, int kind);
  /// Returns a device, or -1 if nothing can be drawn.
  int DrawDevice(Rng& rng, const Matrix& probability, int group, int without, int aim, double by);
  /// Adds the edit with the decisions from `first` on. If it changes nothing or was tried before,
  /// removes its decisions and returns false.
  bool Accept(const Placement& base, std::size_t first, TriedEdits& tried, EditBatch& batch) const;

  const Problem& problem_;
  double attraction_;
  std::vector<double> kinds_;  // cumulative weights: single, neighbors, block, whole
  std::vector<int> movable_;   // groups with a choice
  std::int64_t num_single_moves_ = 0;
  std::vector<int> position_;    // [num_groups] in group_order
  std::vector<double> leaving_;  // [movable_] cumulative
  std::vector<int> window_;      // without the pivot
  std::vector<char> inside_;     // [num_groups] of the window
  std::vector<double> weight_;   // [num_devices]
};

}  // namespace emplace
