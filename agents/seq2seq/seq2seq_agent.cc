#include "agents/seq2seq/seq2seq_agent.h"

#include "agents/shared/devices.h"
#include "agents/shared/policy_gradient/learner_state.h"
#include "framework/base/error.h"
#include "framework/search/state.h"

namespace emplace {
namespace {

std::optional<Seq2SeqPolicy> PolicyOf(const Seq2SeqConfig& config, const Problem& problem) {
  if (config.policy.empty()) return std::nullopt;
  return ReadSeq2SeqPolicy(config.policy, config.network, problem);
}

}  // namespace

Seq2SeqAgent::Seq2SeqAgent(const AgentContext& context, const Config& config)
    : problem_(context.problem),
      interrupt_(context.end_step),
      config_(config),
      rng_(context.seed),
      policy_(PolicyOf(config, *problem_)),
      vocabulary_(policy_ ? policy_->vocabulary : MakeSeq2SeqVocabulary({&problem_, 1})),
      network_(config.network, vocabulary_, parameters_, rng_),
      inputs_(*problem_, vocabulary_, config.network.features),
      parts_(config.parts, *problem_, problem_->num_groups()),
      learning_(config.learning, problem_, parameters_) {
  if (policy_) learning_.TakeOver(policy_->parameters);
}

void Seq2SeqAgent::Restart(std::int64_t remaining) {
  if (policy_) {
    learning_.Restart(policy_->parameters, remaining);
  } else {
    ParameterSet fresh;
    Seq2SeqNetwork(config_.network, vocabulary_, fresh, rng_);
    learning_.Restart(fresh, remaining);
  }
  if (learning_.start() != nullptr) PullToStart();
}

void Seq2SeqAgent::PullToStart() {
  Tape tape(interrupt_);
  learning_.PullToStart(tape, [&](Tape& fresh) {
    const auto scored = network_.Score(fresh, inputs_, {learning_.start(), 1});
    return MakePolicySample(fresh, inputs_, scored, 1, false);
  });
}

void Seq2SeqAgent::EvaluateGreedy(Evaluator& evaluator) {
  learning_.TakeShared();
  Tape tape(interrupt_);
  Placement placement;
  try {
    placement = network_.Greedy(tape, inputs_).placements[0];
  } catch (const RunError&) {
    learning_.ThrowNotFinite(tape);
  }
  evaluator.Evaluate(placement);
  finished_ = true;
}

void Seq2SeqAgent::Update(Evaluator& evaluator) {
  if (learning_.MustSettle(evaluator.remaining())) {
    learning_.Settle();
    PullToStart();
  } else if (learning_.Stale()) {
    Restart(evaluator.remaining());
  }
  Tape tape(interrupt_);
  const int samples = learning_.BeginUpdate(evaluator);
  if (learning_.updates() == 0) {
    const bool untrained = !policy_ && learning_.start() == nullptr;
    parts_.Restart(evaluator.remaining() / config_.learning.samples, untrained);
  }
  parts_.Begin(learning_.updates(), samples + 1, rng_);
  const bool again = config_.learning.ppo.epochs > 1;
  Seq2SeqNetwork::Rollout rollout;
  try {
    rollout = network_.Sample(tape, inputs_, samples, rng_, learning_.ToImitate(), &parts_);
  } catch (const RunError&) {
    learning_.ThrowNotFinite(tape);
  }
  const auto rescore = [&](Tape& fresh) {
    const auto scored = network_.Score(fresh, inputs_, rollout.placements);
    return MakePolicySample(fresh, inputs_, scored, samples, true);
  };
  const PolicySample sample = MakePolicySample(tape, inputs_, rollout, samples, again);
  const auto evaluated = std::span(rollout.placements).first(samples);
  learning_.Update(tape, sample, evaluated, evaluator, rescore);
  parts_.End(learning_.feasible());
}

void Seq2SeqAgent::Step(Evaluator& evaluator) {
  if (finished_) return;
  const bool no_choice = NumChoices(*problem_) == 0;
  const bool last = config_.updates && learning_.table().num_rows() >= *config_.updates;
  if (!no_choice && learning_.MustBegin()) {
    learning_.Begin(evaluator, rng_, interrupt_);
    PullToStart();
  } else if (no_choice || last) {
    EvaluateGreedy(evaluator);
  } else {
    Update(evaluator);
  }
}

void Seq2SeqAgent::SavePolicy(std::ostream& out) {
  WriteSeq2SeqPolicy(out, config_.network, vocabulary_, parameters_);
}

void Seq2SeqAgent::VisitState(StateVisitor& v) {
  v.Begin("seq2seq", *problem_);
  v.Flag(finished_);
  v.Generator(rng_);
  parts_.VisitState(v);
  learning_.VisitState(v);
}

}  // namespace emplace
