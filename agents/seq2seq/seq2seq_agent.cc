#include "agents/seq2seq/seq2seq_agent.h"

#include "agents/common/devices.h"
#include "agents/common/state.h"
#include "framework/base/error.h"

namespace emplace {

Seq2SeqConfig::Seq2SeqConfig() {
  network.logit_bound = 5;
  learning.samples = 8;
  learning.reward.transform = "sqrt";
  learning.baseline.method = "leave_one_out";
  learning.normalize_advantages = true;
  learning.entropy_weight = 0.005;
  learning.entropy_updates = 500;
  learning.imitation_weight = 0.3;
  learning.patience = 40;
  learning.optimizer.method = "adam";
  learning.optimizer.schedule.learning_rate = 4e-3;
}

Seq2SeqAgent::Seq2SeqAgent(const AgentContext& context, const Config& config)
    : problem_(context.problem),
      config_(config),
      rng_(context.seed),
      network_(config.network, *problem_, parameters_, rng_),
      learning_(config.learning, problem_, parameters_) {
  num_decisions_ = NumChoices(*problem_);
}

void Seq2SeqAgent::Restart() {
  ParameterSet fresh;
  Seq2SeqNetwork(config_.network, *problem_, fresh, rng_);
  learning_.Restart(fresh);
}

void Seq2SeqAgent::Step(Evaluator& evaluator) {
  if (finished_) return;
  if (num_decisions_ == 0) {
    Placement only;
    for (int group = 0; group < problem_->num_groups(); ++group) {
      only.device.push_back(
          static_cast<DeviceIndex>(FirstDevice(problem_->allowed_devices(group))));
    }
    evaluator.Evaluate(only);
    finished_ = true;
    return;
  }
  if (learning_.Stale()) Restart();
  Tape tape;
  const int samples = learning_.NumSamples(evaluator);
  Seq2SeqNetwork::Rollout rollout;
  try {
    rollout = network_.Sample(tape, samples, rng_, learning_.ToImitate());
  } catch (const RunError&) {
    learning_.ThrowNotFinite(tape);
  }
  PolicyGradient::Sampled sampled;
  sampled.log_probability = SliceRows(tape, rollout.log_probability, 0, samples);
  sampled.entropy = MeanAll(tape, SliceRows(tape, rollout.entropy, 0, samples));
  if (learning_.ToImitate() != nullptr) {
    sampled.best_log_probability = SliceRows(tape, rollout.log_probability, samples, 1);
  }
  sampled.num_decisions = num_decisions_;
  rollout.placements.resize(samples);
  learning_.Update(tape, sampled, rollout.placements, evaluator);
}

void Seq2SeqAgent::Save(std::ostream& out) const {
  StateWriter writer(out, "seq2seq", *problem_);
  writer.Int(finished_);
  writer.Generator(rng_);
  learning_.Save(writer);
}

void Seq2SeqAgent::Load(std::istream& in) {
  StateReader reader(in, "seq2seq", *problem_);
  finished_ = reader.Int("0 or 1") != 0;
  reader.Generator(rng_);
  learning_.Load(reader);
}

}  // namespace emplace
