#pragma once

// Trains one network of seq2seq_network.h on several problems by the policy gradient of
// agents/shared/policy_gradient/policy_gradient.h. Placeto (NeurIPS 2019) compares its
// generalisation with this policy and calls it "RNN-based".
//
// An update draws and evaluates `samples` placements of every problem. Each problem has its own
// baseline, best placement and generator. The gradient is the mean of the gradients of the
// problems' losses. One optimiser step follows; with `ppo.epochs` = E there are E steps, each over
// all problems. Costs of different graphs differ in size; `normalize_advantages`, our default,
// makes them comparable.
//
// The problems of an update are computed on `threads` threads, each problem with a copy of the
// parameters. Gradients are added in the order of the problems, so the number of threads does not
// change a result.
//
// A trainer never restarts. `patience`, `settle_share`, `entropy_control`, `parts` and
// `controllers` have no effect. `policy`, `updates` and `start` are refused; the caller of Step()
// decides on the number of updates.
//
// After an exception from Step() the trainer can be written (SavePolicy) but not stepped.

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agents/seq2seq/seq2seq_network.h"
#include "agents/shared/policy_gradient/learner_core.h"
#include "agents/shared/policy_gradient/policy_gradient_config.h"
#include "agents/shared/policy_gradient/problem_update.h"
#include "framework/base/random.h"
#include "framework/search/policy_trainer.h"

namespace emplace {

/// Settings of the agent seq2seq and of its trainer.
struct Seq2SeqConfig {
  Seq2SeqNetworkConfig network;
  PolicyGradientConfig learning;
  PartDrawConfig parts{.first = 2};
  std::string policy;  ///< file of Seq2SeqTrainer::SavePolicy to start from; "": random weights
  std::optional<int> updates;  ///< before the final greedy placement; none: the budget ends it
  Seq2SeqConfig();
  void Visit(FieldVisitor& v);
};

/// A row of Seq2SeqTrainer::updates().
struct Seq2SeqTrainerRow {
  double evaluations = 0;          ///< of all problems, this update's included
  double loss = 0;                 ///< of the first step, mean over the problems
  double entropy = 0;              ///< per decision [nats], mean over the problems
  double gradient_norm = 0;        ///< of the first step, before clipping
  double learning_rate = 0;        ///< of the first step
  double mean_cost = 0;            ///< of all placements
  double feasible = 0;             ///< share of all placements
  double kl = 0, kl_weight = 0;    ///< as in PolicyGradientRow, kl the mean over the problems
  std::vector<double> mean_costs;  ///< [problems]; columns mean_cost_0, mean_cost_1, ...
  /// @param ppo  adds kl and kl_weight
  UpdateFields Fields(bool ppo) const;
};

class Seq2SeqTrainer final : public PolicyTrainer {
 public:
  /// @throws SettingError; InputError if the problems differ in the number of devices
  Seq2SeqTrainer(const TrainerContext& context, const Seq2SeqConfig& config);

  /// @throws RunError "update 17: graph \"nmt\": not finite: log_softmax [8, 3]: value";
  ///   BudgetExhausted
  void Step(std::span<Evaluator* const> evaluators) override;
  /// Has one Seq2SeqTrainerRow per update; kl and kl_weight only with ppo.epochs > 1.
  const UpdateTable& updates() const override { return core_.table(); }
  void SavePolicy(std::ostream& out) override;
  void VisitState(StateVisitor& v) override;

 private:
  // The state of one problem.
  struct Share {
    Share(const Seq2SeqConfig& config,
          const Seq2SeqVocabulary& vocabulary,
          std::shared_ptr<const Problem> of,
          std::uint64_t seed);
    std::shared_ptr<const Problem> problem;
    ParameterSet parameters;  // a copy of the trainer's, with this problem's gradients
    Rng rng;
    Seq2SeqNetwork network;
    Seq2SeqInputs inputs;
    ProblemUpdate update;
    Tape tape;
    // Of the current update.
    int samples = 0;
    std::vector<Placement> placements;  // [samples], then the one to imitate, if any
  };
  // Draws and evaluates the placements. Returns the loss of the first step.
  Var Draw(Share& share, Evaluator& evaluator) const;
  // Scores the same placements again. Returns the loss of a later step.
  Var ScoreAgain(Share& share) const;
  // Runs backward through the losses of all problems and makes one optimiser step.
  Optimizer::StepInfo Descend(const std::function<Var(int problem)>& loss);
  [[noreturn]] void ThrowNotFinite(const Share& share) const;
  double MeanOf(const std::function<double(const ProblemUpdate&)>& value) const;
  std::int64_t num_updates() const { return core_.table().num_rows(); }

  Seq2SeqConfig config_;
  std::vector<std::shared_ptr<const Problem>> problems_;
  int threads_;
  Seq2SeqVocabulary vocabulary_;
  ParameterSet parameters_;
  std::deque<Share> shares_;
  LearnerCore core_;
  std::int64_t evaluations_ = 0;
};

}  // namespace emplace
