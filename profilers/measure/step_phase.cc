#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "framework/cost/op_signature.h"
#include "framework/search/problem.h"
#include "profilers/executor/compile_plan.h"
#include "profilers/executor/executor.h"
#include "profilers/measure/calibrate.h"
#include "profilers/measure/phases.h"

namespace emplace {
namespace {

constexpr int kLeastPlacements = 3;
constexpr int kWarmup = 1, kUntracedRounds = 3;

// Returns the step time with all ops on the device that is slowest for them together [s].
double LongestStep(const Problem& problem) {
  double longest = 0;
  for (int d = 0; d < problem.num_devices(); ++d) {
    double sum = 0;
    for (int op = 0; op < problem.num_ops(); ++op) {
      if (problem.costs().allowed(op, d)) sum += static_cast<double>(problem.costs().at(op, d));
    }
    longest = std::max(longest, sum * 1e-9);
  }
  return longest;
}

// Returns the wanted number of placements, or as many as time permits (at least kLeastPlacements).
int CountPlacements(ProfilingSession& session, const Problem& problem) {
  const ProfileOptions& options = session.options();
  const double step = LongestStep(problem);
  const double per_placement = step * (kWarmup + kUntracedRounds + options.in_situ_rounds);
  const int wanted = options.in_situ_placements;
  if (per_placement * wanted <= options.in_situ_seconds) return wanted;
  const int fitting = static_cast<int>(options.in_situ_seconds / per_placement);
  const int count = std::min(wanted, std::max(kLeastPlacements, fitting));
  if (count < wanted) {
    session.Warn(
        fmt::format("graph \"{}\": executed {} instead of {} placements, because a step takes up "
                    "to {:.2f} s and all steps may take {:.0f} s",
                    problem.graph().name(),
                    count,
                    wanted,
                    step,
                    options.in_situ_seconds));
  }
  return count;
}

// Draws placements that fit the devices' memory.
std::vector<LabelledPlacement> DrawFitting(ProfilingSession& session, const Problem& problem) {
  std::vector<LabelledPlacement> placements;
  const int count = CountPlacements(session, problem);
  for (LabelledPlacement& drawn : DrawPlacements(problem, count, session.options().seed)) {
    const ExecutionPlan plan =
        CompilePlan(problem, ExpandPlacement(drawn.placement, problem.grouping()));
    bool fits = true;
    for (int d = 0; d < problem.num_devices() && fits; ++d) {
      const Device& device = problem.cluster().device(d);
      fits = plan.arena_bytes[d] <= device.memory;
      if (fits) continue;
      session.Warn(fmt::format(
          "graph \"{}\": placement \"{}\" left out: it takes {} B on {}, which has {} B",
          problem.graph().name(),
          drawn.label,
          plan.arena_bytes[d],
          device.name,
          device.memory));
    }
    if (fits) placements.push_back(std::move(drawn));
  }
  return placements;
}

// Replaces the table's entries of the graph.
void SetHeldOut(CostTable& table, const std::string& graph, const std::vector<HeldOutStep>& steps) {
  std::erase_if(table.held_out, [&](const HeldOutStep& step) { return step.graph == graph; });
  table.held_out.insert(table.held_out.end(), steps.begin(), steps.end());
}

void MeasureGraph(ProfilingSession& session,
                  const std::shared_ptr<const Graph>& graph,
                  double seconds_for_others,
                  InSituTimings& timings) {
  FitLadder(session.table());  // for ops whose kernels failed
  const Calibration calibration =
      Calibrate(session.table(), session.shared_backend(), session.options().mode, "profile");
  const auto problem = calibration.MakeProblem(
      graph, Semantics::kStream, [&](const std::string& warning) { session.Warn(warning); });
  const std::vector<LabelledPlacement> drawn = DrawFitting(session, *problem);
  if (drawn.empty()) return;
  std::vector<Placement> placements;
  for (const LabelledPlacement& one : drawn) placements.push_back(one.placement);
  const double begin = session.Elapsed();
  ExecutorOptions options{.warmup = kWarmup,
                          .rounds = kUntracedRounds,
                          .traced_rounds = session.options().in_situ_rounds,
                          .mode = session.options().mode};
  options.progress = [&](std::int64_t done, std::int64_t total) {
    const double per_step =
        (session.Elapsed() - begin) / static_cast<double>(std::max<std::int64_t>(done, 1));
    session.Expect("steps", seconds_for_others + per_step * static_cast<double>(total - done));
    session.Report(fmt::format("steps of {} ({} of {})", graph->name(), done, total));
    return !session.IsStopped();
  };
  const std::vector<StepMeasurement> measured =
      Executor(problem, session.shared_backend(), options).Measure(placements);
  std::vector<CalibrationPlacement> executed;
  for (size_t i = 0; i < drawn.size(); ++i) {
    executed.push_back(MakeCalibrationPlacement(*problem, drawn[i], measured[i]));
  }
  if (!session.IsStopped()) {
    SetHeldOut(session.table(), graph->name(), calibration.HoldOut(graph, executed, timings));
  }
  timings.Add(Together(executed));
}

}  // namespace

std::vector<double> ExpectedSteps(ProfilingSession& session,
                                  std::span<const std::shared_ptr<const Graph>> graphs) {
  const ProfileOptions& options = session.options();
  const auto kinds = static_cast<double>(session.table().kinds.size());
  std::vector<double> expected;
  for (const auto& graph : graphs) {
    double step = 0;
    for (int op = 0; op < graph->num_ops(); ++op) {
      const std::string signature = OpSignature(*graph, op);
      for (const KindCosts& kind : session.table().kinds) {
        const OpMeasurement* known = kind.Find(signature);
        if (known != nullptr) step += known->Time().value_or(0) * 1e-9 / kinds;
      }
    }
    const double all =
        step * (kWarmup + kUntracedRounds + options.in_situ_rounds) * options.in_situ_placements;
    expected.push_back(std::min(all, options.in_situ_seconds));
  }
  return expected;
}

void MeasureSteps(ProfilingSession& session,
                  std::span<const std::shared_ptr<const Graph>> graphs,
                  const OpItems& ops,
                  const std::set<SignatureOnDevice>& failed) {
  CostTable& table = session.table();
  const auto is_seen = [&](const SignatureOnDevice& key) {
    const OpMeasurement* op = table.Find(session.kind_of(key.second).name)->Find(key.first);
    return failed.contains(key) || (op != nullptr && op->in_situ);
  };
  InSituTimings timings;
  const std::vector<double> expected = ExpectedSteps(session, graphs);
  const double begin = session.Elapsed();
  double expected_so_far = 0;
  for (size_t g = 0; g < graphs.size() && !session.IsStopped(); ++g) {
    session.Report("steps of " + graphs[g]->name());
    if (std::all_of(ops.of_graph[g].begin(), ops.of_graph[g].end(), is_seen)) continue;
    // Expected time of the remaining graphs, scaled by the delay of the previous ones.
    const double factor = expected_so_far > 0 ? (session.Elapsed() - begin) / expected_so_far : 1;
    const double seconds_for_others =
        factor *
        std::accumulate(expected.begin() + static_cast<std::ptrdiff_t>(g) + 1, expected.end(), 0.0);
    session.Expect("steps", factor * expected[g] + seconds_for_others);
    try {
      MeasureGraph(session, graphs[g], seconds_for_others, timings);
    } catch (const std::runtime_error& error) {
      // Here an InputError means that the graph cannot be placed on these devices as a whole. Its
      // ops keep the times measured alone.
      session.HandleFailure(session.representatives(),
                            fmt::format("whole steps of graph \"{}\"", graphs[g]->name()),
                            error);
    }
    expected_so_far += expected[g];
    timings.Write(table, session.options().mode);
    table.properties[kDispatchProperty] = ToString(session.options().mode);
    session.Checkpoint();
    if (g + 1 < graphs.size() && !session.IsStopped()) session.LookForDrift();
  }
}

}  // namespace emplace
