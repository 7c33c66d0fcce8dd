// How batches become launches; what comes out of them, gpu_evaluator_test.cc looks at.

#include "simulator/gpu/gpu_runner.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "simulator/gpu/gpu_simulator.h"
#include "tests/support/gpu_on_host.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

GpuBlocks PlanFor(int state, int arrivals) {
  GpuLayout layout;
  layout.words = state;
  layout.arrivals = arrivals;
  return PlanGpuBlocks(layout, kLargeGpu);
}

TEST_CASE("columns go to shared memory if enough of them fit") {
  // Of 228 KB a block has 4 B per word and thread, and 1 KB.
  // 30 words: 128 threads take 15 + 1 KB: 14 blocks, or 56 warps; 32 are enough.
  GpuBlocks blocks = PlanFor(20, 10);
  CHECK(blocks.threads == 128);
  CHECK(blocks.state_in_shared);
  CHECK(blocks.arrivals_in_shared);
  // 110 words: 128 threads take 55 + 1 KB: 4 blocks, 16 warps, the least for arrivals.
  blocks = PlanFor(10, 100);
  CHECK(blocks.arrivals_in_shared);
  // 130 words: 65 + 1 KB: 3 blocks, 12 warps; 64 threads: 32.5 + 1 KB: 6 blocks, 12 warps;
  // 32 threads: 16.25 + 1 KB: 13 warps. Without the arrivals there is room for all.
  blocks = PlanFor(30, 100);
  CHECK(!blocks.arrivals_in_shared);
  CHECK(blocks.state_in_shared);
  CHECK(blocks.threads == 128);
  // 210 words of state: 128 threads take 105 + 1 KB: 2 blocks, 8 warps, the least for it.
  blocks = PlanFor(210, 1);
  CHECK(blocks.state_in_shared);
  CHECK(!blocks.arrivals_in_shared);
  // 250: 125 + 1 KB: 1 block; 64 threads: 62.5 + 1: 3 blocks, 6 warps; 32: 31.25 + 1: 7 warps.
  blocks = PlanFor(250, 1);
  CHECK(!blocks.state_in_shared);
  CHECK(!blocks.arrivals_in_shared);
  CHECK(blocks.threads == 128);
}

// Two devices, a chain of ops.
std::shared_ptr<const Problem> Chain(int length) {
  ProblemBuilder b = Gpus(2);
  for (int v = 0; v < length; ++v) {
    b.Op("op" + std::to_string(v), {10}, v > 0 ? std::vector<int>{v - 1} : std::vector<int>{}, 8);
  }
  return b.Build();
}

struct Launched {
  explicit Launched(const GpuLimits& limits, int length = 10)
      : problem(Chain(length)),
        simulator(MakeGpuEvaluator(problem,
                                   {.semantics = Semantics::kStream},
                                   MakeGpuOnHost(limits, log))) {}
  // Launches for so many equal placements.
  std::vector<int> Rows(int count) {
    log->clear();
    const std::vector<DeviceIndex> rows(static_cast<size_t>(count) * problem->num_groups(), 1);
    std::vector<Nanos> times(count);
    simulator->EvaluateRows({rows.data(), times.size(), size_t(problem->num_groups())},
                            {.step_time = times});
    for (const Nanos time : times) REQUIRE(time == 10 * problem->num_ops());
    std::vector<int> counts;
    for (const GpuLaunch& launch : *log) counts.push_back(launch.count);
    return counts;
  }

  std::shared_ptr<LaunchLog> log = std::make_shared<LaunchLog>();
  std::shared_ptr<const Problem> problem;
  std::unique_ptr<Evaluator> simulator;
};

TEST_CASE("batches are cut into launches") {
  Launched launched(kLargeGpu);
  CHECK(launched.Rows(0).empty());
  CHECK(launched.Rows(1) == std::vector<int>{1});
  CHECK(launched.Rows(32768) == std::vector<int>{32768});
  CHECK(launched.Rows(40000) == std::vector<int>{32768, 7232});
  CHECK(launched.Rows(160000) == std::vector<int>{40000, 40000, 40000, 40000});  // quarters
}

TEST_CASE("launches fit into the GPU's memory") {
  GpuLimits limits = kLargeGpu;
  limits.free_memory = 1 << 20;
  Launched launched(limits);
  // A stream has 256 KiB. 32 placements take 320 B as rows and as devices and 256 B of step times,
  // each rounded up to 256: 1280 B. So 204 times 32.
  CHECK(launched.Rows(10000) == std::vector<int>{6528, 3472});
  limits.free_memory = 30'000;  // the tables take some; not less than 32 placements are tried
  CHECK(Launched(limits).Rows(40)[0] > 0);
  limits.free_memory = 100;
  CHECK_THROWS_AS(Launched{limits}, RunError);
}

TEST_CASE("memory grows with the batches and is used again") {
  Launched launched(kLargeGpu);
  launched.Rows(100);
  const std::uint8_t* const first = launched.log->front().rows;
  launched.Rows(50);
  CHECK(launched.log->front().rows == first);
  CHECK(launched.Rows(20000) == std::vector<int>{20000});
  launched.Rows(20000);
  CHECK(launched.log->front().stride == 20000);
}

TEST_CASE("only columns that are wanted are there") {
  Launched launched(kLargeGpu);
  launched.Rows(5);
  const GpuLaunch& launch = launched.log->front();
  CHECK(launch.deficit == nullptr);
  CHECK(launch.peak == nullptr);
  CHECK(launch.busy == nullptr);
  CHECK(launch.layout.busy == -1);
  CHECK(launch.stride == 32);
  const Placement base{std::vector<DeviceIndex>(10, 0)};
  const std::vector<int> begin{0, 1};
  const std::vector<Move> moves{{3, 1}};
  std::vector<Nanos> busy(2);
  launched.simulator->EvaluateNeighbors({base, begin, moves}, {.busy = busy});
  CHECK(busy == std::vector<Nanos>{90, 10});
  CHECK(launched.log->back().rows == nullptr);
  CHECK(launched.log->back().busy != nullptr);
}

}  // namespace
