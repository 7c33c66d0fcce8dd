#pragma once

// Grouper and placer, learned together by policy gradient (HP3C 2019; ICLR 2018).
//
// The grouper (grouper.h) assigns each unit, a group of the problem's own grouping, to one of G
// groups; the placer (placer.h) gives each group a device. With m groupings per update and k
// placements of each, a cost R and a baseline B:
//
//   grad_g J ~= (1/m) sum_i grad log p(g_i) (1/k) sum_j (R_ij - B)
//   grad_d J ~= (1/k) sum_j (1/m) sum_i grad log p(d_ij | g_i) (R_ij - B)
//
// which is the gradient of 1/K sum_ij (R_ij - B) (log p(g_i) + log p(d_ij | g_i)), K = m k; the
// placer's inputs are constants made of g_i. The gradient belongs to exactly the groupings and
// devices that were evaluated: they are drawn in the pass that is differentiated. `samples` = K and
// `groupings` = m (0: K, one for each placement [ours]); where m does not divide K the first
// groupings have one placement more, and when the budget leaves fewer than m placements there are
// as many groupings. The paper has m = 1, k = 4 [V].
//
// With the baseline `leave_one_out` the advantages sum to 0, so that with one grouping for all the
// grouper would never learn; the two together are refused.
//
// Group counts: 256 [R]; `groups` = 0: min(256, 20 num_devices) (reference code [V]); never more
// than units. A unit that may not run on its group's device is moved as PlaceUnits() says.
//
// In the first `noise_updates` updates both networks draw from noisy logits (logits_noise.h), each
// grouping and each step of the placer with noise of its own; log-probabilities are those of the
// noisy distributions, so the gradient stays that of what was drawn. Reference code: 0.5 until
// update 750 [V]; paper: 500 updates [R].
//
// Placements are evaluated on a second thread while the next groupings are drawn.
//
// The recorded entropy is that of the placer per group (plus `grouper.entropy` times the mean
// entropy of a unit's group); `per_decision` counts the G groups.
//
// With `entropy_control` [ours] that entropy follows a planned way down. A restart draws both
// networks anew [ours]: policy_gradient.h.
//
// With `start` [ours] the first step evaluates the start and pulls both networks to it; so does
// every restart. What they are pulled to are groups and devices that lead to the placement, as near
// to what the grouper prefers as can be (fit_groups.h). With fewer groups than the start has
// devices the networks cannot draw it and are pulled to the nearest; it stays the best placement
// all the same.
//
// Ends only when no unit has a choice; otherwise the budget ends it.
//
// References: A. Mirhoseini, A. Goldie, H. Pham, B. Steiner, Q. V. Le, J. Dean, A Hierarchical
// Model for Device Placement, ICLR 2018; and the HP3C 2019 paper that uses the same formulation.
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

#include <cstdint>
#include <optional>
#include <vector>

#include "agents/hierarchical/grouper.h"
#include "agents/hierarchical/placer.h"
#include "agents/shared/policy_gradient/background_evaluation.h"
#include "agents/shared/policy_gradient/policy_gradient.h"
#include "framework/base/random.h"
#include "framework/search/agent.h"

namespace emplace {

struct HierarchicalConfig {
  HierarchicalConfig();
  int groups = 64;
  int groupings = 0;
  double noise = 0;
  int noise_updates = 500;
  PolicyGradientConfig policy;
  GrouperConfig grouper;
  PlacerConfig placer;
  void Visit(FieldVisitor& v);
};

/// Number G of groups of the grouper: the setting `groups`, or what stands for its 0, and never
/// more than the problem has groups.
int NumGroups(const HierarchicalConfig& config, const Problem& problem);

class HierarchicalAgent final : public Agent {
 public:
  using Config = HierarchicalConfig;
  /// @throws SettingError
  HierarchicalAgent(const AgentContext& context, const Config& config);
  void Step(Evaluator& evaluator) override;
  bool Finished() const override { return finished_; }
  const UpdateTable* updates() const override { return &gradient_.table(); }
  void VisitState(StateVisitor& v) override;

  /// One decision of the two networks: group per unit, device per group of its sequence.
  struct Decision {
    std::vector<int> group_of_unit;  ///< [num_units]
    std::vector<int> devices;        ///< [S] along MakeGroupSequence's order
  };
  /// What one update evaluates and differentiates.
  struct Pass {
    PolicyGradient::Sampled sampled;
    std::vector<Decision> decisions;    ///< [K]
    std::vector<Placement> placements;  ///< [K]
  };
  /// The pass of one update, recorded on `tape`; moves the generator on.
  /// @param evaluation  if given, takes each placement as soon as it is drawn
  Pass Draw(Tape& tape, int num_samples, BackgroundEvaluation* evaluation = nullptr);
  /// log p(grouping) + log p(devices | grouping), without noise.
  /// @param grouper_logits  [num_units, G] of grouper().Logits()    @return [1, 1]
  Var LogProbability(Tape& tape, Var grouper_logits, const Decision& decision) const;
  const Grouper& grouper() const { return grouper_; }
  ParameterSet& parameters() { return parameters_; }

 private:
  GroupSequence Sequence(std::span<const int> group_of_unit) const;
  Placement Place(const GroupSequence& sequence, const Decision& decision) const;
  void KeepBest(Pass& pass);
  void PullToStart();
  /// Draws the parameters of both networks anew.
  void Restart(std::int64_t remaining);

  std::shared_ptr<const Problem> problem_;
  Interrupt interrupt_;
  Config config_;
  UnitFeatures units_;
  int num_groups_;
  Rng rng_;
  ParameterSet parameters_;
  Grouper grouper_;
  Placer placer_;
  PolicyGradient gradient_;
  bool finished_ = false;
  std::optional<Decision> best_;  // that led to gradient_.ToImitate()
};

}  // namespace emplace
