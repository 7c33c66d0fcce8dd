// Calibrations of a machine of numbers, where the right answer is known to the nanosecond.

#include "profilers/measure/calibrate.h"

#include <doctest/doctest.h>

#include "profilers/measure/profile.h"
#include "profilers/statistics/prediction_interval.h"
#include "tests/profilers/measure/virtual_machine.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

CostTable ProfileWithHeldOut(const VirtualMachine& machine,
                             const std::vector<std::shared_ptr<const Graph>>& graphs,
                             int placements) {
  ProfileOptions options;
  options.max_link_bytes = 1 << 16;
  options.in_situ_placements = placements;
  options.in_situ_rounds = 3;
  return ProfileMachine(machine.Make(), graphs, options);
}

TEST_CASE("a model of the other placements is exact where every op always takes the same time") {
  Rng rng(21);
  for (const int num_gpus : {0, 1}) {
    const CostTable table =
        ProfileWithHeldOut(MakeVirtualMachine(num_gpus),
                           {RandomMatrixGraph(rng, 60, "g"), RandomMatrixGraph(rng, 90, "h")},
                           12);
    CHECK(table.warnings.empty());
    REQUIRE(table.held_out.size() == 24);
    for (const HeldOutStep& step : table.held_out) {
      CAPTURE(step.placement);
      CHECK(step.simulated_ns == step.measured_ns);
      CHECK(step.samples == 3);
      CHECK(step.stream_ns == 0);  // no neighbours: executed as streams
      CHECK(step.queue_ns > 0);
    }
  }
}

TEST_CASE("with noise the held-out errors are of its size") {
  Rng rng(22);
  VirtualMachine machine = MakeVirtualMachine(0);
  machine.times.noise = 0.1;
  const CostTable table = ProfileWithHeldOut(machine, {RandomMatrixGraph(rng, 80, "g")}, 17);
  REQUIRE(table.held_out.size() == 17);
  std::vector<double> log_ratios;
  for (const HeldOutStep& step : table.held_out) {
    log_ratios.push_back(LogRatio(step.simulated_ns, step.measured_ns));
  }
  const PredictionInterval interval = CalibrateInterval(log_ratios);
  CHECK(interval.low < interval.high);
  CHECK(interval.low > 0.85);
  CHECK(interval.high < 1.15);
}

TEST_CASE("a placement's own timings are not in the model that simulates it") {
  // A step that takes ten times as long in one placement: the others know nothing of that.
  Rng rng(23);
  const auto graph = RandomMatrixGraph(rng, 60, "g");
  const auto backend = MakeVirtualMachine(0).Make();
  ProfileOptions options;
  options.max_link_bytes = 1 << 16;
  options.in_situ_placements = 0;
  const Calibration calibration = Calibrate(
      ProfileMachine(backend, {&graph, 1}, options), backend, DispatchMode::kGraph, "alone");
  const auto problem = calibration.MakeProblem(graph, Semantics::kStream);
  const std::vector<LabelledPlacement> drawn = DrawPlacements(*problem, 10, 1);
  std::vector<CalibrationPlacement> placements;
  for (size_t i = 0; i < drawn.size(); ++i) {
    StepMeasurement measured = Executor(problem, backend, {.rounds = 3, .traced_rounds = 4})
                                   .Measure(std::span(&drawn[i].placement, 1))[0];
    if (i == 3) {
      for (StepRecord& trace : measured.traces) {
        for (auto* times : {&trace.start, &trace.finish}) {
          for (Nanos& time : *times) time *= 10;
        }
      }
      measured.step.median *= 10;
    }
    placements.push_back(MakeCalibrationPlacement(*problem, drawn[i], measured));
  }
  const std::vector<HeldOutStep> steps = calibration.HoldOut(graph, placements, {});
  REQUIRE(steps.size() == 10);
  CHECK(steps[3].placement == drawn[3].label);
  CHECK(steps[3].simulated_ns * 10 == steps[3].measured_ns);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (i != 3) CHECK(steps[i].simulated_ns > steps[i].measured_ns);  // it is in their model
  }
  // Earlier timings are in every model.
  const auto first = std::span(placements).first(2);
  CHECK(calibration.HoldOut(graph, first, {})[0].simulated_ns == placements[0].step.median);
  CHECK(calibration.HoldOut(graph, first, placements[3].timings)[0].simulated_ns >
        placements[0].step.median);
  CHECK(calibration.HoldOut(graph, first.first(1), {}).empty());
}

}  // namespace
