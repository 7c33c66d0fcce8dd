#include "experiments/machine/held_out.h"

#include <algorithm>
#include <utility>

#include "experiments/as_executed.h"
#include "framework/base/error.h"
#include "framework/cost/cost_model.h"
#include "framework/graph/coarsen.h"
#include "profilers/measure/calibrate.h"
#include "simulator/simulator.h"

namespace emplace {
namespace {

// Op by op, with the costs that go with the semantics.
std::shared_ptr<const Problem> MakeHeldOutProblem(const std::shared_ptr<const Graph>& graph,
                                                  const CalibratedModel& model,
                                                  Semantics semantics) {
  const bool apart = CountsNeighbors(semantics);
  return std::make_shared<const Problem>(
      graph,
      ColocateByLabel(*graph, Grouping::Identity(graph->num_ops())),
      model.cluster,
      ComputeCosts(
          *graph, *model.cluster, "held out", {.table = model.table.get(), .apart = apart}));
}

bool NeedsFits(const Problem& problem) {
  return std::ranges::any_of(problem.costs().rung, [](Rung rung) {
    return rung != Rung::kMeasured && rung != Rung::kFree;
  });
}

}  // namespace

CalibrationPlacement MakeCalibrationPlacement(const Problem& problem,
                                              LabelledPlacement drawn,
                                              const StepMeasurement& measurement) {
  CalibrationPlacement made{.drawn = std::move(drawn), .step = measurement.step};
  made.timings.Add(problem, ExpandPlacement(made.drawn.placement, problem.grouping()), measurement);
  return made;
}

InSituTimings Together(std::span<const CalibrationPlacement> placements, int without) {
  InSituTimings all;
  for (size_t i = 0; i < placements.size(); ++i) {
    if (static_cast<int>(i) != without) all.Add(placements[i].timings);
  }
  return all;
}

CalibratedModel Calibrate(const CostTable& table,
                          const InSituTimings& timings,
                          const Backend& backend,
                          const std::string& cluster_name,
                          DispatchMode mode,
                          bool fits) {
  auto fresh = std::make_shared<CostTable>(table);
  timings.WriteOps(*fresh);
  timings.WriteCopies(*fresh);
  if (mode == DispatchMode::kGraph) timings.WriteGaps(*fresh);
  if (fits) FitLadder(*fresh);
  auto cluster =
      std::make_shared<const Cluster>(CalibratedCluster(*fresh, backend, cluster_name, mode));
  return {std::move(fresh), std::move(cluster)};
}

std::vector<HeldOutStep> HoldOut(const std::shared_ptr<const Graph>& graph,
                                 std::span<const CalibrationPlacement> placements,
                                 const CostTable& table,
                                 const InSituTimings& earlier,
                                 const Backend& backend,
                                 DispatchMode mode) {
  std::vector<HeldOutStep> steps;
  if (placements.size() < 2) return steps;  // nothing to calibrate the other on
  for (size_t i = 0; i < placements.size(); ++i) {
    InSituTimings others = Together(placements, static_cast<int>(i));
    others.Add(earlier);
    // Fits take long, and where every op was measured nothing comes from them.
    CalibratedModel model = Calibrate(table, others, backend, "held out", mode, false);
    if (NeedsFits(*MakeHeldOutProblem(graph, model, Semantics::kStream))) {
      model = Calibrate(table, others, backend, "held out", mode);
    }
    const auto simulate = [&](Semantics semantics) {
      const Nanos time =
          MakeSimulator(MakeHeldOutProblem(graph, model, semantics), {.semantics = semantics})
              ->Evaluate(placements[i].drawn.placement)
              .step_time;
      return static_cast<double>(time);
    };
    const Semantics executed = SemanticsAsExecuted(*model.cluster);
    steps.push_back({.graph = graph->name(),
                     .placement = placements[i].drawn.label,
                     .simulated_ns = simulate(executed),
                     .measured_ns = placements[i].step.median,
                     .samples = placements[i].step.samples,
                     .stream_ns = executed == Semantics::kStream ? 0 : simulate(Semantics::kStream),
                     .queue_ns = simulate(Semantics::kQueue)});
  }
  return steps;
}

std::vector<HeldOutStep> HoldOut(const ExecutedGraph& executed,
                                 const Backend& backend,
                                 DispatchMode mode) {
  EMPLACE_CHECK(executed.placements.size() == executed.measurements.size());
  std::vector<CalibrationPlacement> placements;
  for (size_t i = 0; i < executed.placements.size(); ++i) {
    placements.push_back(MakeCalibrationPlacement(
        *executed.problem, executed.placements[i], executed.measurements[i]));
  }
  const auto graph = std::make_shared<const Graph>(executed.problem->graph());
  return HoldOut(graph, placements, executed.table, executed.earlier, backend, mode);
}

}  // namespace emplace
