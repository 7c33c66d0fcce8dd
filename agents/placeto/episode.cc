#include "agents/placeto/episode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "agents/shared/devices.h"
#include "agents/shared/merged_groups.h"
#include "agents/shared/move_features.h"
#include "agents/shared/moves.h"
#include "framework/base/error.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

constexpr double kNanosecond = 1e-9;  // [s]
constexpr double kGigabyte = 1e9;     // [B]

/// Returns the time of all groups one after another on the device where that takes least [s].
/// Groups that are not allowed there count on their fastest device.
double SingleDeviceSeconds(const Problem& problem) {
  const int device = CheapestSingleDevice(problem);
  double sum = 0;
  for (int group = 0; group < problem.num_groups(); ++group) {
    Nanos cost = kMaxNanos;
    for (int d = 0; d < problem.num_devices(); ++d) {
      if (problem.allowed(group, d)) cost = std::min(cost, problem.group_cost(group, d));
    }
    if (problem.allowed(group, device)) cost = problem.group_cost(group, device);
    sum += static_cast<double>(cost);
  }
  return std::max(sum, 1.0) * kNanosecond;
}

/// Returns the part of each group, numbered as the groups of MergedProblem(). [num_groups]
std::vector<int> Parts(const Problem& problem, int num_parts) {
  std::vector<int> part = MergedGroups(problem, num_parts);
  std::map<std::pair<int, std::uint64_t>, int> number;
  for (int group = 0; group < problem.num_groups(); ++group) {
    const std::pair key(part[group], problem.allowed_devices(group));
    part[group] = number.emplace(key, std::ssize(number)).first->second;
  }
  return part;
}

/// Returns the problem whose groups are the parts.
std::shared_ptr<const Problem> MergedProblem(const std::shared_ptr<const Problem>& problem,
                                             std::span<const int> part) {
  std::vector<int> part_of_op(problem->num_ops());
  for (int op = 0; op < problem->num_ops(); ++op) {
    part_of_op[op] = part[problem->grouping().group_of(op)];
  }
  return std::make_shared<Problem>(std::shared_ptr<const Graph>(problem, &problem->graph()),
                                   Grouping(part_of_op),
                                   std::shared_ptr<const Cluster>(problem, &problem->cluster()),
                                   problem->costs(),
                                   problem->objective(),
                                   ProblemChecks::kPlacementOnly);
}

std::vector<int> VisitOrder(const Problem& problem, bool random, Rng& rng) {
  std::vector<int> order;
  for (int group : problem.group_order()) {
    if (std::popcount(problem.allowed_devices(group)) > 1) order.push_back(group);
  }
  if (random) Shuffle(order, rng);
  return order;
}

/// Returns PlacetoState::effects.
Matrix Effects(const Problem& problem,
               const Placement& placement,
               int group,
               MoveFeatures& features) {
  Matrix effects = Matrix::Zero(problem.num_devices(), MoveFeatures::kCount);
  for (int d = 0; d < problem.num_devices(); ++d) {
    if (!problem.allowed(group, d) || d == placement.device[group]) continue;
    const Move move{group, static_cast<DeviceIndex>(d)};
    features.Write({&move, 1}, {effects.row(d).data(), MoveFeatures::kCount});
  }
  return effects;
}

}  // namespace

void EpisodeConfig::Visit(FieldVisitor& v) {
  v.Field("begin",
          begin,
          "initial placement of an episode: best (the best so far), fixed (the start of the "
          "search) or redraw (a new start each time)");
  v.Field("order", order, "order in which groups are visited: topological, or random (drawn once)");
  v.Field(
      "reward",
      reward,
      "intermediate (the gain of each step), all_actions (the gains of all choices of each step) "
      "or terminal (the whole gain after the last step)");
  v.Field("transform", transform, "function of the step time: identity or log");
  v.Field("relative", relative, "express times relative to the whole graph on one device");
  v.Field("undo", undo, "undo a step that makes the placement slower");
  v.Field("discount", discount, Between(0, 1), "discount factor of the rewards of later steps");
  v.Field(
      "penalty_per_gb", penalty_per_gb, AtLeast(0), "time added per gigabyte that does not fit");
  v.Field("penalty_limit_gb",
          penalty_limit_gb,
          AtLeast(0),
          "gigabytes of a device without a penalty; 0: its memory");
  v.Field("penalty_cap", penalty_cap, AtLeast(0), "largest time; 0: none");
}

EpisodeProblem::EpisodeProblem(std::shared_ptr<const Problem> problem,
                               const EpisodeConfig& config,
                               const PlacetoNetworkConfig& network,
                               Rng& rng,
                               int num_parts)
    : part_(num_parts > 0 ? Parts(*problem, num_parts) : std::vector<int>()),
      problem_(num_parts > 0 ? MergedProblem(problem, part_) : std::move(problem)),
      config_(config),
      effects_(network.features.effects),
      graph_(*problem_, network.mean()),
      features_(*problem_, graph_, network.features, "features") {
  RequireChoice("episode.begin", config.begin, {"best", "fixed", "redraw"});
  RequireChoice("episode.order", config.order, {"random", "topological"});
  RequireChoice("episode.reward", config.reward, {"all_actions", "intermediate", "terminal"});
  RequireChoice("episode.transform", config.transform, {"identity", "log"});
  order_ = VisitOrder(*problem_, config.order == "random", rng);
  for (int op = 0; op < problem_->num_ops(); ++op) {
    if (!problem_->graph().op(op).IsStorage()) working_ops_.push_back(op);
  }
  unit_ = config.relative ? SingleDeviceSeconds(*problem_) : 1;
}

Placement EpisodeProblem::OfGroups(const Placement& placement) const {
  if (part_.empty()) return placement;
  Placement groups;
  for (int part : part_) groups.device.push_back(placement.device[part]);
  return groups;
}

Placement EpisodeProblem::OfParts(const Placement& placement) const {
  if (part_.empty()) return placement;
  Placement parts{std::vector<DeviceIndex>(problem_->num_groups())};
  for (std::size_t group = 0; group < part_.size(); ++group) {
    parts.device[part_[group]] = placement.device[group];
  }
  return parts;
}

double EpisodeProblem::Time(const Outcome& outcome) const {
  double above = 0;
  for (const DeviceOutcome& device : outcome.devices) {
    above +=
        config_.penalty_limit_gb > 0
            ? std::max(0.0, static_cast<double>(device.peak) / kGigabyte - config_.penalty_limit_gb)
            : static_cast<double>(device.deficit) / kGigabyte;
  }
  double time = static_cast<double>(outcome.step_time) * kNanosecond / unit_;
  time += config_.penalty_per_gb * above;
  if (config_.penalty_cap > 0) time = std::min(time, config_.penalty_cap);
  return config_.transform == "log" ? std::log(std::max(time, kNanosecond)) : time;
}

std::vector<Nanos> EpisodeProblem::GroupStarts(const Outcome& outcome) const {
  if (outcome.start.empty()) return std::vector<Nanos>(problem_->num_groups(), 0);
  std::vector<Nanos> starts(problem_->num_groups(), kMaxNanos);
  for (int op : working_ops_) {
    Nanos& start = starts[problem_->grouping().group_of(op)];
    start = std::min(start, outcome.start[op]);
  }
  std::replace(starts.begin(), starts.end(), kMaxNanos, Nanos{0});
  return starts;
}

std::vector<double> Gains(std::span<const double> rewards, double discount) {
  std::vector<double> gains(rewards.size());
  double gain = 0;
  for (std::size_t t = rewards.size(); t-- > 0;) gains[t] = gain = rewards[t] + discount * gain;
  return gains;
}

Episode RunEpisode(const EpisodeProblem& task,
                   const Placement& first,
                   const ChooseDevice& choose,
                   Evaluator& evaluator,
                   const Outcome* known,
                   bool learnt) {
  const Problem& problem = task.problem();
  const bool terminal = task.config().reward == "terminal";
  const bool all_actions = learnt && task.config().reward == "all_actions";
  Episode episode;
  episode.first = episode.last = episode.best = first;
  const auto evaluate = [&](const Placement& placement, bool op_times = true) {
    ++episode.evaluations;
    return evaluator.Evaluate(task.OfGroups(placement), {.op_times = op_times});
  };
  episode.first_outcome = known != nullptr ? *known : evaluate(first);
  episode.last_outcome = episode.best_outcome = episode.first_outcome;
  std::vector<Nanos> starts = task.GroupStarts(episode.first_outcome);
  std::vector<bool> visited(problem.num_groups());
  std::optional<MoveFeatures> effects;
  if (task.effects()) {
    effects.emplace(problem);
    effects->Set(first, episode.first_outcome);
  }
  std::vector<double> rewards;
  double time = task.Time(episode.first_outcome);
  const auto arrive = [&](Outcome outcome) {
    episode.last_outcome = std::move(outcome);
    starts = task.GroupStarts(episode.last_outcome);
    if (effects) effects->Set(episode.last, episode.last_outcome);
    if (!Better(episode.last_outcome, episode.best_outcome)) return;
    episode.best = episode.last;
    episode.best_outcome = episode.last_outcome;
  };
  const auto rewards_of = [&](int group) {
    std::vector<double> rewards_of_devices(problem.num_devices(), 0);
    Placement other = episode.last;
    for (int d = 0; d < problem.num_devices(); ++d) {
      if (!problem.allowed(group, d) || d == episode.last.device[group]) continue;
      other.device[group] = static_cast<DeviceIndex>(d);
      rewards_of_devices[d] = time - task.Time(evaluate(other, false));
    }
    return rewards_of_devices;
  };
  for (int group : task.order()) {
    EpisodeStep step{{episode.last, starts, visited, group, {}}, 0, 0, {}};
    if (effects) step.state.effects = Effects(problem, episode.last, group, *effects);
    if (all_actions) step.rewards = rewards_of(group);
    step.device = choose(step.state);
    EMPLACE_CHECK(problem.allowed(group, step.device));
    const bool moved = step.device != episode.last.device[group];
    episode.last.device[group] = static_cast<DeviceIndex>(step.device);
    visited[group] = true;
    double reward = 0;
    if (moved && !terminal) {
      Outcome outcome = evaluate(episode.last);
      const double now = task.Time(outcome);
      reward = time - now;
      if (reward < 0 && task.config().undo) {
        episode.last.device[group] = step.state.placement.device[group];
      } else {
        arrive(std::move(outcome));
        time = now;
      }
    }
    rewards.push_back(reward);
    episode.steps.push_back(std::move(step));
  }
  if (terminal && !rewards.empty() && episode.last != first) {
    arrive(evaluate(episode.last));
    rewards.back() = time - task.Time(episode.last_outcome);
  }
  if (episode.evaluations == 0) evaluate(first);
  const std::vector<double> gains = Gains(rewards, task.config().discount);
  for (std::size_t t = 0; t < gains.size(); ++t) episode.steps[t].gain = gains[t];
  return episode;
}

bool Moves(const EpisodeStep& step) {
  return step.device != step.state.placement.device[step.state.current];
}

std::vector<LearntStep> ChooseLearntSteps(std::span<const EpisodeStep> steps, int stays, Rng& rng) {
  std::vector<LearntStep> chosen;
  std::vector<int> others;
  for (int t = 0; t < std::ssize(steps); ++t) {
    if (Moves(steps[t])) {
      chosen.push_back({t, 1});
    } else {
      others.push_back(t);
    }
  }
  const int all = static_cast<int>(others.size());
  const int kept = stays == 0 ? all : std::min(stays, all);
  for (int i = 0; i < kept && kept < all; ++i) {
    std::swap(others[i], others[i + UniformInt(rng, all - i)]);
  }
  for (int i = 0; i < kept; ++i) {
    chosen.push_back({others[i], static_cast<float>(all) / static_cast<float>(kept)});
  }
  std::sort(chosen.begin(), chosen.end(), [](const LearntStep& a, const LearntStep& b) {
    return a.step < b.step;
  });
  return chosen;
}

}  // namespace emplace
