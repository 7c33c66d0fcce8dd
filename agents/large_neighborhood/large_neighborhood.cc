#include "agents/large_neighborhood/large_neighborhood.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "agents/common/devices.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

constexpr int kGreedyWindow = 4, kExactWindow = 8, kExactBatches = 4;
constexpr double kOther = 0.25;  // probability that list scheduling takes another device
constexpr double kReaction = 0.1, kLeastWeight = 0.05;

// Ways to search: each kind of window with each of these, and at last proposals.
enum Repair { kTogether, kList, kGreedy, kExact };
constexpr int kNumRepairs = 4;
constexpr int kNumWays = kNumWindowKinds * kNumRepairs + 1;

}  // namespace

LargeNeighborhoodAgent::LargeNeighborhoodAgent(const AgentContext& context, const Config& config)
    : ImprovementAgent("large_neighborhood", context, config.start),
      config_(config),
      proposer_(*context.problem, config.moves, "moves"),
      view_(*context.problem),
      drawer_(*context.problem),
      gains_(kNumWays, 0),
      batches_(kNumWays, 1),
      cycle_(config.cycle),
      freed_(context.problem->num_groups(), 0) {
  RequireRange("rounds", config.rounds, 1, 1e6);
  RequireRange("batch", config.batch, 1, 1e6);
  RequireRange("window", config.window, 1, 1e9);
  RequireRange("threshold", config.threshold, 0, 1e3);
  RequireRange("cycle", static_cast<double>(config.cycle), 1, 1e12);
}

void LargeNeighborhoodAgent::DrawWindow(WindowKind kind, double largest) {
  const double size = std::exp2(Uniform01(rng()) * std::log2(std::max(1.0, largest)));
  drawer_.Draw(kind, static_cast<int>(size), view_, rng(), window_);
}

int LargeNeighborhoodAgent::DrawDevice(int group) {
  std::uint64_t mask = problem().allowed_devices(group);
  for (int skip = UniformInt(rng(), std::popcount(mask)); skip > 0; --skip) mask &= mask - 1;
  return FirstDevice(mask);
}

void LargeNeighborhoodAgent::EvaluateBatch(const Placement& base, Evaluator& evaluator) {
  batch_.Evaluate(base, evaluator);
  evaluations_ += static_cast<std::int64_t>(batch_.size());
  found_.placement = base;
  batch_.MoveTo(batch_.IndexOfBest(), found_);
}

void LargeNeighborhoodAgent::EvaluateAndCombine(Evaluator& evaluator) {
  EvaluateBatch(current().placement, evaluator);
  std::vector<std::size_t> better;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (batch_.score(i) < current().score) better.push_back(i);
  }
  if (better.size() < 2) return;
  std::ranges::stable_sort(better, {}, [&](std::size_t i) { return batch_.score(i); });
  const Neighbors neighbors = batch_.moves().Of(current().placement);
  combined_.moves().Clear();
  for (std::size_t count = 2;; count = std::min(2 * count, better.size())) {
    // Of two that move a group the better one counts.
    for (std::size_t i = count; i > 0; --i) {
      for (const Move move : neighbors.of(better[i - 1])) {
        combined_.moves().Add(move.group, move.device);
      }
    }
    combined_.moves().End();
    if (count == better.size()) break;
  }
  combined_.Evaluate(current().placement, evaluator);
  evaluations_ += static_cast<std::int64_t>(combined_.size());
  const std::size_t best = combined_.IndexOfBest();
  if (combined_.score(best) >= found_.score) return;
  found_.placement = current().placement;
  combined_.MoveTo(best, found_);
}

void LargeNeighborhoodAgent::Moves(Evaluator& evaluator) {
  for (int i = 0; i < config_.batch; ++i) {
    proposer_.Propose(rng(), current().placement, batch_.moves());
  }
  EvaluateAndCombine(evaluator);
}

void LargeNeighborhoodAgent::Together(WindowKind kind, Evaluator& evaluator) {
  const Placement& base = current().placement;
  for (int i = 0; i < config_.batch; ++i) {
    DrawWindow(kind, 0.5 * problem().num_groups());
    int aim = window_.aim;
    if (aim < 0) {
      const int group = window_.groups[UniformInt(rng(), static_cast<int>(window_.groups.size()))];
      const auto edges = problem().neighbors(group);
      aim = edges.empty() || Uniform01(rng()) < 0.5
                ? DrawDevice(group)
                : base.device[edges[UniformInt(rng(), static_cast<int>(edges.size()))].neighbor];
    }
    bool any = false;
    for (const int group : window_.groups) {
      if (base.device[group] == aim || !problem().allowed(group, aim)) continue;
      batch_.moves().Add(group, aim);
      any = true;
    }
    if (any) {
      batch_.moves().End();
    } else {
      proposer_.Propose(rng(), base, batch_.moves());
    }
  }
  EvaluateAndCombine(evaluator);
}

// Each group of the window is placed for its first op that costs anything.
void LargeNeighborhoodAgent::PlaceByList() {
  const Grouping& grouping = problem().grouping();
  const Cluster& cluster = problem().cluster();
  struct Task {
    Nanos start;
    int op;
  };
  std::vector<Task> tasks;
  for (const int group : window_.groups) {
    Task task{kMaxNanos, -1};
    for (const int v : grouping.members(group)) {
      if (view_.finish()[v] > view_.start()[v] && view_.start()[v] < task.start) {
        task = {view_.start()[v], v};
      }
    }
    if (task.op >= 0) tasks.push_back(task);
    freed_[group] = 1;
  }
  std::ranges::sort(tasks, {}, [](const Task& task) { return std::pair(task.start, task.op); });
  std::vector<Nanos> free(problem().num_devices(), 0);  // behind the window's ops
  for (const auto& [old_start, op] : tasks) {
    const int group = grouping.group_of(op);
    int best = -1;
    Nanos best_finish = kMaxNanos;
    for (int d = 0; d < problem().num_devices(); ++d) {
      if (!problem().allowed(group, d)) continue;
      Nanos ready = 0;
      for (const OpInput& input : view_.inputs()[op]) {
        const int from = grouping.group_of(input.op);
        if (from == group) continue;
        ready = std::max(
            ready, finish_[input.op] + cluster.TransferTime(placed_.device[from], d, input.bytes));
      }
      const Nanos start = std::max(view_.FreeFrom(d, ready, freed_), free[d]);
      const Nanos finish = start + problem().costs().at(op, d);
      if (finish >= best_finish) continue;
      best = d;
      best_finish = finish;
    }
    if (Uniform01(rng()) < kOther) best = DrawDevice(group);
    free[best] = std::max(free[best], best_finish);
    finish_[op] = best_finish;
    if (best != placed_.device[group]) batch_.moves().Add(group, best);
    placed_.device[group] = static_cast<DeviceIndex>(best);
  }
  for (const auto& [start, op] : tasks) finish_[op] = view_.finish()[op];
  for (const int group : window_.groups) {
    freed_[group] = 0;
    placed_.device[group] = current().placement.device[group];
  }
}

void LargeNeighborhoodAgent::List(WindowKind kind, Evaluator& evaluator) {
  placed_ = current().placement;
  finish_.assign(view_.finish().begin(), view_.finish().end());
  for (int i = 0; i < config_.batch; ++i) {
    DrawWindow(kind, config_.window);
    PlaceByList();
    batch_.moves().End();
  }
  EvaluateAndCombine(evaluator);
}

void LargeNeighborhoodAgent::Greedy(WindowKind kind, Evaluator& evaluator) {
  DrawWindow(kind, kGreedyWindow);
  ScoredPlacement at = current();
  for (const int group : window_.groups) {
    at.placement.device[group] = static_cast<DeviceIndex>(DrawDevice(group));
  }
  for (std::size_t left = 2 * window_.groups.size(); left > 0; --left) {
    batch_.moves().Clear();
    for (const int group : window_.groups) {
      for (int d = 0; d < problem().num_devices(); ++d) {
        if (!problem().allowed(group, d) || d == at.placement.device[group]) continue;
        batch_.moves().Add(group, d);
        batch_.moves().End();
      }
    }
    const bool first = left == 2 * window_.groups.size();
    EvaluateBatch(at.placement, evaluator);
    if (!first && found_.score >= at.score) break;
    at = found_;
  }
  found_ = at;
}

void LargeNeighborhoodAgent::Exact(WindowKind kind, Evaluator& evaluator) {
  DrawWindow(kind, kExactWindow);
  // The first groups of the window with at most that many placements.
  const std::int64_t most = std::int64_t(kExactBatches) * config_.batch;
  std::int64_t count = 1;
  std::size_t free = 0;
  for (; free < window_.groups.size(); ++free) {
    const int choices = std::popcount(problem().allowed_devices(window_.groups[free]));
    if (count * choices > most && free > 0) break;
    count *= choices;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t g = 0; g < free; ++g) {
      const int group = window_.groups[g];
      std::uint64_t mask = problem().allowed_devices(group);
      const int choices = std::popcount(mask);
      for (auto skip = rest % choices; skip > 0; --skip) mask &= mask - 1;
      rest /= choices;
      batch_.moves().Add(group, FirstDevice(mask));
    }
    batch_.moves().End();
  }
  EvaluateBatch(current().placement, evaluator);
}

int LargeNeighborhoodAgent::DrawWay() {
  const double largest = *std::ranges::max_element(gains_);
  const auto share = [&](int way) {
    return (kLeastWeight + (largest > 0 ? gains_[way] / largest : 0)) / batches_[way];
  };
  double drawn = 0;
  for (int way = 0; way < kNumWays; ++way) drawn += share(way);
  drawn *= Uniform01(rng());
  int way = 0;
  while (way + 1 < kNumWays && drawn >= share(way)) drawn -= share(way++);
  return way;
}

void LargeNeighborhoodAgent::Round(Evaluator& evaluator) {
  const int way = DrawWay();
  const auto kind = static_cast<WindowKind>(way / kNumRepairs);
  evaluations_ = 0;
  batch_.moves().Clear();
  if (way + 1 == kNumWays) {
    Moves(evaluator);
  } else if (way % kNumRepairs == kGreedy) {
    Greedy(kind, evaluator);
  } else if (way % kNumRepairs == kExact) {
    Exact(kind, evaluator);
  } else if (way % kNumRepairs == kList && !view_.by_start().empty()) {
    List(kind, evaluator);
  } else {
    Together(kind, evaluator);
  }
  used_ += evaluations_;
  const double passed = static_cast<double>(used_) / static_cast<double>(cycle_);
  const double slack = config_.threshold * std::max(0.0, 1 - passed);
  double gain = 0;
  if (found_.score.deficit < current().score.deficit) {
    gain = 1;
  } else if (found_.score < current().score) {
    gain = std::log(static_cast<double>(current().score.step_time) /
                    static_cast<double>(std::max<Nanos>(found_.score.step_time, 1)));
  }
  const double batches = static_cast<double>(evaluations_) / config_.batch;
  batches_[way] += kReaction * (batches - batches_[way]);
  gains_[way] += kReaction * (gain / batches - gains_[way]);
  Note(found_);
  if (found_.score <= current().score || Within(found_.score, best().score, slack)) {
    current() = found_;
  }
  if (used_ < cycle_) return;
  cycle_ *= 2;
  used_ = 0;
  current() = best();
}

void LargeNeighborhoodAgent::Improve(Evaluator& evaluator) {
  const Outcome outcome = evaluator.Evaluate(current().placement, {.op_times = true});
  view_.Set(current().placement, outcome);
  for (int round = 0; round < config_.rounds; ++round) Round(evaluator);
}

void LargeNeighborhoodAgent::SaveSearch(StateWriter& writer) const {
  writer.Int(cycle_);
  writer.Int(used_);
  for (int way = 0; way < kNumWays; ++way) {
    writer.Double(gains_[way]);
    writer.Double(batches_[way]);
  }
}

void LargeNeighborhoodAgent::LoadSearch(StateReader& reader) {
  cycle_ = reader.Count("a number of evaluations");
  used_ = reader.Count("a number of evaluations");
  for (int way = 0; way < kNumWays; ++way) {
    gains_[way] = reader.Double("a gain");
    batches_[way] = reader.Double("a number of batches");
  }
}

}  // namespace emplace
