#include "agents/placeto/placeto_learner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "agents/initial_placements/initial_placements.h"
#include "agents/placeto/all_actions.h"
#include "agents/shared/policy_gradient/baseline.h"
#include "agents/shared/policy_gradient/learner_state.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/config/setting_error.h"
#include "framework/learn/categorical.h"
#include "framework/learn/ops.h"
#include "framework/search/outcome_table.h"

namespace emplace {
namespace {

constexpr int kBatchRows = 1024;  // groups times states of a batch that fits the caches

ParameterSet MakeParameters(const PlacetoNetworkConfig& config, const Problem& problem, Rng& rng) {
  ParameterSet parameters;
  PlacetoNetwork(config, problem.num_devices(), parameters, rng);
  return parameters;
}

// Ratio between the numbers of parts of a level and the one before.
constexpr int kFiner = 4;

// Fewest moves of an episode that `move_share` asks for.
constexpr double kFewestMoves = 2;

// Step and bound of the adaptation of `stay`.
constexpr double kAdaption = 0.5, kMostStay = 30;

/// Returns true for a single random placement.
bool IsRandom(const std::vector<std::string>& starts) {
  return starts.size() == 1 && (starts.front() == "none" || starts.front() == "random");
}

bool AnnealsOverSearch(const ScheduleConfig& schedule) {
  return schedule.anneal_to && schedule.anneal_updates == 0;
}

/// Returns the configuration with the schedule that the optimizer itself follows.
OptimizerConfig OwnSchedule(OptimizerConfig config) {
  if (AnnealsOverSearch(config.schedule)) {
    config.schedule = {.learning_rate = config.schedule.learning_rate};
  }
  return config;
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
          {"stay", stay},
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
    : patience(config.part_patience),
      network(config.network, placed->num_devices(), parameters, rng) {
  ValidateStarts(*placed, "start", config.start);
  for (const std::string& name : config.restart) ValidateStarts(*placed, "restart", {name});
  const auto add = [&](int num_parts) {
    levels.push_back(
        std::make_unique<EpisodeProblem>(placed, config.episode, config.network, rng, num_parts));
  };
  if (config.parts > 0 && config.episode.begin == "best") {
    for (int parts = config.parts; 2 * parts <= placed->num_groups(); parts *= kFiner) add(parts);
  }
  add(0);
}

PlacetoLearner::PlacetoLearner(const PlacetoConfig& config,
                               std::vector<std::shared_ptr<const Problem>> problems,
                               std::uint64_t seed,
                               int threads,
                               std::int64_t planned_updates,
                               const Interrupt& interrupt)
    : config_(config),
      problems_(std::move(problems)),
      threads_(threads),
      planned_updates_(planned_updates),
      interrupt_(interrupt),
      rng_(seed),
      parameters_(MakeParameters(config.network, *problems_.front(), rng_)),
      stay_(config.network.stay),
      core_(OwnSchedule(config.optimizer), config.ppo, parameters_, PlacetoRow().Fields()),
      patience_(config.patience) {
  RequireChoice("advantage", config.advantage, {"difference", "standardized"});
  if (config.episode.begin == "redraw" && !IsRandom(config.start)) {
    throw SettingError(
        "episode.begin",
        "redraw needs start: [none] or [random]; other starts are the same each time");
  }
  if (config.restart.empty()) throw SettingError("restart", "expected at least one, got none");
  const int devices = problems_.front()->num_devices();
  for (const auto& problem : problems_) {
    if (config.network.features.one_hot() && problem->num_devices() != devices) {
      throw InputError(
          fmt::format("placeto: graph \"{}\" has {} devices to choose from, graph \"{}\" has {}; "
                      "one policy needs the same number, unless features.devices is \"scored\"",
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
    if (improved_ || config_.episode.begin != "best") continue;
    Forget(*task);
  }
  if (!improved_ && config_.episode.begin == "best") ++forgotten_;
  improved_ = false;
  stay_ = config_.network.stay;
  for (const auto& task : tasks_) task->network.set_stay(stay_);
  patience_.Reset();
  ++restarts_;
}

bool PlacetoLearner::has_choices() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [](const auto& task) {
    return !task->problem().order().empty();
  });
}

void PlacetoLearner::Forget(Task& task) const {
  task.best.Reset();
  task.gains.clear();
  task.start.reset();  // FindStart() takes the next one
  task.level = 0;
  task.patience.Reset();
}

void PlacetoLearner::Refine(Task& task) const {
  const Placement best = task.problem().OfGroups(*task.best.placement());
  ++task.level;
  task.start = task.problem().OfParts(best);
  task.best.Reset();
  task.gains.clear();
  task.patience.Reset();
}

void PlacetoLearner::FindStart(Task& task, Evaluator& evaluator) {
  if (task.start) return;
  std::vector<std::string> names = config_.start;
  if (forgotten_ > 0) names = {config_.restart[(forgotten_ - 1) % config_.restart.size()]};
  if (!IsRandom(names)) task.level = static_cast<int>(task.levels.size()) - 1;
  std::vector<Placement> starts = MakeStarts(task.problem().problem(), names, rng_, interrupt_);
  std::size_t best = 0;
  if (starts.size() > 1) {
    best = IndexOfBest(evaluator.Scores(starts));
    evaluations_ += std::ssize(starts);
  }
  task.start = std::move(starts[best]);
}

PlacetoLearner::Sampled PlacetoLearner::Sample(Task& task,
                                               const Placement& first,
                                               Evaluator& evaluator,
                                               Rng* rng) {
  const int steps = static_cast<int>(task.problem().order().size());
  Sampled sampled;
  sampled.log_probabilities.resize(steps, task.problem().problem().num_devices());
  const auto choose = [&](const PlacetoState& state) {
    Tape tape(interrupt_, false);
    const PlacetoState* states[] = {&state};
    const PlacetoBatch batch = task.problem().features().Batch(states);
    const Var choices = task.network.LogProbabilities(tape, task.problem().graph(), batch);
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
  const bool begins_at_best = config_.episode.begin == "best" && task.best.placement() != nullptr;
  sampled.episode = RunEpisode(task.problem(),
                               first,
                               choose,
                               evaluator,
                               begins_at_best ? &task.best_outcome : nullptr,
                               config_.learn && rng != nullptr);
  return sampled;
}

bool PlacetoLearner::Take(Task& task, const Episode& episode) {
  evaluations_ += episode.evaluations;
  const Score score = ScoreOf(episode.best_outcome);
  task.found.Offer(task.problem().OfGroups(episode.best), score);
  if (!task.best.Offer(episode.best, score)) return false;
  task.best_outcome = episode.best_outcome;
  return true;
}

void PlacetoLearner::Weigh(Task& task, std::span<Sampled> episodes) const {
  const auto steps = std::ssize(task.problem().order());
  if (config_.episode.reward == "all_actions") {
    for (Sampled& sampled : episodes) {
      sampled.advantages = -ActionAdvantages(sampled.episode.steps, sampled.log_probabilities);
    }
    return;
  }
  std::vector<std::vector<double>>& window = task.gains;
  for (const Sampled& sampled : episodes) {
    std::vector<double>& gains = window.emplace_back();
    for (const EpisodeStep& step : sampled.episode.steps) gains.push_back(step.gain);
  }
  const auto kept = std::max<std::ptrdiff_t>(config_.baseline_episodes, std::ssize(episodes));
  if (std::ssize(window) > kept) window.erase(window.begin(), window.end() - kept);

  std::vector<double> baseline(steps), factor(steps, 1.0), deviations(window.size());
  for (std::ptrdiff_t t = 0; t < steps && config_.baseline_episodes > 0; ++t) {
    double largest = 0;
    for (const auto& gains : window) {
      baseline[t] += gains[t] / static_cast<double>(window.size());
      largest = std::max(largest, std::abs(gains[t]));
    }
    if (config_.advantage != "standardized") continue;
    for (std::size_t i = 0; i < window.size(); ++i) deviations[i] = window[i][t] - baseline[t];
    factor[t] = NormalizingFactor(deviations, largest);
  }
  for (Sampled& sampled : episodes) {
    std::vector<double> advantages(steps);
    sampled.advantages.resize(steps, 1);
    double largest = 0;
    for (std::ptrdiff_t t = 0; t < steps; ++t) {
      const double gain = sampled.episode.steps[t].gain;
      advantages[t] = factor[t] * (gain - baseline[t]);
      sampled.advantages(t, 0) = static_cast<float>(-advantages[t]);
      largest = std::max({largest, std::abs(factor[t] * gain), std::abs(factor[t] * baseline[t])});
    }
    if (config_.normalize_advantages && steps > 0) {
      sampled.advantages *= static_cast<float>(NormalizingFactor(advantages, largest));
    }
  }
}

double PlacetoLearner::Progress(const Evaluator& evaluator) const {
  if (planned_updates_ > 0) {
    return std::min(1.0, static_cast<double>(updates_) / static_cast<double>(planned_updates_));
  }
  const std::int64_t remaining = evaluator.remaining();
  if (remaining == std::numeric_limits<std::int64_t>::max()) return 0;
  return static_cast<double>(evaluations_) /
         static_cast<double>(std::max<std::int64_t>(1, evaluations_ + remaining));
}

void PlacetoLearner::AdaptStay(std::span<const std::vector<Sampled>> sampled) {
  double made = 0, wanted = 0;
  for (const auto& episodes : sampled) {
    for (const Sampled& each : episodes) {
      const auto& taken = each.episode.steps;
      made += static_cast<double>(std::count_if(taken.begin(), taken.end(), Moves));
      wanted += std::max(config_.move_share * static_cast<double>(taken.size()), kFewestMoves);
    }
  }
  const double excess = std::clamp((made - wanted) / wanted, -1.0, 1.0);
  stay_ = std::clamp(stay_ + kAdaption * excess, -kMostStay, kMostStay);
  for (const auto& task : tasks_) task->network.set_stay(stay_);
}

double PlacetoLearner::EntropyWeight(double progress) const {
  const double fallen = std::min(1.0, progress / config_.entropy_share);
  return config_.entropy_weight + fallen * (config_.entropy_final - config_.entropy_weight);
}

PlacetoLearner::Learned PlacetoLearner::Differentiate(Task& task,
                                                      const Sampled& sampled,
                                                      double entropy_weight) const {
  const int learnt = static_cast<int>(sampled.learnt.size());
  const auto steps = static_cast<float>(sampled.devices.size());
  const int batch_states = std::max(1, kBatchRows / task.problem().graph().num_groups());
  Learned learned;
  Tape tape(interrupt_);
  for (int begin = 0; begin < learnt; begin += batch_states) {
    const int count = std::min(batch_states, learnt - begin);
    std::vector<const PlacetoState*> states;
    std::vector<int> devices, best;
    Matrix weights(count, 1), advantages(count, sampled.advantages.cols()),
        old(count, sampled.log_probabilities.cols());
    for (int i = 0; i < count; ++i) {
      const auto [t, weight] = sampled.learnt[begin + i];
      states.push_back(&sampled.episode.steps[t].state);
      devices.push_back(sampled.devices[t]);
      best.push_back(task.best.placement()->device[states.back()->current]);
      weights(i, 0) = weight;
      advantages.row(i) = sampled.advantages.row(t);
      old.row(i) = sampled.log_probabilities.row(t);
    }
    const PlacetoBatch batch = task.problem().features().Batch(states);
    const Var choices = task.network.LogProbabilities(tape, task.problem().graph(), batch);
    Matrix old_picked(count, 1);
    for (int i = 0; i < count; ++i) old_picked(i, 0) = old(i, devices[i]);

    Var kl = tape.Constant(Matrix::Zero(1, 1));
    if (core_.ppo().needs_kl()) kl = KlDivergence(tape, old, choices, &weights);
    const Var picked = Pick(tape, choices, devices);
    const auto mean = [&](Var rows) {
      return MeanAll(tape, Multiply(tape, rows, tape.ConstantView(weights)));
    };
    Var loss;
    if (config_.episode.reward == "all_actions") {
      const Var costs = Multiply(tape, Exp(tape, choices), tape.ConstantView(advantages));
      loss = mean(SumOverCols(tape, costs));
    } else {
      const Matrix weighted = advantages.cwiseProduct(weights);
      loss = core_.ppo().Loss(tape, picked, old_picked, weighted, kl);
    }
    const Var entropy = mean(Entropy(tape, choices));
    loss = Subtract(tape, loss, Scale(tape, entropy, static_cast<float>(entropy_weight)));
    if (config_.imitation_weight > 0) {
      const Var imitated = mean(Pick(tape, choices, best));
      loss =
          Subtract(tape, loss, Scale(tape, imitated, static_cast<float>(config_.imitation_weight)));
    }
    const float share = static_cast<float>(count) / steps;
    const auto parts = static_cast<float>(std::ssize(tasks_) * config_.episodes);
    const Var part = Scale(tape, loss, share / parts);
    if (!std::isfinite(tape.value(part)(0, 0))) ThrowNotFinite(updates_, tape);
    learned.loss += tape.value(part)(0, 0);
    learned.entropy += share * tape.value(entropy)(0, 0) / parts;
    learned.kl += share * tape.value(kl)(0, 0) / parts;
    tape.Backward(part);
    tape.Clear();
  }
  return learned;
}

void PlacetoLearner::Advance(Task& task) const {
  if (!task.patience.Exhausted()) return;
  if (!task.finest()) {
    Refine(task);
  } else if (config_.patience == 0 && config_.episode.begin == "best") {
    Forget(task);
  }
}

std::vector<PlacetoLearner::Sampled> PlacetoLearner::Draw(Task& task,
                                                          Evaluator& evaluator,
                                                          Rng& rng) {
  std::vector<Sampled> sampled;
  for (int episode = 0; episode < config_.episodes; ++episode) {
    Placement first = *task.start;
    if (config_.episode.begin == "redraw") {
      first = MakeStarts(task.problem().problem(), config_.start, rng, interrupt_).front();
    } else if (config_.episode.begin == "best" && task.best.placement() != nullptr) {
      first = *task.best.placement();
    }
    sampled.push_back(Sample(task, first, evaluator, &rng));
    Sampled& last = sampled.back();
    last.learnt = ChooseLearntSteps(last.episode.steps, config_.stays, rng);
  }
  return sampled;
}

void PlacetoLearner::Learn(std::span<std::vector<Sampled>> sampled, PlacetoRow& row) {
  const int count = static_cast<int>(tasks_.size());
  for (int i = 0; i < count; ++i) Weigh(*tasks_[i], sampled[i]);
  row.loss = row.entropy = 0;
  for (int epoch = 0; epoch < core_.ppo().epochs(); ++epoch) {
    std::vector<Learned> parts(count);
    const Optimizer::StepInfo info = core_.DescendTogether(threads_, updates_, 1, [&](int i) {
      for (const Sampled& each : sampled[i]) {
        const Learned learned = Differentiate(*tasks_[i], each, row.entropy_weight);
        parts[i].loss += learned.loss;
        parts[i].entropy += learned.entropy;
        parts[i].kl += learned.kl;
      }
    });
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
}

void PlacetoLearner::Update(std::span<Evaluator* const> evaluators) {
  EMPLACE_CHECK(evaluators.size() == tasks_.size());
  if (patience_.Exhausted()) Restart();
  const int count = static_cast<int>(tasks_.size());
  std::vector<std::uint64_t> seeds;
  for (int i = 0; i < count; ++i) {
    Advance(*tasks_[i]);
    FindStart(*tasks_[i], *evaluators[i]);
    seeds.push_back(rng_());
  }
  const double progress = Progress(*evaluators.front());
  const ScheduleConfig& schedule = config_.optimizer.schedule;
  if (AnnealsOverSearch(schedule)) core_.set_rate_factor(1 + progress * (*schedule.anneal_to - 1));
  std::vector<std::vector<Sampled>> sampled(count);
  ParallelFor(count, threads_, [&](int i) {
    Rng rng(seeds[i]);
    sampled[i] = Draw(*tasks_[i], *evaluators[i], rng);
  });
  bool better = false;
  for (int i = 0; i < count; ++i) {
    bool improved = false;
    for (const Sampled& each : sampled[i]) improved |= Take(*tasks_[i], each.episode);
    tasks_[i]->patience.Count(improved);
    better |= improved;
  }
  patience_.Count(better);
  if (better) improved_ = true;
  PlacetoRow row = {.stay = stay_};
  if (config_.learn) {
    row.entropy_weight = EntropyWeight(progress);
    Learn(sampled, row);
  }
  if (config_.move_share > 0) AdaptStay(sampled);
  Record(row, sampled);
  ++updates_;
}

bool PlacetoLearner::GreedyEpisode(Evaluator& evaluator) {
  Task& task = *tasks_.front();
  FindStart(task, evaluator);
  const bool best = config_.episode.begin == "best" && task.best.placement() != nullptr;
  const Placement first = best ? *task.best.placement() : *task.start;
  std::vector<std::vector<Sampled>> sampled(1);
  sampled[0].push_back(Sample(task, first, evaluator, nullptr));
  const Episode& episode = sampled[0][0].episode;
  Take(task, episode);
  Record({.greedy = 1}, sampled);
  return Better(episode.best_outcome, episode.first_outcome);
}

void PlacetoLearner::Finish(Evaluator& evaluator) {
  if (config_.episode.begin != "best") {
    GreedyEpisode(evaluator);
    return;
  }
  Task& task = *tasks_.front();
  for (;;) {
    while (GreedyEpisode(evaluator)) {
    }
    if (task.finest()) break;
    Refine(task);
  }
  evaluator.Evaluate(*task.found.placement());
  ++evaluations_;
}

void PlacetoLearner::Record(PlacetoRow row, std::span<const std::vector<Sampled>> sampled) {
  row.restarts = restarts_;
  row.update = static_cast<double>(updates_);
  row.evaluations = static_cast<double>(evaluations_);
  const auto graphs = static_cast<double>(sampled.size());
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    const double count = graphs * static_cast<double>(sampled[i].size());
    for (const Sampled& each : sampled[i]) {
      const Episode& episode = each.episode;
      row.gain += episode.steps.empty() ? 0 : episode.steps[0].gain / count;
      row.start_step_time_ns += StepTimeOrNan(ScoreOf(episode.first_outcome)) / count;
      row.last_step_time_ns += StepTimeOrNan(ScoreOf(episode.last_outcome)) / count;
      row.feasible += episode.last_outcome.feasible / count;
    }
    row.best_step_time_ns += tasks_[i]->found.step_time() / graphs;
  }
  AddRow(core_.table(), row.Fields());
}

}  // namespace emplace
