#include "agents/placeto/placeto_learner.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "agents/initial_placements/initial_placements.h"
#include "agents/shared/policy_gradient/learner_state.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/config/setting_error.h"
#include "framework/learn/categorical.h"
#include "framework/search/outcome_table.h"

namespace emplace {
namespace {

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
