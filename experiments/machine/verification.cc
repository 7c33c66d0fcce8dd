#include "experiments/machine/verification.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "experiments/machine/verdict.h"
#include "experiments/problem/changed_problem.h"
#include "experiments/run/run_table.h"
#include "framework/base/error.h"
#include "framework/base/progress.h"
#include "framework/cost/cost_model.h"
#include "profilers/executor/compile_plan.h"
#include "profilers/measure/profile.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

SimulatorOptions AsExecuted(const Problem& problem, const std::vector<int>& issue_order) {
  return {.semantics = SemanticsAsExecuted(problem.cluster()),
          .issue_order = issue_order,
          .order_may_change = true};
}

// Simulates the candidate in its own issue order if it has one.
Outcome Simulate(Evaluator& simulator,
                 const Candidate& candidate,
                 const OutcomeDetail& detail = {}) {
  simulator.SetIssueOrder(candidate.issue_order);
  return simulator.Evaluate(candidate.placement, detail);
}

void RequireNotStopped(const VerificationOptions& options) {
  if (options.stop && options.stop()) throw RunError("stopped; nothing was written");
}

int RoundsAlone(const VerificationOptions& options) {
  return std::clamp(options.rounds / 2, 3, 10);
}

// Returns the median step time of one placement, alone on the machine. [ns]
double MeasureAlone(const std::shared_ptr<const Problem>& problem,
                    const std::shared_ptr<Backend>& backend,
                    const Candidate& candidate,
                    const VerificationOptions& options,
                    const std::function<void(std::int64_t)>& progress) {
  ExecutorOptions alone{.warmup = options.warmup,
                        .rounds = RoundsAlone(options),
                        .traced_rounds = 0,
                        .mode = options.mode,
                        .issue_order = options.issue_order};
  alone.progress = [&](std::int64_t done, std::int64_t) {
    progress(done);
    return !(options.stop && options.stop());
  };
  const auto measured =
      Executor(problem, backend, alone)
          .Measure(std::span(&candidate.placement, 1), std::span(&candidate.issue_order, 1));
  RequireNotStopped(options);
  return measured[0].step.median;
}

double RelativeError(double simulated, double measured) {
  return std::abs(simulated - measured) / measured;
}

double LargestClockChange(const std::vector<ClockReading>& before,
                          const std::vector<ClockReading>& after,
                          std::vector<std::string>& warnings) {
  double largest = 0;
  for (const ClockReading& a : before) {
    for (const ClockReading& b : after) {
      if (a.device != b.device || a.mhz <= 0 || b.mhz <= 0) continue;
      const double change = b.mhz / a.mhz - 1;
      if (std::abs(change) > std::abs(largest)) largest = change;
      if (std::abs(change) > kSteady) {
        warnings.push_back(
            fmt::format("the clock of {} changed from {:.0f} to {:.0f} MHz during the measurement",
                        a.device,
                        a.mhz,
                        b.mhz));
      }
    }
  }
  return largest;
}

std::vector<Nanos> Resimulate(const Verification& verification,
                              const std::shared_ptr<const Problem>& problem,
                              const SimulatorOptions& options) {
  const auto simulator = MakeSimulator(problem, options);
  std::vector<Nanos> times;
  for (const VerifiedPlacement& placement : verification.placements) {
    times.push_back(Simulate(*simulator, placement.candidate).step_time);
  }
  return times;
}

// Returns the problem on a cluster whose host issues ops and copies in no time.
std::shared_ptr<const Problem> WithoutHostCost(const std::shared_ptr<const Problem>& given) {
  const Cluster& cluster = given->cluster();
  std::vector<DeviceKind> kinds(cluster.kinds().begin(), cluster.kinds().end());
  for (DeviceKind& kind : kinds) kind.issue = kind.launch = 0;
  return ChangeProblem(given,
                       std::move(kinds),
                       {cluster.channels().begin(), cluster.channels().end()},
                       given->costs());
}

// Returns why a placement cannot be executed; empty if it can.
std::string WhyUnfitting(Evaluator& simulator,
                         const Candidate& candidate,
                         const std::vector<int>& issue_order) {
  const Problem& problem = simulator.problem();
  const Outcome outcome = Simulate(simulator, candidate);
  if (!outcome.feasible) return FormatDeficit(outcome, problem.cluster());
  try {
    CompilePlan(problem,
                ExpandPlacement(candidate.placement, problem.grouping()),
                candidate.issue_order.empty() ? issue_order : candidate.issue_order);
  } catch (const InputError& error) {  // views across devices that no executor can lay out
    return error.what();
  }
  return "";
}

}  // namespace

double SignedError(const VerifiedPlacement& placement) {
  return static_cast<double>(placement.simulated.step_time) / placement.measured.step.median - 1;
}

void SimulateAgain(Verification& verification, std::shared_ptr<const Problem> problem) {
  const auto simulator = MakeSimulator(problem, AsExecuted(*problem, verification.issue_order));
  for (VerifiedPlacement& placement : verification.placements) {
    const std::vector<DeviceIndex> device_of_op =
        ExpandPlacement(placement.candidate.placement, problem->grouping());
    placement.simulated = Simulate(*simulator, placement.candidate, {.op_times = true});
    placement.traits = TraitsOf(*problem, device_of_op, placement.simulated);
    placement.simulated.start.clear();  // large, and not needed any more
    placement.simulated.finish.clear();
    placement.shares = ComputeCostSourceShares(problem->costs(), device_of_op);
  }
  verification.problem = std::move(problem);
}

Verification Verify(std::shared_ptr<const Problem> problem,
                    std::shared_ptr<Backend> backend,
                    std::span<const Candidate> candidates,
                    const VerificationOptions& options) {
  const Clock::time_point begin = Clock::now();
  Verification result;
  result.problem = problem;
  result.mode = options.mode;
  result.issue_order = options.issue_order;
  result.rounds = options.rounds;
  const auto simulator = MakeSimulator(problem, AsExecuted(*problem, options.issue_order));
  std::vector<Placement> placements;
  std::vector<std::vector<int>> issue_orders;
  for (const Candidate& candidate : candidates) {
    const std::string why = WhyUnfitting(*simulator, candidate, options.issue_order);
    if (why.empty()) {
      placements.push_back(candidate.placement);
      issue_orders.push_back(candidate.issue_order);
      result.placements.push_back({.candidate = candidate});
    } else {
      result.unfitting.push_back(fmt::format("{}: {}", candidate.label, why));
    }
  }
  if (placements.empty()) {
    throw InputError(
        fmt::format("no placement can be executed: {}", fmt::join(result.unfitting, "; ")));
  }

  SimulateAgain(result, problem);
  std::vector<const LabelledPlacement*> calibration;
  for (const LabelledPlacement& drawn : options.calibration) {
    if (!WhyUnfitting(*simulator, {.placement = drawn.placement}, options.issue_order).empty()) {
      continue;
    }
    calibration.push_back(&drawn);
    placements.push_back(drawn.placement);
    issue_orders.emplace_back();
  }

  result.clocks_before = backend->ReadClocks();
  const std::int64_t alone = options.warmup + RoundsAlone(options);
  const std::int64_t together = static_cast<std::int64_t>(placements.size()) *
                                (options.warmup + options.rounds + options.traced_rounds);
  const auto measure_alone = [&](std::int64_t before) {
    return MeasureAlone(
        problem, backend, result.placements[0].candidate, options, [&](std::int64_t done) {
          if (options.progress) options.progress(before + done, 2 * alone + together);
        });
  };
  const double first = measure_alone(0);
  ExecutorOptions executor_options{.warmup = options.warmup,
                                   .rounds = options.rounds,
                                   .traced_rounds = options.traced_rounds,
                                   .mode = options.mode,
                                   .issue_order = options.issue_order};
  executor_options.progress = [&](std::int64_t done, std::int64_t) {
    if (options.progress) options.progress(alone + done, 2 * alone + together);
    return !(options.stop && options.stop());
  };
  std::vector<StepMeasurement> measured =
      Executor(problem, backend, executor_options).Measure(placements, issue_orders);
  RequireNotStopped(options);
  EMPLACE_CHECK(measured.size() == placements.size());
  for (size_t i = 0; i < calibration.size(); ++i) {
    result.calibration.push_back(MakeCalibrationPlacement(
        *problem, *calibration[i], measured[result.placements.size() + i]));
  }
  for (size_t i = 0; i < result.placements.size(); ++i) {
    measured[i].plan.reset();
    measured[i].traces.clear();
    result.placements[i].measured = std::move(measured[i]);
  }
  result.reference_drift = measure_alone(alone + together) / first - 1;
  result.clocks_after = backend->ReadClocks();
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return result;
}

Verification VerifyWithProgress(std::shared_ptr<const Problem> problem,
                                std::shared_ptr<Backend> backend,
                                std::span<const Candidate> candidates,
                                VerificationOptions options,
                                bool enabled) {
  std::optional<Progress> progress;  // made when the amount of work is known
  const std::string title = "executing " + problem->graph().name();
  options.progress = [&](std::int64_t done, std::int64_t total) {
    if (!progress) progress.emplace(title, total, enabled);
    progress->Update(done, "steps");
  };
  return Verify(std::move(problem), std::move(backend), candidates, options);
}

std::vector<FidelityPoint> FidelityPoints(const Verification& verification,
                                          std::span<const Nanos> simulated) {
  std::vector<FidelityPoint> points;
  for (size_t i = 0; i < verification.placements.size(); ++i) {
    const VerifiedPlacement& placement = verification.placements[i];
    const std::vector<Nanos>& repeats = placement.measured.step_times;
    const Nanos time = simulated.empty() ? placement.simulated.step_time : simulated[i];
    points.push_back({placement.candidate.label,
                      static_cast<double>(time),
                      placement.measured.step.median,
                      {repeats.begin(), repeats.end()}});
  }
  return points;
}

std::vector<ResidualPoint> ResidualPoints(const Verification& verification) {
  std::vector<ResidualPoint> points;
  for (const VerifiedPlacement& placement : verification.placements) {
    points.push_back({static_cast<double>(placement.simulated.step_time),
                      placement.measured.step.median,
                      placement.traits});
  }
  return points;
}

VerificationSummary Summarize(const Verification& verification) {
  VerificationSummary summary{.warnings = verification.warnings};
  const std::vector<VerifiedPlacement>& placements = verification.placements;
  const int num_devices = verification.problem->num_devices();
  const std::vector<FidelityPoint> points = FidelityPoints(verification);
  if (placements.size() >= 2) {
    summary.fidelity = ComputeFidelity(points);
    summary.pairs = ComparePairs(points);
  }
  std::vector<double> log_ratios;
  for (const FidelityPoint& point : points) {
    log_ratios.push_back(LogRatio(point.simulated, point.measured));
  }
  summary.resolved = ResolvedDifference(log_ratios);
  const PredictionInterval& interval = verification.interval.interval;
  if (interval.is_bounded()) summary.intervals = CheckIntervals(points, interval);
  const std::vector<ResidualPoint> residuals = ResidualPoints(verification);
  summary.residuals = TestResiduals(std::span(&residuals, 1));
  std::vector<double> busy_errors(num_devices, 0), busy_counts(num_devices, 0);
  double arena = 0, peak = 0, busy = 0, simulated_busy = 0, proxy = 0;
  for (const VerifiedPlacement& placement : placements) {
    const StepMeasurement& measured = placement.measured;
    const double error =
        RelativeError(static_cast<double>(placement.simulated.step_time), measured.step.median);
    summary.mape += error / static_cast<double>(placements.size());
    summary.max_error = std::max(summary.max_error, error);
    bool equal = true;
    double placement_busy = 0;
    for (int d = 0; d < num_devices; ++d) {
      const DeviceOutcome& simulated = placement.simulated.devices[d];
      const auto device_busy = static_cast<double>(measured.busy[d]);
      equal = equal && simulated.peak == measured.peak[d];
      arena += static_cast<double>(measured.arena[d]);
      peak += static_cast<double>(measured.peak[d]);
      placement_busy += device_busy;
      simulated_busy += static_cast<double>(simulated.busy);
      if (device_busy < kBusyShare * measured.step.median || device_busy <= 0) continue;
      busy_errors[d] += RelativeError(static_cast<double>(simulated.busy), device_busy);
      ++busy_counts[d];
    }
    summary.equal_peaks += equal;
    busy += placement_busy;
    proxy += measured.proxy_share * placement_busy;
    for (int source = 0; source < kNumCostSources; ++source) {
      summary.shares[source] += placement.shares[source] / static_cast<double>(placements.size());
    }
  }
  for (int d = 0; d < num_devices; ++d) {
    summary.busy_error.push_back(busy_counts[d] > 0 ? busy_errors[d] / busy_counts[d]
                                                    : std::numeric_limits<double>::quiet_NaN());
  }
  summary.arena_overhead = peak > 0 ? arena / peak - 1 : 0;
  summary.proxy_share = busy > 0 ? proxy / busy : 0;
  summary.busy_ratio = simulated_busy > 0 ? busy / simulated_busy : 1;
  if (summary.busy_ratio > kSlower) {
    summary.warnings.push_back(
        fmt::format("the ops took {:.2f} times their costs: this machine does other work, or the "
                    "costs are of another machine",
                    summary.busy_ratio));
  }
  summary.clock_change =
      LargestClockChange(verification.clocks_before, verification.clocks_after, summary.warnings);
  summary.reference_drift = verification.reference_drift;
  if (std::abs(summary.reference_drift) > kSteady) {
    summary.warnings.push_back(
        fmt::format("the machine drifted: the step time of \"{}\" changed by {:+.1f} % from the "
                    "beginning to the end",
                    placements[0].candidate.label,
                    100 * summary.reference_drift));
  }
  summary.verdict = VerdictOf(verification, summary);
  return summary;
}

std::vector<Ablation> Ablate(const Verification& verification, const AblatedProblems& problems) {
  const auto figures = [&](std::string name,
                           const std::shared_ptr<const Problem>& problem,
                           bool channel_contention = true) {
    EMPLACE_CHECK(problem->num_groups() == verification.problem->num_groups());
    SimulatorOptions options = AsExecuted(*problem, verification.issue_order);
    options.channel_contention = channel_contention;
    const std::vector<Nanos> simulated = Resimulate(verification, problem, options);
    return Ablation{std::move(name), ComputeFidelity(FidelityPoints(verification, simulated))};
  };
  std::vector<Ablation> ablations;
  if (verification.placements.size() < 2) return ablations;
  ablations.push_back(figures("no host cost", WithoutHostCost(verification.problem)));
  ablations.push_back(figures("no channel contention", verification.problem, false));
  const std::pair<const char*, std::shared_ptr<const Problem>> given[] = {
      {"isolated op costs", problems.isolated},
      {"calibrated before", problems.earlier},
      {"no interference", problems.no_interference},
      {"no cold reads", problems.no_cold_reads}};
  for (const auto& [name, problem] : given) {
    if (problem != nullptr) ablations.push_back(figures(name, problem));
  }
  return ablations;
}

std::vector<std::string> CompareMachines(const std::map<std::string, std::string>& measured,
                                         const std::map<std::string, std::string>& here,
                                         const std::string& where) {
  std::vector<std::string> warnings;
  for (const char* property : {"cpu", "gpu"}) {
    const auto theirs = measured.find(property), ours = here.find(property);
    if (theirs == measured.end() || ours == here.end() || theirs->second == ours->second) continue;
    warnings.push_back(
        fmt::format("{}: measured on another machine: its {} is \"{}\", this machine's is \"{}\"",
                    where,
                    property,
                    theirs->second,
                    ours->second));
  }
  if (const auto drift = measured.find(kDriftProperty); drift != measured.end()) {
    warnings.push_back(
        fmt::format("{}: measured while the machine drifted: {}", where, drift->second));
  }
  return warnings;
}

}  // namespace emplace
