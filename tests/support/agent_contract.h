#pragma once

// What every agent promises, checked on every entry of a registry, so that an agent's own test is
// short.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "framework/search/agent.h"
#include "framework/search/meter.h"

namespace emplace::testing {

/// Passes evaluations on, records the placements in order, as far as the budget goes, and fails the
/// test for one that has the wrong size or a device that a group may not run on.
class RecordingEvaluator final : public Evaluator {
 public:
  /// @param inner  outlives this
  explicit RecordingEvaluator(Evaluator& inner) : inner_(inner) {}
  const Problem& problem() const override { return inner_.problem(); }
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail = {}) override;
  using Evaluator::Evaluate;
  void EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes) override;
  void EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes) override;
  bool SetIssueOrder(std::span<const int> order) override { return inner_.SetIssueOrder(order); }
  std::int64_t remaining() const override { return inner_.remaining(); }
  EvaluatorRanks ranks() const override { return inner_.ranks(); }
  const std::vector<Placement>& placements() const { return placements_; }

 private:
  void Record(const Placement& placement);
  /// How many of a batch the budget allows.
  std::size_t Allowed(std::size_t size) const;

  Evaluator& inner_;
  std::vector<Placement> placements_;
};

/// What a whole search did.
struct SearchTrace {
  std::vector<Placement> placements;  ///< in the order of evaluation
  std::vector<std::string> states;    ///< after each complete step
  bool finished = false;              ///< else the budget ended it
  MeteredEvaluator::Best best;
};

/// Runs an agent in simulation (queue semantics) until it finishes or has made `evaluations`.
/// @throws std::runtime_error if it evaluates nothing, or does neither within 10,000 steps
SearchTrace RunAgent(Agent& agent,
                     std::shared_ptr<const Problem> problem,
                     std::int64_t evaluations,
                     int threads = 1);

/// Devices "cpu:0", "gpu:0", "gpu:1", ...: a slow CPU and `num_gpus` GPUs of different speeds, ops
/// in groups of about two, some of which may run on the CPU only, on one GPU only, or not on the
/// CPU.
std::shared_ptr<const Problem> MixedProblem(Rng& rng,
                                            int num_ops,
                                            int num_gpus,
                                            std::int64_t memory);

/// @param settings  YAML map of the agent's settings, for agents that require some
/// Checks: only allowed devices; the same placements for the same seed and any
/// number of threads; agents that do not use the
/// seed the same for all; saved and restored between any two steps, it goes on as if nothing had
/// happened; it ends by itself or by the budget, also after one evaluation; no choice, one device,
/// one op, one group, nothing feasible; Load refuses garbage and another problem's state; an
/// unknown setting is answered with the known ones.
void CheckAgentContract(const AgentEntry& entry, const std::string& settings = "{}");

}  // namespace emplace::testing
