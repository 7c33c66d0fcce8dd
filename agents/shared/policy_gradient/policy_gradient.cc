#include "agents/shared/policy_gradient/policy_gradient.h"

#include <algorithm>
#include <cmath>

#include "agents/initial_placements/initial_placements.h"
#include "agents/shared/policy_gradient/learner_state.h"
#include "framework/base/error.h"
#include "framework/config/setting_error.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

const PolicyGradientConfig& Validated(const PolicyGradientConfig& config, const Problem& problem) {
  config.Validate();
  ValidateStarts(problem, "start", config.start.names);
  return config;
}

}  // namespace

UpdateFields PolicyGradientRow::Fields(bool ppo) const {
  UpdateFields fields = {{"restarts", restarts},
                         {"evaluations", evaluations},
                         {"loss", loss},
                         {"entropy", entropy},
                         {"gradient_norm", gradient_norm},
                         {"learning_rate", learning_rate},
                         {"baseline", baseline},
                         {"mean_cost", mean_cost},
                         {"best_step_time_ns", best_step_time_ns},
                         {"feasible", feasible}};
  if (ppo) fields.insert(fields.end(), {{"kl", kl}, {"kl_weight", kl_weight}});
  return fields;
}

PolicyGradient::PolicyGradient(const PolicyGradientConfig& config,
                               std::shared_ptr<const Problem> problem,
                               ParameterSet& parameters)
    : config_(Validated(config, *problem)),
      problem_(problem),
      untrained_(config.start.names.front() == "none"),
      parameters_(parameters),
      part_(config, std::move(problem)),
      core_(config.optimizer,
            config.ppo,
            parameters,
            PolicyGradientRow().Fields(config.ppo.epochs > 1)),
      entropy_control_(config.entropy_control),
      controllers_(config.controllers, parameters) {
  if (config.controllers > 1 && config.ppo.epochs > 1) {
    throw SettingError("controllers",
                       "expected 1 with several ppo.epochs, which update one controller");
  }
}

void PolicyGradient::ThrowNotFinite(const Tape& tape) const {
  emplace::ThrowNotFinite(table().num_rows(), tape);
}

void PolicyGradient::Begin(Evaluator& evaluator, Rng& rng, const Interrupt& interrupt) {
  const auto start = BestStart(*problem_, config_.start.names, evaluator, rng, interrupt);
  if (!start) return;
  start_.Offer(start->placement, start->score);
  best_ = start_;
  part_.signal().Reset(start_);
  evaluations_ += start->evaluations;
}

void PolicyGradient::Pretrain(Tape& tape,
                              int steps,
                              const std::function<std::optional<Var>(Tape&)>& loss) {
  for (int step = 0; step < steps; ++step) {
    const std::optional<Var> of_step = loss(tape);
    if (!of_step) break;
    core_.Descend(tape, *of_step, table().num_rows());
  }
  tape.Clear();
  core_.Restart();
  controllers_.Reset();
}

void PolicyGradient::PullToStart(Tape& tape, const std::function<PolicySample(Tape&)>& score) {
  const double probability = settled_ ? std::max(config_.start.probability, kSettledProbability)
                                      : config_.start.probability;
  Pretrain(tape, config_.start.steps, [&](Tape& cleared) -> std::optional<Var> {
    const PolicySample sample = score(cleared);
    const auto share = 1 / static_cast<float>(std::max(sample.num_decisions, 1));
    const Var mean = Scale(cleared, sample.log_probability, share);
    if (std::exp(cleared.value(mean)(0, 0)) >= probability) return std::nullopt;
    return Scale(cleared, mean, -1);
  });
}

bool PolicyGradient::MustSettle(std::int64_t remaining) const {
  const auto made = static_cast<double>(evaluations_), left = static_cast<double>(remaining);
  return !settled_ && remaining > 0 && left <= config_.start.settle_share * (made + left) &&
         std::isfinite(best_.step_time());
}

void PolicyGradient::Settle() {
  settled_ = true;
  start_ = best_;
  part_.signal().Reset(start_);
}

int PolicyGradient::BeginUpdate(const Evaluator& evaluator) {
  if (updates() == 0) entropy_control_.Begin(evaluator.remaining() / config_.samples);
  return part_.signal().NumSamples(evaluator);
}

void PolicyGradient::Update(Tape& tape,
                            const Sampled& sampled,
                            std::span<const Placement> placements,
                            Evaluator& evaluator,
                            const Rescore& rescore) {
  Update(tape, sampled, placements, evaluator.Scores(placements), rescore);
}

void PolicyGradient::Update(Tape& tape,
                            const Sampled& sampled,
                            std::span<const Placement> placements,
                            std::span<const Score> scores,
                            const Rescore& rescore) {
  const bool ppo = config_.ppo.epochs > 1;
  EMPLACE_CHECK(!ppo || rescore);
  const std::int64_t row = table().num_rows(), update = updates();
  part_.set_entropy_factor(settled_ ? 0 : entropy_control_.factor());
  const Var loss = part_.FirstLoss(tape, sampled, placements, scores, update);
  const Optimizer::StepInfo info = core_.Descend(tape, loss, row, &controllers_);
  for (int epoch = 1; epoch < config_.ppo.epochs; ++epoch) {
    core_.Descend(tape, part_.NextLoss(tape, rescore(tape), core_.ppo(), update), row);
  }
  entropy_control_.Observe(part_.entropy(), update);
  evaluations_ += static_cast<std::int64_t>(scores.size());
  best_.Offer(part_.signal().best());
  const PolicyGradientRow numbers = {
      .restarts = static_cast<double>(restarts_),
      .evaluations = static_cast<double>(evaluations_),
      .loss = part_.loss(),
      .entropy = part_.entropy(),
      .gradient_norm = info.gradient_norm,
      .learning_rate = info.learning_rate,
      .baseline = part_.signal().baseline(),
      .mean_cost = part_.batch().mean_cost,
      .best_step_time_ns = part_.signal().best_step_time(),
      .feasible = part_.batch().feasible,
      .kl = part_.kl(),
      .kl_weight = core_.ppo().kl_weight(),
  };
  AddRow(core_.table(), numbers.Fields(ppo));
  if (ppo) core_.ppo().Observe(part_.kl());
}

void PolicyGradient::TakeOver(const ParameterSet& parameters) {
  CopyValues(parameters, parameters_);
  controllers_.Reset();
}

void PolicyGradient::Restart(const ParameterSet& fresh, std::int64_t remaining) {
  TakeOver(fresh);
  core_.Restart();
  const auto made = static_cast<double>(evaluations_), left = static_cast<double>(remaining);
  if (made > config_.start.fresh_share * (made + left)) start_ = best_;
  part_.signal().Reset(start_);
  ++restarts_;
}

void PolicyGradient::VisitState(StateVisitor& v) {
  core_.VisitState(v);
  core_.ppo().VisitState(v);
  part_.signal().VisitState(v);
  start_.VisitState(v, *problem_);
  best_.VisitState(v, *problem_);
  entropy_control_.VisitState(v);
  controllers_.VisitState(v);
  v.Count("a number of evaluations", evaluations_);
  v.Count("a number of restarts", restarts_);
  v.Flag(settled_);
  v.Table(core_.table());
}

}  // namespace emplace
