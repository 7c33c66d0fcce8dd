// Held-out placements on a machine of numbers, where the right answer is known to the nanosecond.

#include "experiments/machine/held_out.h"

#include <cmath>

#include <doctest/doctest.h>

#include "experiments/step_interval.h"
#include "profilers/measure/profile.h"
#include "tests/profilers/measure/virtual_machine.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// A profile whose steps are held out, one after the other.
CostTable ProfileWithHeldOut(const VirtualMachine& machine,
                             const std::vector<std::shared_ptr<const Graph>>& graphs,
                             int placements) {
  const auto backend = machine.Make();
  ProfileOptions options;
  options.max_link_bytes = 1 << 16;
  options.in_situ_placements = placements;
  options.in_situ_rounds = 3;
  ProfileEvents events;
  events.hold_out = [&](const ExecutedGraph& executed) {
    return HoldOut(executed, *backend, options.mode);
  };
  return ProfileMachine(backend, graphs, options, {}, events);
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
    const StepInterval interval = FindInterval(&table, "h", Semantics::kStream);
    CHECK(interval.interval.low == 1);
    CHECK(interval.interval.high == 1);
  }
}

TEST_CASE("with noise the held-out errors are of its size") {
  Rng rng(22);
  VirtualMachine machine = MakeVirtualMachine(0);
  machine.times.noise = 0.1;
  const CostTable table = ProfileWithHeldOut(machine, {RandomMatrixGraph(rng, 80, "g")}, 17);
  REQUIRE(table.held_out.size() == 17);
  const StepInterval found = FindInterval(&table, "g", Semantics::kStream);
  CHECK(found.interval.low < found.interval.high);
  CHECK(found.interval.low > 0.85);
  CHECK(found.interval.high < 1.15);
}

TEST_CASE("a placement's own timings are not in the model that simulates it") {
  // An op that takes ten times as long in one placement: the others know nothing of that.
  Rng rng(23);
  const auto graph = RandomMatrixGraph(rng, 60, "g");
  const auto backend = MakeVirtualMachine(0).Make();
  std::vector<CalibrationPlacement> placements;
  ProfileOptions options;
  options.max_link_bytes = 1 << 16;
  options.in_situ_placements = 10;
  ProfileEvents events;
  CostTable before;
  events.hold_out = [&](const ExecutedGraph& executed) {
    before = executed.table;
    for (size_t i = 0; i < executed.placements.size(); ++i) {
      StepMeasurement measured = executed.measurements[i];
      if (i == 3) {  // ten times as long, all of it
        for (StepRecord& trace : measured.traces) {
          for (auto* times : {&trace.start, &trace.finish}) {
            for (Nanos& time : *times) time *= 10;
          }
        }
        measured.step.median *= 10;
      }
      placements.push_back(
          MakeCalibrationPlacement(*executed.problem, executed.placements[i], measured));
    }
    return std::vector<HeldOutStep>{};
  };
  ProfileMachine(backend, {&graph, 1}, options, {}, events);
  REQUIRE(placements.size() == 10);
  const std::vector<HeldOutStep> steps =
      HoldOut(graph, placements, before, {}, *backend, DispatchMode::kGraph);
  REQUIRE(steps.size() == 10);
  CHECK(steps[3].placement == placements[3].drawn.label);
  CHECK(steps[3].simulated_ns * 10 == steps[3].measured_ns);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (i != 3) CHECK(steps[i].simulated_ns > steps[i].measured_ns);  // it is in their model
  }
  CHECK(HoldOut(graph, std::span(placements).first(1), before, {}, *backend, DispatchMode::kGraph)
            .empty());
}

}  // namespace
