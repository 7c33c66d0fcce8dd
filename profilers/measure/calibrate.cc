#include "profilers/measure/calibrate.h"

#include <algorithm>
#include <utility>

#include "framework/graph/coarsen.h"
#include "framework/search/costed_problem.h"
#include "simulator/simulator.h"

namespace emplace {
namespace {

bool NeedsFits(const Problem& problem) {
  return std::ranges::any_of(problem.costs().source, [](CostSource source) {
    return source != CostSource::kMeasured && source != CostSource::kFree;
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

Calibration Calibrate(CostTable table,
                      std::shared_ptr<const Backend> backend,
                      DispatchMode mode,
                      const std::string& name) {
  auto cluster = std::make_shared<const Cluster>(CalibratedCluster(table, *backend, name, mode));
  return {.table = std::make_shared<const CostTable>(std::move(table)),
          .cluster = std::move(cluster),
          .backend = std::move(backend),
          .mode = mode,
          .where = name};
}

Calibration Calibration::With(const InSituTimings& timings, bool fits) const {
  CostTable fresh = *table;
  timings.Write(fresh, mode);
  if (fits) FitLadder(fresh);
  Calibration made = Calibrate(std::move(fresh), backend, mode, cluster->name());
  made.where = where;
  return made;
}

Calibration Calibration::OfIsolatedTimings() const {
  auto isolated = std::make_shared<CostTable>(*table);
  FitLadder(*isolated, false);
  Calibration made = *this;
  made.table = std::move(isolated);
  made.prefer_in_situ = false;
  return made;
}

std::shared_ptr<const Problem> Calibration::MakeProblem(
    const std::shared_ptr<const Graph>& graph,
    Semantics semantics,
    std::function<void(const std::string&)> warn) const {
  return CostedProblem(graph,
                       cluster,
                       where,
                       {.table = table.get(),
                        .prefer_in_situ = prefer_in_situ,
                        .apart = CountsNeighbors(semantics),
                        .warn = std::move(warn)})
      .WithGroups(ColocateByLabel(*graph, Grouping::Identity(graph->num_ops())));
}

std::vector<HeldOutStep> Calibration::HoldOut(const std::shared_ptr<const Graph>& graph,
                                              std::span<const CalibrationPlacement> placements,
                                              const InSituTimings& earlier) const {
  std::vector<HeldOutStep> steps;
  if (placements.size() < 2) return steps;  // no placement to calibrate on
  for (size_t i = 0; i < placements.size(); ++i) {
    InSituTimings others = Together(placements, static_cast<int>(i));
    others.Add(earlier);
    // Fits take long, and they are not used if every op was measured.
    Calibration model = With(others, false);
    if (NeedsFits(*model.MakeProblem(graph, Semantics::kStream))) model = With(others);
    const auto simulate = [&](Semantics semantics) {
      const Nanos time =
          MakeSimulator(model.MakeProblem(graph, semantics), {.semantics = semantics})
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

}  // namespace emplace
