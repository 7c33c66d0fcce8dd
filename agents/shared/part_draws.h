#pragma once

// Correlated draws of placements from a policy: the groups of a part of the graph choose alike.
//
// Independent draws from an untrained policy scatter the groups over the devices. Most tensors then
// cross devices, and all placements of an update are about equally bad. A correlated draw gives all
// groups of a part the same Gumbel noise:
//
//   device(group) = argmax_d log p(d | group) + noise(part(group), d)
//
// Each group still draws from its own distribution (Maddison et al., A* Sampling, NeurIPS 2014), so
// the policy learns from its log-probabilities as usual. Groups of one part with equal
// distributions choose the same device, so that placements differ in whole parts.
//
// There are partitions into n, 4 n, 16 n, ... parts (MergedGroups()), as long as each part has at
// least two groups on average, and none below 32 groups. The first updates of a search and of a
// restart from nothing use them from the coarsest to the finest, each for the same number of
// updates. Each later update uses a random one of them with probability `probability`, else it
// draws independently. After an update in which most placements do not fit into memory, coarser
// partitions than the next finer one are not used any more: if no device can hold large parts, the
// policy would only learn that those with enough memory can, such as the CPU.

#include <cstdint>
#include <span>
#include <vector>

#include "framework/base/random.h"
#include "framework/config/fields.h"
#include "framework/learn/matrix.h"
#include "framework/search/problem.h"
#include "framework/search/state.h"

namespace emplace {

struct PartDrawConfig {
  int first = 0;  ///< n; 0: draws are independent
  double share = 0.05;
  double probability = 0.1;
  void Visit(FieldVisitor& v);
};

class PartDraws {
 public:
  /// @param num_groups  groups that the policy places; at most the problem's
  PartDraws(const PartDrawConfig& config, const Problem& problem, int num_groups);

  /// Begins a search, or a restart.
  /// @param updates_left  updates in the rest of the budget
  /// @param untrained  false: the policy was pulled to a start, so no update is a first one
  void Restart(std::int64_t updates_left, bool untrained);
  /// Begins an update: chooses a partition and draws its noise.
  /// @param update  number of updates since Restart()
  /// @param rows  placements to draw
  void Begin(std::int64_t update, int rows, Rng& rng);
  /// Ends an update.
  /// @param feasible  share of its placements that fit into memory
  void End(double feasible);
  /// Returns the part of each of the problem's groups in this update; empty if its draws are
  /// independent. [num_groups of the problem]
  std::span<const int> part() const;
  /// Draws one device for each row of `log_probabilities`. @pre part() is not empty
  /// @param rows, parts  [n] the placement and the part of each
  /// @param log_probabilities  [n, num_devices]
  /// @throws RunError as ArgmaxRows()
  std::vector<int> Draw(std::span<const int> rows,
                        std::span<const int> parts,
                        const Matrix& log_probabilities) const;

  /// Visits the number of first updates and the coarsest partition. The rest is drawn by Begin().
  void VisitState(StateVisitor& v);

 private:
  PartDrawConfig config_;
  int num_devices_;
  std::vector<std::vector<int>> partitions_;  // [num_groups] each, from coarse to fine
  std::int64_t first_updates_ = 0;
  int coarsest_ = 0;  // index into partitions_ of the first that is used
  // Of the current update.
  int level_ = -1;  // index into partitions_; -1: independent draws
  int num_rows_ = 0;
  Matrix noise_;  // [parts * rows, num_devices]
};

}  // namespace emplace
