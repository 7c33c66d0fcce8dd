#include "experiments/machine/step_traits.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "framework/base/random.h"
#include "simulator/simulator.h"
#include "tests/support/problems.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

double TraitOf(const std::array<double, kNumStepTraits>& traits, StepTrait trait) {
  return traits[static_cast<size_t>(trait)];
}

TEST_CASE("traits of a fork by hand") {
  // a (40 ns) and b (60 ns) feed c (100 ns) and d (10 ns); 50 B each over channels of 1 B/ns.
  ProblemBuilder b = Gpus(2, 0);
  b.Op("a", {40}, {}, 50);
  b.Op("b", {60}, {}, 50);
  b.Op("c", {100}, {0, 1});
  b.Op("d", {10}, {0});
  const auto problem = b.Build();
  const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kStream});
  const auto traits = [&](std::vector<DeviceIndex> devices) {
    const Outcome outcome = simulator->Evaluate(Placement{devices}, {.op_times = true});
    return TraitsOf(*problem, devices, outcome);
  };
  const auto together = traits({0, 0, 0, 0});
  CHECK(TraitOf(together, StepTrait::kCrossingBytes) == 0);
  CHECK(TraitOf(together, StepTrait::kCrossings) == 0);
  CHECK(TraitOf(together, StepTrait::kOverlap) == 0);
  CHECK(TraitOf(together, StepTrait::kStepTime) == 210);
  // a 0-40, b 40-100 on d0. a crosses once for c and d, b once. d1: c after b's copy, 150-250;
  // d behind it in the stream, 250-260. Nothing overlaps.
  const auto apart = traits({0, 0, 1, 1});
  CHECK(TraitOf(apart, StepTrait::kCrossingBytes) == 100);
  CHECK(TraitOf(apart, StepTrait::kCrossings) == 2);
  CHECK(TraitOf(apart, StepTrait::kOverlap) == 0);
  CHECK(TraitOf(apart, StepTrait::kStepTime) == 260);
  // a 0-40 on d0 beside b 0-60 on d1; b's copy 60-110; c 110-210, d 210-220: 40 of 220.
  const auto beside = traits({0, 1, 0, 0});
  CHECK(TraitOf(beside, StepTrait::kCrossingBytes) == 50);
  CHECK(TraitOf(beside, StepTrait::kCrossings) == 1);
  CHECK(TraitOf(beside, StepTrait::kOverlap) == doctest::Approx(40. / 220));
}

TEST_CASE("overlap equals a count of the nanoseconds, slots and idle devices included") {
  Rng rng(3);
  ProblemBuilder b = Gpus(3, 0);
  constexpr int kOps = 12, kEnd = 60;
  for (int op = 0; op < kOps; ++op) b.Op("op" + std::to_string(op), {1}, {}, 4);
  const auto problem = b.Build();
  for (int round = 0; round < 200; ++round) {
    std::vector<DeviceIndex> devices;
    Outcome outcome;
    outcome.step_time = kEnd;
    std::vector<std::vector<int>> running(3, std::vector<int>(kEnd, 0));
    for (int op = 0; op < kOps; ++op) {
      devices.push_back(static_cast<DeviceIndex>(UniformInt(rng, 3)));
      const int start = UniformInt(rng, kEnd), length = UniformInt(rng, std::min(12, kEnd - start));
      outcome.start.push_back(start);
      outcome.finish.push_back(start + length);
      for (int t = start; t < start + length; ++t) ++running[devices.back()][t];
    }
    int overlap = 0;
    for (int t = 0; t < kEnd; ++t) {
      overlap += std::count_if(running.begin(), running.end(), [&](const auto& device) {
                   return device[t] > 0;
                 }) >= 2;
    }
    CHECK(OverlapShare(*problem, devices, outcome) == doctest::Approx(double(overlap) / kEnd));
  }
}

TEST_CASE("a step without time has no overlap") {
  ProblemBuilder b;
  b.Device("d0");
  b.Op("a", {0});
  Outcome outcome;
  outcome.start = outcome.finish = {0};
  CHECK(OverlapShare(*b.Build(), std::vector<DeviceIndex>{0}, outcome) == 0);
}

}  // namespace
