// The simulator on a real GPU, where there is one; what is said where there is none. The same code
// without a GPU: gpu/gpu_evaluator_test.cc.

#include "simulator/gpu/gpu_simulator.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "simulator/gpu/gpu_module.h"
#include "tests/support/lane_problems.h"
#include "tests/support/neighbors.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

const SimulatorOptions kOnGpu{.semantics = Semantics::kStream};

// False, with a line that says so, where there is no GPU.
bool GpuCanSimulate() {
  const std::string reason = WhyNoGpu(0);
  if (!reason.empty()) MESSAGE("skipped: " << reason);
  return reason.empty();
}

TEST_CASE("without a GPU it is said why, and what to do") {
  const std::string reason = WhyNoGpu(0);
  if (reason.empty()) return;
  CHECK(reason.starts_with("gpu 0: cannot simulate on GPUs: "));
  CHECK(reason.ends_with("; simulate without a GPU, or on a machine with one"));
  if (ThisSimulatorGpuModule().module == nullptr) {
    CHECK(reason.find(ThisSimulatorGpuModule().error) != std::string::npos);
  }
  ProblemBuilder b = Gpus(1);
  b.Op("a", {1});
  CHECK_THROWS_WITH_AS(MakeGpuSimulator(b.Build(), kOnGpu, 0), reason.c_str(), RunError);
  CHECK_THROWS_WITH_AS(MakeGpuSimulator(b.Build(), {.semantics = Semantics::kQueue}, 0),
                       "a GPU simulates stream semantics and not queue",
                       InputError);
}

TEST_CASE("this build's module opens") {
  const OpenedModule& opened = ThisSimulatorGpuModule();
  if (opened.error == "built without CUDA") return;
  CHECK(opened.error == "");
  REQUIRE(opened.module != nullptr);
  const GpuCount found = static_cast<const SimulatorGpuModule*>(opened.module)->count();
  CHECK((found.count == 0) != found.none.empty());
}

TEST_CASE("semantics and objectives that no GPU simulates") {
  CHECK(WhyNotOnGpu(Semantics::kStream, Objective::kStepTime) == "");
  CHECK(WhyNotOnGpu(Semantics::kQueue, Objective::kStepTime) ==
        "a GPU simulates stream semantics and not queue");
  CHECK(WhyNotOnGpu(Semantics::kStream, Objective::kPeriod) ==
        "a GPU simulates step times and not the period");
}

TEST_CASE("GPU: one that is not there") {
  if (!GpuCanSimulate()) return;
  CHECK(WhyNoGpu(99).starts_with("gpu 99: this machine has "));
  CHECK(WhyNoGpu(-1).starts_with("gpu -1: this machine has "));
}

TEST_CASE("GPU: random problems and neighbours equal the reference") {
  if (!GpuCanSimulate()) return;
  Rng rng(31);
  for (int round = 0; round < 100 * EMPLACE_TEST_SCALE; ++round) {
    CAPTURE(round);
    const auto problem = RandomLaneProblem(rng, round);
    SimulatorOptions options = kOnGpu;
    options.count_gaps = round % 2 == 0;
    options.memory = round % 4 != 3;
    options.channel_contention = round % 7 != 0;
    CheckEvaluator(*MakeGpuSimulator(problem, options, 0), options, rng, 300);
  }
}

TEST_CASE("GPU: batches of many launches equal the processor") {
  if (!GpuCanSimulate()) return;
  Rng rng(32);
  for (const int num_ops : {100, 3000}) {  // columns in shared memory, and too large for it
    const auto problem = RandomProblem(rng, {.num_ops = num_ops, .num_devices = 4});
    const auto on_gpu = MakeGpuSimulator(problem, kOnGpu, 0),
               on_cpu = MakeSimulator(problem, kOnGpu);
    const Placement base = RandomPlacement(rng, *problem);
    const RandomNeighbors neighbors(rng, *problem, 10'000'000 / num_ops);
    ColumnStorage found(neighbors.begin.size() - 1, 4), expected(neighbors.begin.size() - 1, 4);
    on_gpu->EvaluateNeighbors({base, neighbors.begin, neighbors.moves}, found.columns());
    on_cpu->EvaluateNeighbors({base, neighbors.begin, neighbors.moves}, expected.columns());
    CHECK(found.step_time == expected.step_time);
    CHECK(found.deficit == expected.deficit);
    CHECK(found.peak == expected.peak);
    CHECK(found.busy == expected.busy);
  }
}

}  // namespace
