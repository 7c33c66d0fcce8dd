#include "agents/seq2seq/seq2seq_trainer.h"

#include <cmath>

#include <fmt/format.h>

#include "agents/seq2seq/seq2seq_policy.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/config/setting_error.h"
#include "framework/search/state.h"

namespace emplace {
namespace {

const Seq2SeqConfig& Validated(const Seq2SeqConfig& config) {
  config.learning.Validate();
  if (!config.policy.empty()) {
    throw SettingError(
        "policy",
        fmt::format("expected none while a policy is trained, got \"{}\"", config.policy));
  }
  if (config.updates) {
    throw SettingError(
        "updates", fmt::format("expected none while a policy is trained, got {}", *config.updates));
  }
  if (config.learning.start.names != StartConfig().names) {
    throw SettingError("start", "expected nothing while a policy is trained, got a start");
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

}  // namespace

UpdateFields Seq2SeqTrainerRow::Fields(bool ppo) const {
  UpdateFields fields = {{"evaluations", evaluations},
                         {"loss", loss},
                         {"entropy", entropy},
                         {"gradient_norm", gradient_norm},
                         {"learning_rate", learning_rate},
                         {"mean_cost", mean_cost},
                         {"feasible", feasible}};
  if (ppo) fields.insert(fields.end(), {{"kl", kl}, {"kl_weight", kl_weight}});
  for (std::size_t i = 0; i < mean_costs.size(); ++i) {
    fields.emplace_back(fmt::format("mean_cost_{}", i), mean_costs[i]);
  }
  return fields;
}

Seq2SeqTrainer::Share::Share(const Seq2SeqConfig& config,
                             const Seq2SeqVocabulary& vocabulary,
                             std::shared_ptr<const Problem> of,
                             std::uint64_t seed)
    : problem(std::move(of)),
      rng(seed),
      network(config.network, vocabulary, parameters, rng),
      inputs(*problem, vocabulary, config.network.features),
      update(config.learning, problem) {
}

Seq2SeqTrainer::Seq2SeqTrainer(const TrainerContext& context, const Seq2SeqConfig& config)
    : config_(Validated(config)),
      problems_(context.problems),
      threads_(context.threads),
      vocabulary_(MakeSeq2SeqVocabulary(problems_)),
      parameters_(MakeParameters(config.network, vocabulary_, context.seed)),
      core_(config.learning.optimizer,
            config.learning.ppo,
            parameters_,
            Seq2SeqTrainerRow{.mean_costs = std::vector<double>(problems_.size())}.Fields(
                config.learning.ppo.epochs > 1)) {
  Rng seeds(context.seed);
  for (const auto& problem : problems_) {
    shares_.emplace_back(config_, vocabulary_, problem, seeds());
    core_.AddCopy(shares_.back().parameters);
  }
}

void Seq2SeqTrainer::ThrowNotFinite(const Share& share) const {
  emplace::ThrowNotFinite(num_updates(), share.tape, share.problem->graph().name());
}

Var Seq2SeqTrainer::Draw(Share& share, Evaluator& evaluator) const {
  Tape& tape = share.tape;
  share.samples = share.update.signal().NumSamples(evaluator);
  Seq2SeqNetwork::Rollout rollout;
  try {
    rollout = share.network.Sample(
        tape, share.inputs, share.samples, share.rng, share.update.signal().ToImitate());
  } catch (const RunError&) {
    ThrowNotFinite(share);
  }
  const PolicySample sample =
      MakePolicySample(tape, share.inputs, rollout, share.samples, config_.learning.ppo.epochs > 1);
  share.placements = std::move(rollout.placements);
  const auto evaluated = std::span<const Placement>(share.placements).first(share.samples);
  return share.update.FirstLoss(
      tape, sample, evaluated, evaluator.Scores(evaluated), num_updates());
}

Var Seq2SeqTrainer::ScoreAgain(Share& share) const {
  const auto scored = share.network.Score(share.tape, share.inputs, share.placements);
  const PolicySample sample =
      MakePolicySample(share.tape, share.inputs, scored, share.samples, true);
  return share.update.NextLoss(share.tape, sample, core_.ppo(), num_updates());
}

Optimizer::StepInfo Seq2SeqTrainer::Descend(const std::function<Var(int)>& loss) {
  const auto differentiate = [&](int i) {
    Share& share = shares_[i];
    share.tape.Clear();
    const Var value = loss(i);
    if (!std::isfinite(share.tape.value(value)(0, 0))) ThrowNotFinite(share);
    share.tape.Backward(value);
    if (!std::isfinite(share.parameters.GradientNorm())) ThrowNotFinite(share);
    share.tape.Clear();  // the recordings of 32 graphs would take a gigabyte
  };
  const auto count = static_cast<float>(shares_.size());
  return core_.DescendTogether(threads_, num_updates(), count, differentiate);
}

double Seq2SeqTrainer::MeanOf(const std::function<double(const ProblemUpdate&)>& value) const {
  double sum = 0;
  for (const Share& share : shares_) sum += value(share.update);
  return sum / static_cast<double>(shares_.size());
}

void Seq2SeqTrainer::Step(std::span<Evaluator* const> evaluators) {
  EMPLACE_CHECK(evaluators.size() == shares_.size());
  const Optimizer::StepInfo info = Descend([&](int i) { return Draw(shares_[i], *evaluators[i]); });
  const bool ppo = config_.learning.ppo.epochs > 1;
  for (int epoch = 1; epoch < config_.learning.ppo.epochs; ++epoch) {
    Descend([&](int i) { return ScoreAgain(shares_[i]); });
  }
  Seq2SeqTrainerRow row = {
      .loss = MeanOf([](const ProblemUpdate& part) { return part.loss(); }),
      .entropy = MeanOf([](const ProblemUpdate& part) { return part.entropy(); }),
      .gradient_norm = info.gradient_norm,
      .learning_rate = info.learning_rate,
      .mean_cost = MeanOf([](const ProblemUpdate& part) { return part.batch().mean_cost; }),
      .feasible = MeanOf([](const ProblemUpdate& part) { return part.batch().feasible; }),
      .kl = MeanOf([](const ProblemUpdate& part) { return part.kl(); }),
      .kl_weight = core_.ppo().kl_weight(),
  };
  for (const Share& share : shares_) {
    evaluations_ += share.samples;
    row.mean_costs.push_back(share.update.batch().mean_cost);
  }
  row.evaluations = static_cast<double>(evaluations_);
  AddRow(core_.table(), row.Fields(ppo));
  if (ppo) core_.ppo().Observe(row.kl);
}

void Seq2SeqTrainer::SavePolicy(std::ostream& out) {
  WriteSeq2SeqPolicy(out, config_.network, vocabulary_, parameters_);
}

void Seq2SeqTrainer::VisitState(StateVisitor& v) {
  v.Begin("seq2seq", Problems(problems_));
  core_.VisitState(v);
  core_.ppo().VisitState(v);
  for (Share& share : shares_) {
    v.Generator(share.rng);
    share.update.signal().VisitState(v);
  }
  v.Count("a number of evaluations", evaluations_);
  v.Table(core_.table());
}

Seq2SeqConfig::Seq2SeqConfig() {
  network.logit_bound = 5;
  learning.samples = 4;
  learning.reward.transform = "sqrt";
  learning.baseline.method = "leave_one_out";
  learning.normalize_advantages = true;
  learning.entropy_weight = 0.01;
  learning.entropy_control = {.begin = 3, .share = 0.3, .rate = 0.05};
  learning.imitation_weight = 0.3;
  learning.patience = 40;
  learning.start.fresh_share = 0.7;
  learning.start.settle_share = 0.1;
  learning.optimizer.method = "adam";
  learning.optimizer.schedule.learning_rate = 4e-3;
}

void Seq2SeqConfig::Visit(FieldVisitor& v) {
  network.Visit(v);
  learning.Visit(v);
  learning.start.Visit(v);
  learning.VisitEntropyControl(v);
  v.Group("ppo",
          "further steps on one batch; 1 epoch: plain policy gradient",
          [this](FieldVisitor& g) { learning.ppo.Visit(g); });
  v.Field("controllers",
          learning.controllers,
          Between(1, 1000),
          "number N of learners that take turns; the parameters of each are N - 1 updates old");
  v.Group("parts",
          "draws in which the groups of a part of the graph choose alike",
          [this](FieldVisitor& g) { parts.Visit(g); });
  v.Field("policy",
          policy,
          "file of the initial policy; settings that are not given are those of the file; empty: "
          "random weights");
  v.Field("updates",
          updates,
          AtLeast(0),
          "updates before a last greedy placement; none: until the budget ends");
}

}  // namespace emplace
