#include "agents/placeto/placeto_learner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "agents/policy_gradient/baseline.h"
#include "agents/policy_gradient/learner_state.h"
#include "agents/policy_gradient/not_finite.h"
#include "agents/starts/starts.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/config/setting_error.h"
#include "framework/learn/categorical.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

constexpr int kBatchRows = 1024;  // groups times states: what stays in the caches

ParameterSet MakeParameters(const PlacetoNetworkConfig& config, const Problem& problem, Rng& rng) {
  ParameterSet parameters;
  PlacetoNetwork(config, problem.num_devices(), parameters, rng);
  return parameters;
}

}  // namespace

UpdateFields PlacetoRow::Fields() const {
  return {{"restarts", restarts},
          {"update", update},
          {"greedy", greedy},
          {"evaluations", evaluations},
          {"loss", loss},
          {"entropy", entropy},
          {"entropy_weight", entropy_weight},
          {"gradient_norm", gradient_norm},
          {"learning_rate", learning_rate},
          {"gain", gain},
          {"start_step_time_ns", start_step_time_ns},
          {"last_step_time_ns", last_step_time_ns},
          {"best_step_time_ns", best_step_time_ns},
          {"feasible", feasible}};
}

PlacetoLearner::Task::Task(std::shared_ptr<const Problem> placed,
                           const PlacetoConfig& config,
                           Rng& rng)
    : problem(std::move(placed), config.episode, config.network, rng),
      network(config.network, problem.problem().num_devices(), parameters, rng) {
  const bool named = config.start != "redraw" && config.start != "best";
  const std::string start = named ? config.start : "random";
  ValidateStarts(problem.problem(), "start", {start});
  fixed_start = MakeStarts(problem.problem(), {start}, rng).front();
}

PlacetoLearner::PlacetoLearner(const PlacetoConfig& config,
                               std::vector<std::shared_ptr<const Problem>> problems,
                               std::uint64_t seed,
                               int threads,
                               const Interrupt& interrupt)
    : config_(config),
      problems_(std::move(problems)),
      threads_(threads),
      interrupt_(interrupt),
      rng_(seed),
      parameters_(MakeParameters(config.network, *problems_.front(), rng_)),
      core_(config.optimizer, config.ppo, parameters_, PlacetoRow().Fields()),
      patience_(config.patience) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  RequireRange("baseline_episodes", config.baseline_episodes, 0, 1e6);
  RequireRange("entropy_weight", config.entropy_weight, 0, kInfinity);
  RequireRange("entropy_final", config.entropy_final, 0, kInfinity);
  RequireRange("entropy_updates", config.entropy_updates, 0, kInfinity);
  RequireRange("imitation_weight", config.imitation_weight, 0, kInfinity);
  RequireRange("patience", config.patience, 0, kInfinity);
  RequireRange("greedy_every", config.greedy_every, 0, kInfinity);
  RequireRange("updates", config.updates, -1, kInfinity);
  const int devices = problems_.front()->num_devices();
  for (const auto& problem : problems_) {
    if (config.network.features.one_hot() && problem->num_devices() != devices) {
      throw InputError(fmt::format(
          "placeto: graph \"{}\" has {} devices to choose from, graph \"{}\" has {}: one policy "
          "needs the same number, unless features.devices is \"scored\"",
          problem->graph().name(),
          problem->num_devices(),
          problems_.front()->graph().name(),
          devices));
    }
    tasks_.push_back(std::make_unique<Task>(problem, config_, rng_));
  }
  LoadPolicyFile();
  for (const auto& task : tasks_) core_.AddCopy(task->parameters);
}

void PlacetoLearner::Restart() {
  CopyValues(MakeParameters(config_.network, *problems_.front(), rng_), parameters_);
  LoadPolicyFile();
  core_.Restart();
  for (const auto& task : tasks_) {
    task->gains.clear();
    if (improved_ || config_.start != "best") continue;
    task->best.Reset();
    task->fixed_start = MakeStarts(task->problem.problem(), {"random"}, rng_).front();
  }
  improved_ = false;
  patience_.Reset();
  ++restarts_;
}

bool PlacetoLearner::has_choices() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [](const auto& task) {
    return !task->problem.order().empty();
  });
}

Placement PlacetoLearner::Start(Task& task, Rng& rng) const {
  if (config_.start == "redraw") return MakeStarts(task.problem.problem(), {"random"}, rng).front();
  if (config_.start == "best" && task.best.placement() != nullptr) return *task.best.placement();
  return task.fixed_start;
}

PlacetoLearner::Sampled PlacetoLearner::Sample(Task& task, Evaluator& evaluator, Rng* rng) {
  const int steps = static_cast<int>(task.problem.order().size());
  Sampled sampled;
  sampled.log_probabilities.resize(steps, task.problem.problem().num_devices());
  Rng start_rng;
  const Placement start = Start(task, rng != nullptr ? *rng : start_rng);
  const auto choose = [&](const PlacetoState& state) {
    Tape tape(interrupt_, false);
    const PlacetoState* states[] = {&state};
    const PlacetoBatch batch = task.problem.features().Batch(states);
    const Var choices = task.network.LogProbabilities(tape, task.problem.graph(), batch);
    const Matrix& log_probabilities = tape.value(choices);
    sampled.log_probabilities.row(std::ssize(sampled.devices)) = log_probabilities;
    try {
      sampled.devices.push_back(rng != nullptr ? SampleRows(log_probabilities, *rng)[0]
                                               : ArgmaxRows(log_probabilities)[0]);
    } catch (const RunError&) {
      ThrowNotFinite(updates_, tape);
    }
    return sampled.devices.back();
  };
  sampled.episode = RunEpisode(task.problem, start, choose, evaluator);
  return sampled;
}

void PlacetoLearner::Weigh(Task& task, Sampled& sampled) const {
  const auto steps = std::ssize(sampled.devices);
  std::vector<double> gains(steps), advantages(steps);
  sampled.advantages.resize(steps, 1);
  double largest = 0;
  for (std::ptrdiff_t t = 0; t < steps; ++t) {
    gains[t] = sampled.episode.steps[t].gain;
    double baseline = 0;
    for (const std::vector<double>& earlier : task.gains) baseline += earlier[t];
    if (!task.gains.empty()) baseline /= static_cast<double>(task.gains.size());
    advantages[t] = gains[t] - baseline;
    sampled.advantages(t, 0) = static_cast<float>(-advantages[t]);
    largest = std::max({largest, std::abs(gains[t]), std::abs(baseline)});
  }
  if (config_.normalize_advantages && steps > 0) {
    sampled.advantages *= static_cast<float>(NormalizingFactor(advantages, largest));
  }
  task.gains.push_back(std::move(gains));
  if (std::ssize(task.gains) > config_.baseline_episodes) task.gains.erase(task.gains.begin());
}

double PlacetoLearner::EntropyWeight() const {
  if (config_.entropy_updates == 0) return config_.entropy_weight;
  const double passed = std::min(
      1.0, static_cast<double>(core_.updates()) / static_cast<double>(config_.entropy_updates));
  return config_.entropy_weight + passed * (config_.entropy_final - config_.entropy_weight);
}

PlacetoLearner::Learned PlacetoLearner::Differentiate(Task& task, const Sampled& sampled) const {
  const int steps = static_cast<int>(sampled.devices.size());
  const int batch_states = std::max(1, kBatchRows / task.problem.graph().num_groups());
  Learned learned;
  Tape tape(interrupt_);
  for (int begin = 0; begin < steps; begin += batch_states) {
    const int count = std::min(batch_states, steps - begin);
    std::vector<const PlacetoState*> states;
    std::vector<int> devices, best;
    for (int t = begin; t < begin + count; ++t) {
      states.push_back(&sampled.episode.steps[t].state);
      devices.push_back(sampled.devices[t]);
      best.push_back(task.best.placement()->device[states.back()->current]);
    }
    const PlacetoBatch batch = task.problem.features().Batch(states);
    const Var choices = task.network.LogProbabilities(tape, task.problem.graph(), batch);
    const Matrix old = sampled.log_probabilities.middleRows(begin, count);
    Matrix old_picked(count, 1);
    for (int t = 0; t < count; ++t) old_picked(t, 0) = old(t, devices[t]);

    Var kl = tape.Constant(Matrix::Zero(1, 1));
    if (core_.ppo().needs_kl()) kl = KlDivergence(tape, old, choices);
    const Var picked = Pick(tape, choices, devices);
    const Matrix advantages = sampled.advantages.middleRows(begin, count);
    Var loss = core_.ppo().Loss(tape, picked, old_picked, advantages, kl);
    const Var entropy = MeanAll(tape, Entropy(tape, choices));
    loss = Subtract(tape, loss, Scale(tape, entropy, static_cast<float>(EntropyWeight())));
    if (config_.imitation_weight > 0) {
      const Var imitated = MeanAll(tape, Pick(tape, choices, best));
      loss =
          Subtract(tape, loss, Scale(tape, imitated, static_cast<float>(config_.imitation_weight)));
    }
    const float share = static_cast<float>(count) / static_cast<float>(steps);
    const Var part = Scale(tape, loss, share / static_cast<float>(tasks_.size()));
    if (!std::isfinite(tape.value(part)(0, 0))) ThrowNotFinite(updates_, tape);
    learned.loss += tape.value(part)(0, 0);
    learned.entropy += share * tape.value(entropy)(0, 0) / static_cast<double>(tasks_.size());
    learned.kl += share * tape.value(kl)(0, 0) / static_cast<double>(tasks_.size());
    tape.Backward(part);
    tape.Clear();
  }
  return learned;
}

void PlacetoLearner::Update(std::span<Evaluator* const> evaluators) {
  EMPLACE_CHECK(evaluators.size() == tasks_.size());
  if (patience_.Exhausted()) Restart();
  const int count = static_cast<int>(tasks_.size());
  std::vector<std::uint64_t> seeds;
  for (int i = 0; i < count; ++i) seeds.push_back(rng_());
  std::vector<Sampled> sampled(count);
  ParallelFor(count, threads_, [&](int i) {
    Rng rng(seeds[i]);
    sampled[i] = Sample(*tasks_[i], *evaluators[i], &rng);
  });
  bool better = false;
  for (int i = 0; i < count; ++i) {
    const Episode& episode = sampled[i].episode;
    evaluations_ += episode.evaluations;
    if (tasks_[i]->best.Offer(episode.best, episode.best_outcome)) better = true;
    Weigh(*tasks_[i], sampled[i]);
  }
  patience_.Count(better);
  if (better) improved_ = true;
  PlacetoRow row = {.loss = 0, .entropy = 0, .entropy_weight = EntropyWeight()};
  for (int epoch = 0; epoch < core_.ppo().epochs(); ++epoch) {
    std::vector<Learned> parts(count);
    const Optimizer::StepInfo info = core_.DescendTogether(
        threads_, updates_, 1, [&](int i) { parts[i] = Differentiate(*tasks_[i], sampled[i]); });
    double kl = 0;
    for (const Learned& part : parts) {
      if (epoch == 0) row.loss += part.loss;
      if (epoch == 0) row.entropy += part.entropy;
      kl += part.kl;
    }
    if (epoch == core_.ppo().epochs() - 1) core_.ppo().Observe(kl);
    row.gradient_norm = info.gradient_norm;
    row.learning_rate = info.learning_rate;
  }
  Record(row, sampled);
  ++updates_;
}

void PlacetoLearner::GreedyEpisode(Evaluator& evaluator) {
  Task& task = *tasks_.front();
  const Sampled sampled = Sample(task, evaluator, nullptr);
  evaluations_ += sampled.episode.evaluations;
  task.best.Offer(sampled.episode.best, sampled.episode.best_outcome);
  Record({.greedy = 1}, {&sampled, 1});
}

void PlacetoLearner::Record(PlacetoRow row, std::span<const Sampled> sampled) {
  row.restarts = restarts_;
  row.update = static_cast<double>(updates_);
  row.evaluations = static_cast<double>(evaluations_);
  const auto count = static_cast<double>(sampled.size());
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    const Episode& episode = sampled[i].episode;
    row.gain += episode.steps.empty() ? 0 : episode.steps[0].gain / count;
    row.start_step_time_ns += StepTimeOrNan(episode.first_outcome) / count;
    row.last_step_time_ns += StepTimeOrNan(episode.last_outcome) / count;
    row.best_step_time_ns += tasks_[i]->best.step_time() / count;
    row.feasible += episode.last_outcome.feasible / count;
  }
  AddRow(core_.table(), row.Fields());
}

}  // namespace emplace
