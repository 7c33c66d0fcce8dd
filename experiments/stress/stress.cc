#include "experiments/stress/stress.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "experiments/run/run_table.h"
#include "experiments/stress/perturbation.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "profilers/statistics/fidelity.h"

namespace emplace {
namespace {

constexpr double kUnfit = std::numeric_limits<double>::infinity();
constexpr double kSlowLink = 2;  // half the bandwidth, twice the latency

std::vector<Nanos> TimesOf(const std::shared_ptr<const Problem>& problem,
                           const SimulatorOptions& how,
                           const std::vector<Candidate>& candidates) {
  std::vector<Nanos> times;
  for (const Outcome& outcome : SimulateCandidates(problem, how, candidates)) {
    times.push_back(outcome.feasible ? outcome.step_time : kMaxNanos);
  }
  return times;
}

std::vector<double> AsRanked(const std::vector<Nanos>& times) {
  std::vector<double> ranked;
  for (const Nanos time : times) {
    ranked.push_back(time < kMaxNanos ? static_cast<double>(time) : kUnfit);
  }
  return ranked;
}

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? std::numeric_limits<double>::quiet_NaN()
                        : sum / static_cast<double>(values.size());
}

// Computes the figures of a scenario from its step times. @param given  [placements] [ns]
void SetFigures(const std::vector<Nanos>& given, StressScenario& scenario) {
  std::vector<double> taus, regrets, lost;
  int kept = 0;
  for (const std::vector<Nanos>& times : scenario.step_times) {
    const double tau = KendallTau(AsRanked(given), AsRanked(times));
    if (!std::isnan(tau)) taus.push_back(tau);
    const Nanos best = *std::min_element(times.begin(), times.end());
    kept += times[0] == best && best < kMaxNanos;
    regrets.push_back(RegretsOf(times)[0]);
    lost.push_back(times[0] < kMaxNanos ? static_cast<double>(times[0] - best) : kUnfit);
  }
  scenario.kendall_tau = MeanOf(taus);
  scenario.top_share = kept / static_cast<double>(regrets.size());
  scenario.regret = MeanOf(regrets);
  scenario.worst_regret = *std::max_element(regrets.begin(), regrets.end());
  scenario.regret_ns = MeanOf(lost);
}

// Returns the placements that fit, the best first, and adds them to `result`.
std::vector<Candidate> Rank(const std::shared_ptr<const Problem>& problem,
                            const SimulatorOptions& how,
                            const std::vector<Candidate>& candidates,
                            StressResult& result) {
  const std::vector<Outcome> outcomes = SimulateCandidates(problem, how, candidates);
  std::vector<std::pair<Nanos, size_t>> order;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const bool is_new = std::none_of(candidates.begin(),
                                     candidates.begin() + static_cast<std::ptrdiff_t>(i),
                                     [&](const auto& c) {
                                       return c.placement == candidates[i].placement &&
                                              c.issue_order == candidates[i].issue_order;
                                     });
    if (outcomes[i].feasible && is_new) order.emplace_back(outcomes[i].step_time, i);
  }
  if (order.empty()) {
    throw InputError(fmt::format("no placement fits: {}: {}",
                                 candidates.at(0).label,
                                 FormatDeficit(outcomes[0], problem->cluster())));
  }
  std::sort(order.begin(), order.end());
  std::vector<Candidate> placements;
  for (const auto& [time, i] : order) {
    placements.push_back(candidates[i]);
    result.labels.push_back(candidates[i].label);
    result.step_times.push_back(time);
  }
  return placements;
}

}  // namespace

std::vector<double> RegretsOf(const std::vector<Nanos>& step_times) {
  const Nanos best = *std::min_element(step_times.begin(), step_times.end());
  std::vector<double> regrets;
  for (const Nanos time : step_times) {
    regrets.push_back(time == kMaxNanos ? kUnfit
                      : time == best    ? 0
                                     : static_cast<double>(time) / static_cast<double>(best) - 1);
  }
  return regrets;
}

StressResult Stress(const std::shared_ptr<const Problem>& problem,
                    const SimulatorOptions& how,
                    const std::vector<Candidate>& candidates,
                    const StressOptions& options) {
  StressResult result{.seed = options.seed, .noise = options.noise};
  const std::vector<Candidate> placements = Rank(problem, how, candidates, result);

  const bool has_adversary = placements.size() > 1 && options.adversary.steps > 0;
  const int total =
      options.draws + (has_adversary ? options.adversary.chains * options.adversary.steps : 0);
  std::atomic<int> done = 0;
  const std::function<void()> count = [&] {
    if (options.stop && options.stop())
      throw RunError("stopped; nothing of this problem was written");
    if (++done <= total && options.progress) options.progress(done, total);
  };

  StressScenario noise{.name = "noise", .step_times = {}};
  noise.step_times.resize(options.draws);
  ParallelFor(options.draws, options.jobs, [&](int draw) {
    Rng rng(options.seed + 0x9E3779B97F4A7C15u * (draw + 1));  // one generator per draw
    noise.step_times[draw] =
        TimesOf(Perturb(problem, DrawPerturbation(*problem, options.noise, rng)), how, placements);
    count();
  });
  result.noise_regret.assign(placements.size(), 0);
  for (const std::vector<Nanos>& times : noise.step_times) {
    const std::vector<double> regrets = RegretsOf(times);
    for (size_t i = 0; i < regrets.size(); ++i)
      result.noise_regret[i] += regrets[i] / options.draws;
  }
  result.scenarios.push_back(std::move(noise));

  for (const Semantics other : AllSemantics()) {
    if (other == how.semantics || problem->objective() == Objective::kPeriod) continue;
    // Without neighbours it equals stream semantics.
    if (CountsNeighbors(other) && !problem->cluster().has_neighbors()) continue;
    SimulatorOptions otherwise = how;
    otherwise.semantics = other;
    otherwise.issue_order.clear();
    result.scenarios.push_back({.name = fmt::format("semantics_{}", ToString(other)),
                                .step_times = {TimesOf(problem, otherwise, placements)}});
  }
  Perturbation slow = NoPerturbation(*problem);
  std::fill(slow.channel.begin(), slow.channel.end(), kSlowLink);
  result.scenarios.push_back(
      {.name = "slow_links", .step_times = {TimesOf(Perturb(problem, slow), how, placements)}});
  for (StressScenario& scenario : result.scenarios) SetFigures(result.step_times, scenario);

  if (has_adversary) {
    result.adversary = FindAdversary(problem,
                                     how,
                                     placements[0],
                                     placements[1],
                                     options.adversary,
                                     options.seed,
                                     options.jobs,
                                     count);
  }
  return result;
}

}  // namespace emplace
