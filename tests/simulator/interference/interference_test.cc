// Interference semantics by hand. Devices g0, g1 are neighbours; 1 B/ns.

#include <fmt/format.h>

#include "framework/base/error.h"
#include "tests/simulator/simulate.h"
#include "tests/support/timeline_text.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

const SimulatorOptions kI{.semantics = Semantics::kInterference};

// Two neighbours. Half as fast beside it: sensitivity 1 and pressure 1.
ProblemBuilder TwoNeighbors() {
  ProblemBuilder b = Gpus(2, 0);
  b.Share(0, 1);
  return b;
}
constexpr Interference kHalves{1024, 1024};

TEST_CASE("two ops that run beside one another: at half the rate, the rest at full rate") {
  ProblemBuilder b = TwoNeighbors();
  for (const auto& [name, cost] : {std::pair{"a", 100}, std::pair{"b", 30}}) {
    b.Interfere(b.Op(name, {cost}), {kHalves, kHalves});
  }
  // Both at 512/1024: b's 30 take 60. By then a has done 30 of its 100; 70 are left: 60 + 70.
  const Outcome beside = Simulate(b.Build(), {0, 1}, kI).outcome;
  CHECK(beside.finish == std::vector<Nanos>{130, 60});
  CHECK(beside.step_time == 130);
  CHECK(beside.devices[0].busy == 130);
  CHECK(beside.devices[1].busy == 60);
  // On one device they run one after another.
  CHECK(Simulate(b.Build(), {0, 0}, kI).outcome.finish == std::vector<Nanos>{100, 130});
  // The other semantics do not know of it.
  CHECK(Simulate(b.Build(), {0, 1}, kS).outcome.finish == std::vector<Nanos>{100, 30});
}

TEST_CASE("one may suffer and the other not; without neighbours nobody does") {
  ProblemBuilder b = TwoNeighbors();
  b.Interfere(b.Op("victim", {100}), {{2048, 0}, {2048, 0}});
  b.Interfere(b.Op("aggressor", {50}), {{0, 512}, {0, 512}});
  // 2 * 0.5 = 1: at half the rate for 50, then 75 are left.
  CHECK(Simulate(b.Build(), {0, 1}, kI).outcome.finish == std::vector<Nanos>{125, 50});
  ProblemBuilder far = Gpus(2, 0);
  far.Op("victim", {100});
  far.Op("aggressor", {50});
  CHECK(Simulate(far.Build(), {0, 1}, kI).outcome.finish == std::vector<Nanos>{100, 50});
}

TEST_CASE("what is left is rounded up at the end only; figures are multiplied and cut off") {
  ProblemBuilder b = TwoNeighbors();
  b.Interfere(b.Op("a", {10}), {{1000, 0}, {}});
  b.Interfere(b.Op("b", {3}), {{}, {0, 1000}});
  // floor(1000 * 1000 / 1024) = 976; rate floor(2^20 / 2000) = 524. In 3 ns a does 1572 of its
  // 10240; 8668 are left, at 1024: ceil(8.46) = 9.
  CHECK(Simulate(b.Build(), {0, 1}, kI).outcome.finish == std::vector<Nanos>{12, 3});
}

TEST_CASE("work that needs more than 63 bits") {
  // 2^54 ns are 2^64 units of work, of which 512 are done in each ns beside the other op.
  constexpr Nanos kCost = Nanos{1} << 54;
  ProblemBuilder b = TwoNeighbors();
  for (const char* name : {"a", "b"}) b.Interfere(b.Op(name, {kCost}), {kHalves, kHalves});
  CHECK(Simulate(b.Build(), {0, 1}, kI).outcome.finish == std::vector<Nanos>{2 * kCost, 2 * kCost});
}

TEST_CASE("the pressures of several neighbours add up; nothing is slower than 64 times") {
  ProblemBuilder b = Gpus(3, 0);
  b.Share(0, 1);
  b.Share(0, 2);
  b.Interfere(b.Op("a", {10}), {{1024, 0}, {}, {}});
  b.Interfere(b.Op("b", {100}), {{}, {5120, 512}, {}});
  b.Interfere(b.Op("c", {100}), {{}, {}, {5120, 1536}});
  // 1 + 0.5 + 1.5: a third of the rate, floor(2^20 / 3072) = 341: ceil(10240 / 341) = 31. b and c
  // are no neighbours, and a presses nobody.
  CHECK(Simulate(b.Build(), {0, 1, 2}, kI).outcome.finish == std::vector<Nanos>{31, 100, 100});
  b.Interfere(0, {{kMostInterference, 0}, {}, {}});
  b.Interfere(1, {{}, {0, kMostInterference}, {}});
  // 1 + 256 + 24 = 281: more than 64, so at 16/1024 for 100 ns: 8640 of 10240 are left.
  CHECK(Simulate(b.Build(), {0, 1, 2}, kI).outcome.finish == std::vector<Nanos>{109, 100, 100});
}

TEST_CASE("a transfer that occupies its source runs at a rate, too; another one does not") {
  for (const Occupies occupies : {Occupies::kSource, Occupies::kNone}) {
    ProblemBuilder b;
    for (const char* name : {"g0", "g1"}) b.kind(b.Device(name)).interference["transfer"] = kHalves;
    b.Share(0, 1);
    const int k = b.Channel("out", 5, kGigabytePerSecond, 7);
    b.channel(k).occupies = occupies;
    b.channel(k).setup = 10;
    b.Route(0, 1, {k});
    b.AllToAll(0, kGigabytePerSecond);
    b.Op("a", {20}, {}, 30);
    b.Op("reader", {1}, {0});
    b.Op("beside", {50});
    b.Interfere(2, {{}, kHalves});
    b.op(1).control_inputs = {2};
    const Outcome outcome =
        Simulate(
            b.Build(), {0, 1, 1}, {.semantics = Semantics::kInterference, .issue_order = {0, 2, 1}})
            .outcome;
    if (occupies == Occupies::kSource) {
      // 10 + 30 alone from 20 on. Beside the op until that ends: it has 30 left at 20, so both at
      // half the rate until 80. The transfer has done 30 of 40: there at 90 + 5.
      CHECK(outcome.finish == std::vector<Nanos>{20, 96, 80});
      CHECK(outcome.devices[0].busy == 20 + 70);
    } else {
      CHECK(outcome.finish == std::vector<Nanos>{20, 66, 50});  // 20 + 40 + 5
      CHECK(outcome.devices[0].busy == 20);
    }
  }
}

TEST_CASE("random: without figures, or without neighbours, times are those of stream semantics") {
  Rng rng(11);
  for (int round = 0; round < 200 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem = RandomProblem(rng,
                                       {.num_ops = 1 + UniformInt(rng, 40),
                                        .num_devices = 1 + UniformInt(rng, 5),
                                        .ties = round % 2 == 0,
                                        .cold_reads = round % 3 == 0});
    for (const bool count_gaps : {false, true}) {
      for (const bool contention : {false, true}) {
        const Placement placement = RandomPlacement(rng, *problem);
        SimulatorOptions options{.semantics = Semantics::kStream,
                                 .count_gaps = count_gaps,
                                 .channel_contention = contention};
        const Timeline stream = SimulateReference(*problem, placement.device, options);
        options.semantics = Semantics::kInterference;
        const Timeline interference = SimulateReference(*problem, placement.device, options);
        CAPTURE(round);
        REQUIRE(FormatTimeline(*problem, interference) == FormatTimeline(*problem, stream));
      }
    }
  }
}

TEST_CASE("random: no step is shorter than in stream semantics, or 64 times longer") {
  Rng rng(12);
  int longer = 0;
  for (int round = 0; round < 100 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem = RandomProblem(
        rng, {.num_ops = 1 + UniformInt(rng, 40), .ties = false, .interference = true});
    const Placement placement = RandomPlacement(rng, *problem);
    const Nanos alone = MakeSimulator(problem, kS)->Evaluate(placement).step_time;
    const Nanos beside = MakeSimulator(problem, kI)->Evaluate(placement).step_time;
    REQUIRE(beside >= alone);
    REQUIRE(beside <= 64 * alone);
    longer += beside > alone;
  }
  CHECK(longer > 50 * EMPLACE_TEST_SCALE);
}

}  // namespace
