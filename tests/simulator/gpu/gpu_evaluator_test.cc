// Placements on what stands for a GPU (tests/support/gpu_on_host.h) against the plain
// implementation, to the nanosecond and the byte.

#include <algorithm>
#include <set>
#include <tuple>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "simulator/gpu/gpu_runner.h"
#include "simulator/gpu/gpu_simulator.h"
#include "simulator/lanes/lane_kernel.h"
#include "tests/support/gpu_on_host.h"
#include "tests/support/lane_problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Little memory, so that a batch needs many launches; shared memory for all columns, some or none.
GpuLimits RandomLimits(Rng& rng, const Problem& problem) {
  GpuLimits limits = kLargeGpu;
  limits.free_memory = (1 << 20) + UniformInt(rng, 100) * 64 * std::int64_t{problem.num_groups()};
  const int sort = UniformInt(rng, 3);
  if (sort == 1) limits.shared_per_block = limits.shared_per_sm = 1024;
  // Few enough for the state, which has a word for each pair of devices or so, not for arrivals.
  if (sort == 2)
    limits.shared_per_sm = (8 << 10) * (4 + problem.num_devices() * problem.num_devices());
  return limits;
}

TEST_CASE("random problems equal the reference, in batches of any size") {
  Rng rng(21);
  Compared all;
  std::set<std::tuple<LaneMemory, bool, bool, bool>> kernels;
  for (int round = 0; round < 1000 * EMPLACE_TEST_SCALE; ++round) {
    CAPTURE(round);
    const auto problem = RandomLaneProblem(rng, round);
    const SimulatorOptions options{.semantics = Semantics::kStream,
                                   .count_gaps = round % 2 == 0,
                                   .memory = round % 4 != 3,
                                   .channel_contention = round % 7 != 0};
    const auto log = std::make_shared<LaunchLog>();
    const auto simulator =
        MakeGpuEvaluator(problem, options, MakeGpuOnHost(RandomLimits(rng, *problem), log));
    all.outcomes += CheckEvaluator(*simulator, options, rng, round % 10 == 0 ? 100 : 6).outcomes;
    REQUIRE(!log->empty());
    const GpuLaunch& launch = log->front();
    kernels.insert({launch.program.memory,
                    launch.program.general,
                    launch.state_in_shared,
                    launch.arrivals_in_shared});
  }
  CHECK(kernels.size() == 18);  // all that there are
  MESSAGE(all.outcomes << " outcomes");
}

// Ops in a row of 0.2 s on d0 and 0.02 s on d1: 32 bits hold 4.29 s.
std::shared_ptr<const Problem> LongChain(int length) {
  ProblemBuilder b;
  b.Device("d0", 10'000);
  b.Device("d1", kUnlimitedMemory);
  b.AllToAll(1'000, {1'000'000'000, 1});
  for (int v = 0; v < length; ++v) {
    b.Op("op" + std::to_string(v),
         {200'000'000, 20'000'000},
         v > 0 ? std::vector<int>{v - 1} : std::vector<int>{},
         8'000);
  }
  return b.Build();
}

std::unique_ptr<Evaluator> OnHost(std::shared_ptr<const Problem> problem,
                                  const SimulatorOptions& options = {
                                      .semantics = Semantics::kStream}) {
  return MakeGpuEvaluator(std::move(problem), options, MakeGpuOnHost(kLargeGpu));
}

TEST_CASE("steps too long for 32 bits are left to the processor, by row and by neighbour") {
  const auto simulator = OnHost(LongChain(40));  // 8 s on d0, 0.8 s on d1
  const Placement slow{std::vector<DeviceIndex>(40, 0)}, fast{std::vector<DeviceIndex>(40, 1)};
  const std::vector<Placement> both{slow, fast, slow};
  const std::vector<Outcome> outcomes = simulator->Evaluate(both);
  CHECK(outcomes[0].step_time == 8'000'000'000);
  CHECK(outcomes[1].step_time == 800'000'000);
  CHECK(outcomes[2].step_time == 8'000'000'000);
  CHECK(outcomes[0].devices[0].busy == 8'000'000'000);
  CHECK(outcomes[0].devices[0].peak == 16'000);  // what an op reads and what it makes
  CHECK(outcomes[0].devices[0].deficit == 6'000);
  CHECK(!outcomes[0].feasible);
  std::vector<std::int64_t> deficit(2);
  const std::vector<int> begin{0, 0, 1};
  const std::vector<Move> moves{{39, 1}};
  simulator->EvaluateNeighbors({slow, begin, moves}, {.deficit = deficit});
  CHECK(deficit == std::vector<std::int64_t>{6'000, 6'000});
}

TEST_CASE("peaks of more than 32 bits") {
  constexpr std::int64_t kGiga = 1'000'000'000;
  ProblemBuilder b;
  for (const char* name : {"d0", "d1"}) b.Device(name);
  b.AllToAll(1'000, {1'000'000'000'000, 1});
  b.Op("a", {1}, {}, 30 * kGiga);
  b.Op("b", {1}, {0}, 30 * kGiga);
  b.Op("c", {1}, {0, 1}, 7);
  const auto problem = b.Build(Grouping(std::vector<int>{0, 0, 0}), ProblemChecks::kAll);
  CHECK(OnHost(problem)->Evaluate(Placement{{1}}).devices[1].peak == 60 * kGiga + 7);
}

TEST_CASE("channels and op times come from the processor") {
  const Outcome outcome =
      OnHost(LongChain(2))->Evaluate(Placement{{1, 0}}, {.channels = true, .op_times = true});
  CHECK(outcome.start == std::vector<Nanos>{0, 20'009'000});  // 1 us of latency, 8 us of bytes
  CHECK(outcome.channels.size() == 2);
}

TEST_CASE("placements and moves that do not fit the problem are refused") {
  CheckRefusals([](auto problem) { return OnHost(std::move(problem)); });
}

TEST_CASE("routes that are missing") {
  ProblemBuilder b;
  for (const char* name : {"d0", "d1", "d2"}) b.Device(name, kUnlimitedMemory);
  const int there = b.Channel("there", 5, kGigabytePerSecond);
  b.Route(0, 1, {there});
  b.Op("a", {10}, {}, 8);
  b.Op("b", {10}, {0}, 8);
  const auto simulator =
      OnHost(b.Build(Grouping(std::vector<int>{0, 1}), ProblemChecks::kPlacementOnly));
  CHECK(simulator->Evaluate(Placement{{0, 1}}).step_time == 33);  // 10 + 5 + 8 + 10
  CHECK(simulator->Evaluate(Placement{{2, 2}}).step_time == 20);
  CHECK_THROWS_WITH_AS(
      simulator->Evaluate(Placement{{0, 2}}), doctest::Contains("route"), InputError);
}

TEST_CASE("what no GPU simulates is refused") {
  CHECK_THROWS_WITH_AS(OnHost(LongChain(3), {.semantics = Semantics::kQueue}),
                       "a GPU simulates stream semantics and not queue",
                       InputError);
  ProblemBuilder b;
  b.Device("d0", kUnlimitedMemory);
  b.Op("a", {5'000'000'000}, {}, 8);
  CHECK_THROWS_WITH_AS(OnHost(b.Build()),
                       "an op or transfer takes too long for a GPU, which counts nanoseconds in 32 "
                       "bits; simulate without a GPU",
                       InputError);
}

}  // namespace
