#pragma once

// Distributions and exact local search, each from what the other finds. A distribution of devices
// per group, as in Post, says what good placements have in common; placements drawn from it are
// refined by local search, which knows the exact gain of every move it tries; what that finds is
// what the distributions are then learned from.
//
// The placements that `start` names are the first elites, and the distributions begin with their
// shares. A step is one of two:
//
// - some elite is not refined: the best of these is refined. It counts as refined once a refinement
//   brought nothing, so that the search stays with an elite as long as that gets better, and only
//   then goes to the next one;
// - all are refined: `samples` placements are drawn and evaluated, and the best of those that are
// no
//   elite already is refined.
//   Half of them are drawn from the distributions (coupled_draws.h), the other half are random
//   elites in which each group is moved with probability q = `perturbation` 2^r, see below.
//
// What comes of it competes for a place among the `population` elites (elites.h), and the
// distributions move towards these by `step` (elite_distributions.h). A refinement is `effort`
// evaluations of local search from the placement (../learned/ranked_search.h): moves ranked by the
// network that is trained on other graphs, before they are evaluated.
//
// After `patience` steps without a better placement only the best elite is kept, and each
// distribution gives it all but q = `perturbation` 2^r, r the restarts since the best was found.
// Where q reaches 1/2 every device becomes equally likely instead, and r begins at 0.
//
// Parts of it can be left out to see what they are good for:
//
//   refinement: plain         moves in random order, without the network
//   refinement: none          none: cross-entropy minimisation with kept elites, every step draws
//   draws: perturbation       no draws from the distributions
//   draws: distribution       no perturbations
//   start: [nothing]          no heuristics
//
// Beyond step time and missing memory the network reads the times of ops in one evaluation a pool.
// Ends only when no group has a choice; otherwise the budget ends it.
//
// References: Y. Gao, L. Chen, B. Li, Post, NeurIPS 2018, for the distributions (../post) [V];
// S. Khadka et al., Optimizing Memory Placement using Evolutionary Graph Reinforcement Learning,
// ICLR 2021, for a population and a policy that learn from each other [R]; P. Moscato, On
// Evolution, Search, Optimization, Genetic Algorithms and Martial Arts: Towards Memetic Algorithms,
// Caltech C3P report 826, 1989, for refining what is recombined [R]. How they are put together is
// ours.
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agents/common/moves.h"
#include "agents/hybrid/elite_distributions.h"
#include "agents/hybrid/elites.h"
#include "agents/improvement/improvement_agent.h"
#include "agents/learned/move_scorer.h"
#include "framework/config/fields.h"

namespace emplace {

struct HybridConfig {
  std::vector<std::string> start = {"heuristics", "random", "random"};
  std::string refinement = "network";
  std::string policy = "default";
  std::int64_t effort = 64;
  std::string draws = "both";
  int samples = 16;
  double cohesion = 0.9;
  int population = 8;
  double niche = 0.02;
  double step = 0.3;
  double epsilon = 0.02;
  bool align = true;
  int patience = 8;
  double perturbation = 0.05;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, "placements that the population begins with");
    v.Field("refinement", refinement, "local search: network (ranks its moves), plain or none");
    v.Field("policy", policy, "network: \"default\" or a file that emplace generalize wrote");
    v.Field("effort", effort, "evaluations of a refinement");
    v.Field("draws", draws, "from the distribution, by perturbation of random elites, or both");
    v.Field("samples", samples, "placements drawn together, of which the best is refined");
    v.Field("cohesion", cohesion, "probability that a group shares its draw with a neighbour");
    v.Field("population", population, "elites kept, at most");
    v.Field(
        "niche", niche, "share of the groups with a choice in which two elites differ at least");
    v.Field("step", step, "share of the distributions that gives way to the elites'");
    v.Field("epsilon", epsilon, "share of the uniform distribution mixed in");
    v.Field("align", align, "rename equal devices of an elite before shares are taken");
    v.Field("patience", patience, "steps without a better placement before a restart");
    v.Field("perturbation",
            perturbation,
            "share of an elite's groups that a draw moves; doubles at restarts");
  }
};

class HybridAgent final : public ImprovementAgent {
 public:
  using Config = HybridConfig;
  /// @throws SettingError for an unknown start or choice, a policy that cannot be read, or a number
  ///   out of range
  HybridAgent(const AgentContext& context, const Config& config);

  // For tests and for who watches a search.
  const EliteDistributions& distributions() const { return distributions_; }
  const Elites& elites() const { return elites_; }

 private:
  void Begin(const std::vector<ScoredPlacement>& starts) override;
  void Improve(Evaluator& evaluator) override;
  void Adopted() override;
  void SaveSearch(StateWriter& writer) const override;
  void LoadSearch(StateReader& reader) override;

  bool Refines() const { return config_.refinement != "none"; }
  std::vector<Placement> Draw(int count);
  /// The best of `samples` draws that is as good as no elite; the best of all if each is.
  Elite DrawElite(Evaluator& evaluator);
  void Refine(Elite& elite, Evaluator& evaluator);
  void NoteElite(const Elite& elite);
  /// Of groups moved, and of other devices than the best placement's at a restart.
  double Share() const;
  void Restart();

  AgentContext context_;
  Config config_;
  MoveProposer proposer_;  // of perturbations
  EliteDistributions distributions_;
  Elites elites_;
  std::shared_ptr<const MoveScorer> scorer_;  // nullptr: none
  int stale_ = 0;                             // steps since the best was found, or a restart
  int restarts_ = 0;                          // since the best was found
};

}  // namespace emplace
