#include "agents/seq2seq/seq2seq_trainer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "agents/common/state.h"
#include "agents/policy_gradient/learner_state.h"
#include "agents/policy_gradient/not_finite.h"
#include "agents/seq2seq/seq2seq_policy.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

const Seq2SeqConfig& Validated(const Seq2SeqConfig& config) {
  config.learning.Validate();
  if (!config.policy.empty()) {
    throw SettingError(
        "policy",
        fmt::format("expected none where a policy is trained, got \"{}\"", config.policy));
  }
  if (config.updates != -1) {
    throw SettingError(
        "updates", fmt::format("expected -1 where a policy is trained, got {}", config.updates));
  }
  return config;
}

ParameterSet MakeParameters(const Seq2SeqNetworkConfig& config,
                            const Seq2SeqVocabulary& vocabulary,
                            std::uint64_t seed) {
  Rng rng(seed);
  ParameterSet parameters;
  Seq2SeqNetwork(config, vocabulary, parameters, rng);
  return parameters;
}

std::vector<std::string> Columns(const Seq2SeqConfig& config, std::size_t num_problems) {
  std::vector<std::string> columns = {
      "evaluations", "loss", "entropy", "gradient_norm", "learning_rate", "mean_cost", "feasible"};
  if (config.learning.ppo.epochs > 1) columns.insert(columns.end(), {"kl", "kl_weight"});
  for (std::size_t i = 0; i < num_problems; ++i) columns.push_back(fmt::format("mean_cost_{}", i));
  return columns;
}

}  // namespace

Seq2SeqTrainer::Share::Share(const Seq2SeqConfig& config,
                             const Seq2SeqVocabulary& vocabulary,
                             std::shared_ptr<const Problem> of,
                             std::uint64_t seed)
    : problem(std::move(of)),
      rng(seed),
      network(config.network, vocabulary, parameters, rng),
      inputs(*problem, vocabulary, config.network.features),
      signal(config.learning, problem) {
}

Seq2SeqTrainer::Seq2SeqTrainer(const TrainerContext& context, const Seq2SeqConfig& config)
    : config_(Validated(config)),
      problems_(context.problems),
      threads_(context.threads),
      vocabulary_(MakeSeq2SeqVocabulary(problems_)),
      parameters_(MakeParameters(config.network, vocabulary_, context.seed)),
      optimizer_(config.learning.optimizer, parameters_, "optimizer"),
      ppo_(config.learning.ppo, "ppo"),
      table_{Columns(config, problems_.size()), {}} {
  Rng seeds(context.seed);
  for (const auto& problem : problems_) {
    shares_.emplace_back(config_, vocabulary_, problem, seeds());
  }
}

void Seq2SeqTrainer::ThrowNotFinite(const Share& share) const {
  emplace::ThrowNotFinite(num_updates(), share.tape, share.problem->graph().name());
}

Var Seq2SeqTrainer::Draw(Share& share, Evaluator& evaluator) const {
  Tape& tape = share.tape;
  const bool again = config_.learning.ppo.epochs > 1;
  share.samples = share.signal.NumSamples(evaluator);
  Seq2SeqNetwork::Rollout rollout;
  try {
    rollout = share.network.Sample(
        tape, share.inputs, share.samples, share.rng, share.signal.ToImitate());
  } catch (const RunError&) {
    ThrowNotFinite(share);
  }
  const PolicySample sample = MakePolicySample(tape, share.inputs, rollout, share.samples, again);
  share.placements = std::move(rollout.placements);
  const auto evaluated = std::span<const Placement>(share.placements).first(share.samples);
  const std::vector<Outcome> outcomes = evaluator.Evaluate(evaluated);
  share.batch = share.signal.Take(evaluated, outcomes, num_updates());
  share.entropy = tape.value(sample.entropy)(0, 0) / std::max(sample.num_decisions, 1);
  if (again) share.drawn = DrawnDecisions(tape, *sample.decisions);
  const Var surrogate = GradientSurrogate(tape, config_.learning, sample, share.batch.weights);
  const Var loss = PolicyLoss(tape, config_.learning, sample, surrogate, num_updates());
  share.loss = tape.value(loss)(0, 0);
  return loss;
}

Var Seq2SeqTrainer::ScoreAgain(Share& share) const {
  const auto scored = share.network.Score(share.tape, share.inputs, share.placements);
  const PolicySample sample =
      MakePolicySample(share.tape, share.inputs, scored, share.samples, true);
  const Var surrogate = PpoSurrogate(
      share.tape, config_.learning, ppo_, sample, share.batch.weights, share.drawn, share.kl);
  return PolicyLoss(share.tape, config_.learning, sample, surrogate, num_updates());
}

Optimizer::StepInfo Seq2SeqTrainer::Descend(const std::function<Var(int)>& loss) {
  ParallelFor(static_cast<int>(shares_.size()), threads_, [&](int i) {
    Share& share = shares_[i];
    share.tape.Clear();
    share.parameters.ClearGradients();
    CopyValues(parameters_, share.parameters);
    const Var value = loss(i);
    if (!std::isfinite(share.tape.value(value)(0, 0))) ThrowNotFinite(share);
    share.tape.Backward(value);
    if (!std::isfinite(share.parameters.GradientNorm())) ThrowNotFinite(share);
    share.tape.Clear();  // 32 graphs' recordings would be a gigabyte
  });
  const auto count = static_cast<float>(shares_.size());
  for (std::size_t p = 0; p < parameters_.all().size(); ++p) {
    Matrix& gradient = parameters_.all()[p].gradient;
    gradient.setZero();
    for (const Share& share : shares_) gradient += share.parameters.all()[p].gradient;
    gradient /= count;
  }
  const Optimizer::StepInfo info = optimizer_.Step();
  if (!std::isfinite(info.gradient_norm)) {
    throw RunError(fmt::format("update {}: not finite: the sum of the gradients", num_updates()));
  }
  return info;
}

double Seq2SeqTrainer::MeanOf(const std::function<double(const Share&)>& value) const {
  double sum = 0;
  for (const Share& share : shares_) sum += value(share);
  return sum / static_cast<double>(shares_.size());
}

void Seq2SeqTrainer::Step(std::span<Evaluator* const> evaluators) {
  EMPLACE_CHECK(evaluators.size() == shares_.size());
  const Optimizer::StepInfo info = Descend([&](int i) { return Draw(shares_[i], *evaluators[i]); });
  for (const Share& share : shares_) evaluations_ += share.samples;
  std::vector<double> row = {static_cast<double>(evaluations_),
                             MeanOf([](const Share& s) { return s.loss; }),
                             MeanOf([](const Share& s) { return s.entropy; }),
                             info.gradient_norm,
                             info.learning_rate,
                             MeanOf([](const Share& s) { return s.batch.mean_cost; }),
                             MeanOf([](const Share& s) { return s.batch.feasible; })};
  if (config_.learning.ppo.epochs > 1) {
    for (int epoch = 1; epoch < config_.learning.ppo.epochs; ++epoch) {
      Descend([&](int i) { return ScoreAgain(shares_[i]); });
    }
    const double kl = MeanOf([](const Share& s) { return s.kl; });
    row.insert(row.end(), {kl, ppo_.kl_weight()});
    ppo_.Observe(kl);
  }
  for (const Share& share : shares_) row.push_back(share.batch.mean_cost);
  table_.values.insert(table_.values.end(), row.begin(), row.end());
}

void Seq2SeqTrainer::SavePolicy(std::ostream& out) const {
  WriteSeq2SeqPolicy(out, config_.network, vocabulary_, parameters_);
}

void Seq2SeqTrainer::Save(std::ostream& out) const {
  StateWriter writer(out, "seq2seq", Problems(problems_));
  SaveLearner(writer, parameters_, optimizer_);
  writer.Double(ppo_.kl_weight());
  for (const Share& share : shares_) {
    writer.Generator(share.rng);
    share.signal.Save(writer);
  }
  writer.Int(evaluations_);
  writer.Table(table_);
}

void Seq2SeqTrainer::Load(std::istream& in) {
  StateReader reader(in, "seq2seq", Problems(problems_));
  LoadLearner(reader, parameters_, optimizer_);
  ppo_.set_kl_weight(reader.Double("a weight of the divergence"));
  for (Share& share : shares_) {
    reader.Generator(share.rng);
    share.signal.Load(reader);
  }
  evaluations_ = reader.Count("a number of evaluations");
  reader.Table(table_);
}

}  // namespace emplace
