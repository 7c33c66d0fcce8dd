#include "agents/placeto/placeto_learner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "agents/common/starts.h"
#include "agents/policy_gradient/learner_state.h"
#include "agents/policy_gradient/not_finite.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/config/setting_error.h"
#include "framework/learn/categorical.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kBatchRows = 1024;  // groups times states: what stays in the caches
const std::vector<std::string> kColumns = {"restarts",
                                           "update",
                                           "greedy",
                                           "evaluations",
                                           "loss",
                                           "entropy",
                                           "entropy_weight",
                                           "gradient_norm",
                                           "learning_rate",
                                           "gain",
                                           "start_step_time_ns",
                                           "last_step_time_ns",
                                           "best_step_time_ns",
                                           "feasible"};

ParameterSet MakeParameters(const PlacetoNetworkConfig& config, const Problem& problem, Rng& rng) {
  ParameterSet parameters;
  PlacetoNetwork(config, problem.num_devices(), parameters, rng);
  return parameters;
}

double TimeOf(const Outcome& outcome) {
  return outcome.feasible ? static_cast<double>(outcome.step_time) : kNan;
}

}  // namespace

PlacetoLearner::Task::Task(std::shared_ptr<const Problem> placed,
                           const PlacetoConfig& config,
                           Rng& rng)
    : problem(std::move(placed), config.episode, config.network, rng),
      network(config.network, problem.problem().num_devices(), parameters, rng) {
  const bool named = config.start != "redraw" && config.start != "best";
  const std::string start = named ? config.start : "random";
  ValidateStarts(problem.problem(), "start", {start});
  fixed_start = MakeStart(problem.problem(), start, rng);
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
      ppo_(config.ppo, "ppo"),
      optimizer_(config.optimizer, parameters_, "optimizer"),
      table_{kColumns, {}} {
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
  CopyParameters();
}

void PlacetoLearner::Restart() {
  CopyValues(MakeParameters(config_.network, *problems_.front(), rng_), parameters_);
  LoadPolicyFile();
  CopyParameters();
  optimizer_.Reset();
  ppo_ = Ppo(config_.ppo, "ppo");
  for (const auto& task : tasks_) {
    task->gains.clear();
    if (improved_ || config_.start != "best") continue;
    task->best.reset();
    task->fixed_start = MakeStart(task->problem.problem(), "random", rng_);
  }
  improved_ = false;
  stale_updates_ = 0;
  ++restarts_;
}

bool PlacetoLearner::has_choices() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [](const auto& task) {
    return !task->problem.order().empty();
  });
}

void PlacetoLearner::CopyParameters() {
  for (const auto& task : tasks_) CopyValues(parameters_, task->parameters);
}

Placement PlacetoLearner::Start(Task& task, Rng& rng) const {
  if (config_.start == "redraw") return MakeStart(task.problem.problem(), "random", rng);
  if (config_.start == "best" && task.best) return *task.best;
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

bool PlacetoLearner::Remember(Task& task, const Episode& episode) {
  evaluations_ += episode.evaluations;
  if (task.best && !Better(episode.best_outcome, task.best_outcome)) return false;
  task.best = episode.best;
  task.best_outcome = episode.best_outcome;
  task.best_outcome.start.clear();
  task.best_outcome.finish.clear();
  return true;
}

void PlacetoLearner::Weigh(Task& task, Sampled& sampled) const {
  const auto steps = std::ssize(sampled.devices);
  std::vector<double> gains(steps);
  sampled.advantages.resize(steps, 1);
  double squares = 0, largest = 0;
  for (std::ptrdiff_t t = 0; t < steps; ++t) {
    gains[t] = sampled.episode.steps[t].gain;
    double baseline = 0;
    for (const std::vector<double>& earlier : task.gains) baseline += earlier[t];
    if (!task.gains.empty()) baseline /= static_cast<double>(task.gains.size());
    const double advantage = gains[t] - baseline;
    sampled.advantages(t, 0) = static_cast<float>(-advantage);
    squares += advantage * advantage;
    largest = std::max({largest, std::abs(gains[t]), std::abs(baseline)});
  }
  if (config_.normalize_advantages && steps > 0) {
    const double rms = std::sqrt(squares / static_cast<double>(steps));
    sampled.advantages *= rms > 1e-12 * largest ? static_cast<float>(1 / rms) : 0.0F;
  }
  task.gains.push_back(std::move(gains));
  if (std::ssize(task.gains) > config_.baseline_episodes) task.gains.erase(task.gains.begin());
}

double PlacetoLearner::EntropyWeight() const {
  if (config_.entropy_updates == 0) return config_.entropy_weight;
  const std::int64_t update = optimizer_.updates() / ppo_.epochs();
  const double passed =
      std::min(1.0, static_cast<double>(update) / static_cast<double>(config_.entropy_updates));
  return config_.entropy_weight + passed * (config_.entropy_final - config_.entropy_weight);
}

PlacetoLearner::Learned PlacetoLearner::Differentiate(Task& task, const Sampled& sampled) const {
  const int steps = static_cast<int>(sampled.devices.size());
  const int batch_states = std::max(1, kBatchRows / task.problem.graph().num_groups());
  Learned learned;
  task.parameters.ClearGradients();
  Tape tape(interrupt_);
  for (int begin = 0; begin < steps; begin += batch_states) {
    const int count = std::min(batch_states, steps - begin);
    std::vector<const PlacetoState*> states;
    std::vector<int> devices, best;
    for (int t = begin; t < begin + count; ++t) {
      states.push_back(&sampled.episode.steps[t].state);
      devices.push_back(sampled.devices[t]);
      best.push_back(task.best->device[states.back()->current]);
    }
    const PlacetoBatch batch = task.problem.features().Batch(states);
    const Var choices = task.network.LogProbabilities(tape, task.problem.graph(), batch);
    const Matrix old = sampled.log_probabilities.middleRows(begin, count);
    Matrix old_picked(count, 1);
    for (int t = 0; t < count; ++t) old_picked(t, 0) = old(t, devices[t]);

    Var kl = tape.Constant(Matrix::Zero(1, 1));
    if (ppo_.needs_kl()) kl = KlDivergence(tape, old, choices);
    const Var picked = Pick(tape, choices, devices);
    const Matrix advantages = sampled.advantages.middleRows(begin, count);
    Var loss = ppo_.Loss(tape, picked, old_picked, advantages, kl);
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
  if (config_.patience > 0 && stale_updates_ >= config_.patience) Restart();
  const int count = static_cast<int>(tasks_.size());
  std::vector<std::uint64_t> seeds;
  for (int i = 0; i < count; ++i) seeds.push_back(rng_());
  std::vector<Sampled> sampled(count);
  ParallelFor(count, threads_, [&](int i) {
    Rng rng(seeds[i]);
    sampled[i] = Sample(*tasks_[i], *evaluators[i], &rng);
  });
  ++stale_updates_;
  for (int i = 0; i < count; ++i) {
    if (Remember(*tasks_[i], sampled[i].episode)) {
      stale_updates_ = 0;
      improved_ = true;
    }
    Weigh(*tasks_[i], sampled[i]);
  }
  Learned first;
  Optimizer::StepInfo info;
  for (int epoch = 0; epoch < ppo_.epochs(); ++epoch) {
    std::vector<Learned> parts(count);
    ParallelFor(count, threads_, [&](int i) { parts[i] = Differentiate(*tasks_[i], sampled[i]); });
    Learned sum{.entropy_weight = EntropyWeight()};
    for (int i = 0; i < count; ++i) {
      sum.loss += parts[i].loss;
      sum.entropy += parts[i].entropy;
      sum.kl += parts[i].kl;
      for (std::size_t p = 0; p < parameters_.all().size(); ++p) {
        parameters_.all()[p].gradient += tasks_[i]->parameters.all()[p].gradient;
      }
    }
    if (epoch == 0) first = sum;
    if (epoch == ppo_.epochs() - 1) ppo_.Observe(sum.kl);
    info = optimizer_.Step();
    if (!std::isfinite(info.gradient_norm)) {
      throw RunError(fmt::format("update {}: not finite: the sum of the gradients", updates_));
    }
    CopyParameters();
  }
  Record(false, sampled, first, info);
  ++updates_;
}

void PlacetoLearner::GreedyEpisode(Evaluator& evaluator) {
  const Sampled sampled = Sample(*tasks_.front(), evaluator, nullptr);
  Remember(*tasks_.front(), sampled.episode);
  Record(true, {&sampled, 1}, {kNan, kNan, kNan, kNan}, {kNan, kNan});
}

void PlacetoLearner::Record(bool greedy,
                            std::span<const Sampled> sampled,
                            const Learned& learned,
                            const Optimizer::StepInfo& info) {
  double gain = 0, first = 0, last = 0, best = 0, feasible = 0;
  const auto count = static_cast<double>(sampled.size());
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    const Episode& episode = sampled[i].episode;
    gain += episode.steps.empty() ? 0 : episode.steps[0].gain / count;
    first += TimeOf(episode.first_outcome) / count;
    last += TimeOf(episode.last_outcome) / count;
    best += TimeOf(tasks_[i]->best_outcome) / count;
    feasible += episode.last_outcome.feasible / count;
  }
  for (double value : {static_cast<double>(restarts_),
                       static_cast<double>(updates_),
                       static_cast<double>(greedy),
                       static_cast<double>(evaluations_),
                       learned.loss,
                       learned.entropy,
                       learned.entropy_weight,
                       info.gradient_norm,
                       info.learning_rate,
                       gain,
                       first,
                       last,
                       best,
                       feasible}) {
    table_.values.push_back(value);
  }
}

}  // namespace emplace
