#pragma once

// Trains one network of seq2seq_network.h on several problems by the policy gradient of
// ../policy_gradient/policy_gradient.h: the "RNN-based" policy that Placeto (NeurIPS 2019) compares
// its generalisation with.
//
// An update draws and evaluates `samples` placements of every problem. Each problem has its own
// baseline, best placement and generator; the gradient is the mean over the problems of that of
// their losses, and one step follows, or with `ppo.epochs` E > 1 E steps, each over all problems.
// Costs of different graphs differ in size: `normalize_advantages`, our default, makes them
// comparable.
//
// Problems are passed through on `threads` threads, each on a copy of the parameters, and their
// gradients are added in the order of the problems: the same result for any number of threads.
//
// A trainer never restarts: `patience` is of no effect. `policy` and `updates` are refused; who
// calls Step() decides how often.
//
// After an exception from Step() the trainer can be written (SavePolicy) but not stepped.

#include <deque>
#include <functional>
#include <vector>

#include "agents/policy_gradient/learning_signal.h"
#include "agents/policy_gradient/policy_loss.h"
#include "agents/seq2seq/seq2seq_config.h"
#include "framework/base/random.h"
#include "framework/search/policy_trainer.h"

namespace emplace {

class Seq2SeqTrainer final : public PolicyTrainer {
 public:
  /// @throws SettingError; InputError if the problems differ in the number of devices
  Seq2SeqTrainer(const TrainerContext& context, const Seq2SeqConfig& config);

  /// @throws RunError "update 17: graph \"nmt\": not finite: log_softmax [8, 3]: value";
  ///   BudgetExhausted
  void Step(std::span<Evaluator* const> evaluators) override;
  /// Columns: evaluations, loss, entropy (per decision, nats), gradient_norm, learning_rate,
  /// mean_cost, feasible (share), with ppo.epochs > 1 kl and kl_weight as in policy_gradient.h, all
  /// but the first, the norm, the rate and the weight means over the problems; then mean_cost_0,
  /// mean_cost_1, ..., those of each problem.
  const UpdateTable& updates() const override { return table_; }
  void SavePolicy(std::ostream& out) const override;
  void Save(std::ostream& out) const override;
  void Load(std::istream& in) override;

 private:
  // One problem's part of an update.
  struct Share {
    Share(const Seq2SeqConfig& config,
          const Seq2SeqVocabulary& vocabulary,
          std::shared_ptr<const Problem> of,
          std::uint64_t seed);
    std::shared_ptr<const Problem> problem;
    ParameterSet parameters;  // copies, and this problem's gradients
    Rng rng;
    Seq2SeqNetwork network;
    Seq2SeqInputs inputs;
    LearningSignal signal;
    Tape tape;
    // of the update under way
    int samples = 0;
    std::vector<Placement> placements;  // [samples], and perhaps the one to imitate
    LearningSignal::Batch batch;
    DrawnDecisions drawn;
    double loss = 0, entropy = 0, kl = 0;
  };
  // Losses of the first step, and of those after it.
  Var Draw(Share& share, Evaluator& evaluator) const;
  Var ScoreAgain(Share& share) const;
  // Backward through the losses of all problems, and one step.
  Optimizer::StepInfo Descend(const std::function<Var(int problem)>& loss);
  [[noreturn]] void ThrowNotFinite(const Share& share) const;
  double MeanOf(const std::function<double(const Share&)>& value) const;
  std::int64_t num_updates() const { return table_.num_rows(); }

  Seq2SeqConfig config_;
  std::vector<std::shared_ptr<const Problem>> problems_;
  int threads_;
  Seq2SeqVocabulary vocabulary_;
  ParameterSet parameters_;
  std::deque<Share> shares_;
  Optimizer optimizer_;
  Ppo ppo_;
  std::int64_t evaluations_ = 0;
  UpdateTable table_;
};

}  // namespace emplace
