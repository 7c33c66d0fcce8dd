#include "experiments/machine/verdict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "experiments/machine/fidelity_report.h"
#include "experiments/problem/step_interval.h"
#include "profilers/measure/profile.h"

namespace emplace {
namespace {

constexpr const char* kQuieten = "stop other programs on this machine and measure again";
constexpr double kTellBias = 0.05;  // smaller biases are not mentioned

// Rounds up, to at least 1 %: "4 %".
std::string WholePercentAbove(double share) {
  return fmt::format("{:.0f} %", std::max(1.0, std::ceil(100 * share - 1e-9)));
}

// Rounds down: "99 %" for 433 of 435, because 100 % would mean all.
std::string WholePercentBelow(double share) {
  return fmt::format("{:.0f} %", std::floor(100 * share + 1e-9));
}

std::string FormatErrors(const Fidelity& f) {
  std::string text = fmt::format("errors {}", FormatShare(f.mape, 1));
  if (std::abs(f.bias) > kTellBias && std::abs(f.bias) > f.mape / 2) {
    text += fmt::format(" (simulated times are {} too {})",
                        FormatShare(std::abs(f.bias), 1),
                        f.bias < 0 ? "short" : "long");
  }
  return text + (f.clear_pairs == 0 ? ", no two placements more than 5 % apart"
                                    : fmt::format(", {} of clear pairs in order",
                                                  WholePercentBelow(f.pair_accuracy)));
}

// Returns the verdict for reliable measurements.
std::string JudgeSimulation(const Fidelity& f, double resolved) {
  const std::string errors = FormatErrors(f);
  if (!std::isfinite(resolved)) {
    return fmt::format(
        "{}: {} placements are too few to know which differences are reliable; expected at least 5",
        errors,
        f.placements);
  }
  if (resolved > kLeastResolved) {
    return fmt::format(
        "not reliable: {}; placements whose simulated times differ by up to {} may be in the wrong "
        "order",
        errors,
        WholePercentAbove(resolved));
  }
  return fmt::format("{}: reliable for differences above {}", errors, WholePercentAbove(resolved));
}

// Returns half of the 95 % interval of the isolated timings / median, as a mean weighted by time; 0
// without timings.
double NoiseOfTimings(const CostTable& table) {
  double noise = 0, time = 0;
  for (const KindCosts& kind : table.kinds) {
    for (const OpMeasurement& op : kind.ops) {
      if (!op.isolated) continue;
      noise += (op.isolated->high - op.isolated->low) / 2;
      time += op.isolated->median;
    }
  }
  return time > 0 ? noise / time : 0;
}

}  // namespace

std::string VerdictOf(const Verification& verification, const VerificationSummary& summary) {
  const std::vector<VerifiedPlacement>& placements = verification.placements;
  if (std::abs(summary.reference_drift) > kMostDrift) {
    return fmt::format(
        "too noisy to judge: the step time of \"{}\" changed by {:+.0f} % from the beginning to "
        "the end; {}",
        placements[0].candidate.label,
        100 * summary.reference_drift,
        kQuieten);
  }
  if (summary.fidelity && !std::isfinite(summary.fidelity->median_noise)) {
    return "too few rounds to judge: one step of each placement does not show the noise; expected "
           "--rounds of at least 2";
  }
  const double noise =
      summary.fidelity ? std::max(summary.fidelity->repeat_noise, summary.fidelity->median_noise)
                       : 0;
  if (noise > kTooNoisy) {
    return fmt::format(
        "too noisy to judge: repeats differ by {}; {}", FormatShare(noise, 0), kQuieten);
  }
  const bool other_costs = summary.busy_ratio > kSlower || summary.busy_ratio < 1 / kSlower;
  if (other_costs && verification.calibration.empty()) {
    return fmt::format(
        "the costs do not fit this machine: ops took {:.2f} times their costs (step times are off "
        "by {}); profile it again",
        summary.busy_ratio,
        FormatShare(summary.mape, 1));
  }
  if (!summary.fidelity) {
    return fmt::format("error {}: one placement does not show whether several are in order",
                       FormatShare(summary.mape, 1));
  }
  return JudgeSimulation(*summary.fidelity, summary.resolved);
}

std::string VerdictOf(const CostTable& table) {
  if (const auto drift = table.properties.find(kDriftProperty); drift != table.properties.end()) {
    return fmt::format("too noisy to judge: {}; {}", drift->second, kQuieten);
  }
  if (const double noise = NoiseOfTimings(table); noise > kTooNoisy) {
    return fmt::format("too noisy to judge: the timings of an op differ by {} of it; {}",
                       FormatShare(noise, 0),
                       kQuieten);
  }
  std::map<std::string, std::vector<FidelityPoint>> by_graph;
  for (const HeldOutStep& step : table.held_out) {
    by_graph[step.graph].push_back({step.placement, step.simulated_ns, step.measured_ns, {}});
  }
  std::erase_if(by_graph, [](const auto& graph) { return graph.second.size() < 2; });
  if (by_graph.empty()) {
    return "not judged: no placements were held out of the calibration; `emplace validate` "
           "executes some";
  }
  std::string verdict;
  double largest = -1;
  for (const auto& [graph, points] : by_graph) {
    std::vector<double> log_ratios;
    for (const FidelityPoint& point : points) {
      log_ratios.push_back(LogRatio(point.simulated, point.measured));
    }
    const double resolved = ResolvedDifference(log_ratios);
    if (resolved <= largest) continue;
    largest = resolved;
    verdict = JudgeSimulation(ComputeFidelity(points), resolved);
    if (by_graph.size() > 1)
      verdict += fmt::format(" (the worst of {} graphs, {})", by_graph.size(), graph);
  }
  return verdict;
}

}  // namespace emplace
