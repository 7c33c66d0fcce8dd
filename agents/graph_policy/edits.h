#pragma once

// Edits of a placement as the policy draws them, many from one pass through its network, and how
// likely it was to draw them. Given the placement x and logits l[g, d]:
//
//   - a pivot p is drawn in proportion to what the policy gives to other devices than x_p, and an
//     aim d from softmax(l[p, .]) without x_p;
//   - a window of groups around p: p alone (`single`), a connected set of 2^U groups that is grown
//     from p at random (`neighbors`), or a run of 2^U groups in the order of the groups (`block`),
//     U uniform up to half of all groups;
//   - every other group g of the window goes where softmax(l[g, .] + a [d]) says: `attraction`, a
//     logit a uniform in [0, attraction], leads them to the aim. So whole blocks may move
//     together, or each group for itself; which of them come along is the network's choice.
//   - `whole`: no pivot, no aim; every group goes where softmax(l[g, .]) says.
//
// The first edit of a batch may be the most probable device of every group. Edits that change
// nothing, and those tried before, are drawn again, for as long as there are new ones to be found
// in a few tries.
//
// Given pivot, window and a, the log-probability of an edit is a sum over its groups: what the
// policy gradient differentiates. All of it is ours; the search that it makes resembles a large
// neighbourhood search whose repair is learnt.

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "agents/graph_policy/graph_policy_config.h"
#include "agents/shared/moves.h"
#include "framework/base/random.h"
#include "framework/learn/tape.h"
#include "framework/search/problem.h"

namespace emplace {

/// Edits as moves, and the decisions that made them: one per group of a window.
struct EditBatch {
  struct Decision {
    int edit = 0;  ///< index; decisions ascend by it
    int group = 0, device = 0;
    int aim = -1;  ///< device whose logit is raised; -1: none
    float attraction = 0;
    bool leaves = false;  ///< a pivot: its present device was no choice
  };
  MoveLists moves;
  std::vector<Decision> decisions;
  std::size_t size() const { return moves.size(); }
};

/// Hashes of edits, whatever the order of their moves.
using TriedEdits = std::unordered_set<std::uint64_t>;

class EditProposer {
 public:
  /// @param problem  outlives this
  /// @throws SettingError below "edits"
  EditProposer(const Problem& problem, const EditConfig& config);

  /// False if every group has but one allowed device.
  bool any() const { return !movable_.empty(); }
  /// Moves of one group to another of its allowed devices.
  std::int64_t num_single_moves() const { return num_single_moves_; }

  /// Draws up to `count` edits; any() must be true.
  /// @param probability  [num_groups, num_devices] softmax of the logits; 0 where not allowed
  /// @param greedy  the first edit is the most probable device of every group
  /// @param tried   edits to leave out; those drawn are added
  void Draw(Rng& rng,
            const Placement& base,
            const Matrix& probability,
            int count,
            bool greedy,
            TriedEdits& tried,
            EditBatch& batch);

  /// Log-probability of each decision, given pivot, window and attraction.
  /// @param logits  [num_groups, num_devices]     @return [decisions, 1]
  Var LogProbability(Tape& tape, Var logits, const Placement& base, const EditBatch& batch) const;

 private:
  int DrawPivot(Rng& rng) const;
  void DrawWindow(Rng& rng, int pivot, int kind);
  /// -1 if nothing can be drawn.
  int DrawDevice(Rng& rng, const Matrix& probability, int group, int without, int aim, double by);
  /// Adds the edit of the decisions from `first` on, unless it is empty or known: then they go.
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
