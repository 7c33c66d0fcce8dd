#include "agents/etf/etf.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/shared/list_schedule.h"
#include "simulator/simulator.h"
#include "tests/agents/list_schedules.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr std::uint64_t kBoth = 0b11;

TEST_CASE("the pair that can start first, then the highest static level") {
  ProblemBuilder builder = Gpus(2, 0);
  const int a = builder.Op("a", {4}, {}, 5);
  const int b = builder.Op("b", {3}, {}, 1);
  builder.Op("c", {2}, {a});
  builder.Op("d", {6}, {b});
  // Levels a 6, b 9, c 2, d 6. At 0 all four pairs of a and b tie: b on gpu:0 [0, 3]. Then a on
  // gpu:1 [0, 4]. d: gpu:0 at 3, gpu:1 at max(4, 3 + 1) = 4 -> gpu:0 [3, 9]. c: gpu:1 at 4, gpu:0
  // at 9 -> gpu:1 [4, 6].
  const EtfSchedule etf = ComputeEtf(*builder.Build(), kBoth, false);
  CHECK(etf.placement.device == std::vector<DeviceIndex>{1, 0, 1, 0});
  CHECK(etf.start == std::vector<Nanos>{0, 0, 4, 3});
  CHECK(etf.makespan == 9);
}

// Four independent ops of 10 ns that make 60 B each, on two devices.
std::shared_ptr<const Problem> FourOps(std::int64_t memory0, std::int64_t memory1) {
  ProblemBuilder builder;
  builder.Device("gpu:0", memory0);
  builder.Device("gpu:1", memory1);
  builder.AllToAll(0, kGigabytePerSecond);
  for (int v = 0; v < 4; ++v) builder.Op(fmt::format("op{}", v), {10}, {}, 60);
  return builder.Build();
}

TEST_CASE("the memory-aware form leaves out devices without room") {
  const auto problem = FourOps(1000, 100);
  // ETF takes turns: op0 gpu:0, op1 gpu:1, op2 gpu:0, op3 gpu:1. gpu:1 holds only one of 60 B, so
  // that m-ETF starts op3 on gpu:0 at 20.
  CHECK(ComputeEtf(*problem, kBoth, false).placement.device ==
        std::vector<DeviceIndex>{0, 1, 0, 1});
  const EtfSchedule aware = ComputeEtf(*problem, kBoth, true);
  CHECK(aware.placement.device == std::vector<DeviceIndex>{0, 1, 0, 0});
  CHECK(aware.start == std::vector<Nanos>{0, 0, 10, 20});
  // Nothing of this is resident: without counting outputs, memory makes no difference.
  CHECK(ComputeEtf(*problem, kBoth, true, false).placement.device ==
        std::vector<DeviceIndex>{0, 1, 0, 1});
}

TEST_CASE("what fits nowhere goes where most memory is left") {
  // After op0 and op2 gpu:0 has 10 B left, after op1 gpu:1 has 40 B.
  const EtfSchedule etf = ComputeEtf(*FourOps(130, 100), kBoth, true);
  CHECK(etf.placement.device == std::vector<DeviceIndex>{0, 1, 0, 1});
}

TEST_CASE("parameters count for the device of their reader") {
  ProblemBuilder builder;
  builder.Device("gpu:0", 100);
  builder.Device("gpu:1", 1000);
  builder.AllToAll(0, kGigabytePerSecond);
  const int w = builder.Op("w", {0}, {}, 200);
  builder.output(w).role = TensorRole::kParameter;
  builder.Op("use", {10}, {w}, 1);
  const auto problem = builder.Build();
  CHECK(ComputeEtf(*problem, kBoth, false).placement.device == std::vector<DeviceIndex>{0, 0});
  CHECK(ComputeEtf(*problem, kBoth, true).placement.device == std::vector<DeviceIndex>{1, 1});
}

TEST_CASE("a group forced where nothing fits takes its later ops along") {
  ProblemBuilder builder;
  builder.Device("gpu:0", 50);
  builder.Device("gpu:1", 40);
  builder.AllToAll(0, kGigabytePerSecond);
  const int a = builder.Op("a", {10}, {}, 60);
  const int b = builder.Op("b", {10}, {a}, 60);
  const int c = builder.Op("c", {10}, {}, 60);
  builder.Op("d", {10}, {b, c}, 60);
  const auto problem = builder.Build(Grouping(std::vector<int>{0, 1, 0, 1}));
  const EtfSchedule etf = ComputeEtf(*problem, kBoth, true);
  // Group 0 (120 B) fits nowhere: gpu:0, with most left. Group 1 then finds -70 B and 40 B: gpu:1.
  CHECK(etf.placement.device == std::vector<DeviceIndex>{0, 1});
}

TEST_CASE("schedules respect devices and messages, on random problems with little memory") {
  Rng rng(4);
  for (int trial = 0; trial < 100; ++trial) {
    CAPTURE(trial);
    const auto problem =
        MixedProblem(rng, 5 + UniformInt(rng, 60), 3, trial % 2 ? 200 : kUnlimitedMemory);
    CheckSchedule(*problem, ComputeEtf(*problem, 0b1110, trial % 4 >= 2));
  }
}

// ETF as it is told: of all pairs of a ready op and a device the first, looked for anew each time.
std::vector<DeviceIndex> PlainEtf(const Problem& problem, std::uint64_t devices) {
  const OpInputs inputs(problem.graph());
  const std::vector<int> order =
      OrderByRank(problem.graph(),
                  UpwardRanks(problem, inputs, MeanOpCosts(problem, devices), MeanCommunication{}));
  ListSchedule schedule(problem, inputs, devices);
  for (;;) {
    int best = -1, best_device = -1;
    Nanos best_start = 0;
    for (int op : order) {
      if (schedule.IsFreeSource(op) || schedule.IsScheduled(op)) continue;
      if (std::any_of(inputs[op].begin(), inputs[op].end(), [&](const OpInput& input) {
            return !schedule.IsFreeSource(input.op) && !schedule.IsScheduled(input.op);
          })) {
        continue;
      }
      for (int d = 0; d < problem.num_devices(); ++d) {
        if (!(schedule.CandidatesOf(op) >> d & 1)) continue;
        const Nanos start = std::max(schedule.Available(d), schedule.DataReady(op, d));
        if (best >= 0 && start >= best_start) continue;
        best = op;
        best_device = d;
        best_start = start;
      }
    }
    if (best < 0) return schedule.ToPlacement().device;
    schedule.Place(best, best_device, best_start);
  }
}

TEST_CASE("the queues find what a look at all pairs finds, on random problems") {
  Rng rng(9);
  for (int trial = 0; trial < 200; ++trial) {
    CAPTURE(trial);
    const auto problem = MixedProblem(rng, 5 + UniformInt(rng, 80), 3, kUnlimitedMemory);
    const auto plain = PlainEtf(*problem, 0b1110);
    CHECK(ComputeEtf(*problem, 0b1110, false).placement.device == plain);
    // Where there is room for everything, memory makes no difference.
    CHECK(ComputeEtf(*problem, 0b1110, true).placement.device == plain);
  }
}

}  // namespace
