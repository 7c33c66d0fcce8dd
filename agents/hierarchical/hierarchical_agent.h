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
// This is the gradient of 1/K sum_ij (R_ij - B) (log p(g_i) + log p(d_ij | g_i)) with K = m k; the
// placer's inputs are constants computed from g_i. Groupings and devices are drawn in the pass that
// is differentiated, so the gradient belongs to exactly the evaluated ones. The setting `samples`
// is K and `groupings` is m (0: m = K, one grouping per placement). If m does not divide K, the
// first groupings have one placement more; if the budget leaves fewer than m placements, there are
// as many groupings as placements. The paper has m = 1, k = 4.
//
// The baseline `leave_one_out` makes the advantages sum to 0. With a single grouping the grouper
// would then never learn, so this combination is refused.
//
// The paper has 256 groups; `groups` = 0 stands for the reference code's min(256, 20 num_devices).
// There are never more groups than units. PlaceUnits() moves a unit that may not run on its group's
// device.
//
// In the first `noise_updates` updates both networks draw from noisy logits (placer.h). Each
// grouping and each step of the placer has its own noise. The log-probabilities are those of the
// noisy distributions, so the gradient remains that of the drawn decisions. The reference code has
// noise 0.5 until update 750, the paper has noise for 500 updates.
//
// With `parts` (ours) some updates draw the devices of whole parts of the graph
// (agents/shared/part_draws.h). A group belongs to the part of most of its ops.
//
// Placements are evaluated on a second thread while the log-probabilities of the groupings are
// computed.
//
// The recorded entropy is the placer's entropy per group plus `grouper.entropy` times the mean
// entropy of a unit's group; `per_decision` counts the G groups. `entropy_control` makes this
// entropy follow a planned decrease.
//
// A restart draws the parameters of both networks again (policy_gradient.h).
//
// Before the first update, and after every restart, the grouper learns a partition of the graph
// (grouper.h), and ends with a geometric mean of kPartitionProbability for the parts, if it can
// reach that.
//
// With `start` the first step evaluates the start and trains both networks towards it, and so does
// every restart. The targets are groups and devices that lead to the start (fit_groups.h). With
// fewer groups than the start has devices, the networks cannot draw the start and are trained
// towards the nearest placement; the start remains the best placement found.
//
// The agent ends by itself only if no unit has a choice; otherwise the budget ends it.
//
// References: A. Mirhoseini, A. Goldie, H. Pham, B. Steiner, Q. V. Le, J. Dean, A Hierarchical
// Model for Device Placement, ICLR 2018; and the HP3C 2019 paper that uses the same formulation.

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
  PartDrawConfig parts{.first = 2};
  GrouperConfig grouper;
  PlacerConfig placer;
  void Visit(FieldVisitor& v);
};

inline constexpr double kPartitionProbability = 0.98;

/// Returns the number G of the grouper's groups: the setting `groups`, or the number that its 0
/// stands for; at most the number of the problem's groups.
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

  /// One decision of the two networks.
  struct Decision {
    std::vector<int> group_of_unit;  ///< [num_units] group of each unit
    std::vector<int> devices;        ///< [S] device of each group in the order of MakeGroupSequence
  };
  /// The placements that one update evaluates and differentiates.
  struct Pass {
    PolicyGradient::Sampled sampled;
    std::vector<Decision> decisions;    ///< [K]
    std::vector<Placement> placements;  ///< [K]
  };
  /// Draws the placements of one update and records the pass on `tape`. Advances the generator.
  /// @param evaluation  if given, takes each placement as soon as it is drawn
  Pass Draw(Tape& tape, int num_samples, BackgroundEvaluation* evaluation = nullptr);
  /// Returns log p(grouping) + log p(devices | grouping), without noise.
  /// @param grouper_logits  [num_units, G] of grouper().Logits()    @return [1, 1]
  Var LogProbability(Tape& tape, Var grouper_logits, const Decision& decision);
  const Grouper& grouper() const { return grouper_; }
  ParameterSet& parameters() { return parameters_; }

 private:
  GroupSequence Sequence(std::span<const int> group_of_unit) const;
  /// Returns the part of most ops of each group; empty if the update draws independently. [S]
  std::vector<int> Parts(const GroupSequence& sequence, std::span<const int> group_of_unit) const;
  Placement Place(const GroupSequence& sequence, const Decision& decision) const;
  void KeepBest(Pass& pass);
  void LearnPartition();
  void PullToStart();
  /// Draws the parameters of both networks again.
  void Restart(std::int64_t remaining);

  std::shared_ptr<const Problem> problem_;
  Interrupt interrupt_;
  Config config_;
  int num_groups_;
  UnitFeatures units_;
  Rng rng_;
  ParameterSet parameters_;
  Grouper grouper_;
  Placer placer_;
  PartDraws parts_;
  PolicyGradient gradient_;
  bool finished_ = false;
  std::optional<Decision> best_;  // led to gradient_.ToImitate()
};

}  // namespace emplace
