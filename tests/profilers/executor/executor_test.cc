#include "profilers/executor/executor.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "profilers/executor/compile_plan.h"
#include "simulator/simulator.h"
#include "tests/profilers/virtual_backend.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// a (10) -> b (20) -> c (30) with 8 B between them; a copy takes 5 + 8 ns.
std::shared_ptr<const Problem> Chain() {
  ProblemBuilder builder;
  builder.Device("d0");
  builder.Device("d1");
  const int a = builder.Op("a", {10}, {}, 8);
  const int b = builder.Op("b", {20}, {a}, 8);
  builder.Op("c", {30}, {b}, 8);
  builder.AllToAll(5, kGigabytePerSecond);
  return builder.Build();
}

TEST_CASE("a measurement: step times, busy times, memory, traces") {
  const auto problem = Chain();
  Executor executor(problem, MakeVirtualBackend(problem), {.rounds = 4, .traced_rounds = 3});
  const std::vector<Placement> placements{{{0, 0, 0}}, {{0, 1, 1}}, {{0, 1, 0}}};
  const auto measured = executor.Measure(placements);
  REQUIRE(measured.size() == 3);
  const std::vector<Nanos> expected{60, 60 + 13, 60 + 2 * 13};
  for (int i = 0; i < 3; ++i) {
    CHECK(measured[i].step_times == std::vector<Nanos>(4, expected[i]));
    CHECK(measured[i].step.median == expected[i]);
    CHECK(measured[i].step.samples == 4);
    CHECK(measured[i].traces.size() == 3);
    CHECK(measured[i].peak == measured[i].plan->peak_bytes);
    CHECK(measured[i].arena == measured[i].plan->arena_bytes);
  }
  CHECK(measured[1].busy == std::vector<Nanos>{10, 50});
  CHECK(measured[2].busy == std::vector<Nanos>{40, 20});
  CHECK(measured[2].proxy_share == 1);  // no kernel is called "test"
}

TEST_CASE("outcomes equal those of the simulator, where the devices keep to the costs") {
  Rng rng(21);
  int compared = 0;
  for (int round = 0; round < 50; ++round) {
    const auto problem =
        RandomProblem(rng, {.slots = false, .host_costs = false, .occupies = false});
    const std::vector<int> order =
        round % 2 == 0 ? std::vector<int>{} : RandomIssueOrder(rng, problem->graph());
    const auto simulator =
        MakeSimulator(problem, {.semantics = Semantics::kStream, .issue_order = order});
    Executor executor(problem,
                      MakeVirtualBackend(problem),
                      {.rounds = 1, .traced_rounds = 1, .issue_order = order});
    std::vector<Placement> placements;
    for (int i = 0; i < 3; ++i) placements.push_back(RandomPlacement(rng, *problem));
    const auto expected = simulator->Evaluate(placements);
    const auto found = executor.Evaluate(placements, {.channels = true, .op_times = true});
    for (size_t i = 0; i < placements.size(); ++i) {
      const auto plan =
          CompilePlan(*problem, ExpandPlacement(placements[i], problem->grouping()), order);
      if (plan.hazard_waits > 0) continue;
      ++compared;
      const auto reference =
          simulator->Evaluate(placements[i], {.channels = true, .op_times = true});
      CHECK(found[i].step_time == expected[i].step_time);
      CHECK(found[i].feasible == expected[i].feasible);
      CHECK(found[i].deficit() == expected[i].deficit());
      CHECK(found[i].start == reference.start);
      CHECK(found[i].finish == reference.finish);
      for (int d = 0; d < problem->num_devices(); ++d) {
        CHECK(found[i].devices[d].busy == expected[i].devices[d].busy);
        CHECK(found[i].devices[d].peak == expected[i].devices[d].peak);
      }
      for (int k = 0; k < problem->cluster().num_channels(); ++k) {
        CHECK(found[i].channels[k].transfers == reference.channels[k].transfers);
        CHECK(found[i].channels[k].bytes == reference.channels[k].bytes);
      }
    }
  }
  CHECK(compared > 50);
}

TEST_CASE("the backend may have more devices, in another order") {
  const auto problem = Chain();
  VirtualTimes times;
  times.op = [](int device, int, const OpWork&) { return 100 + device; };
  times.copy = [](const PlanCommand& command) {
    CHECK(command.source.device == 2);
    CHECK(command.destinations.at(0).device == 1);
    return VirtualTimes::Copy{.latency = 1000};
  };
  std::vector<BackendDevice> devices{{"other"}, {"d1"}, {"d0"}};
  Executor executor(problem, MakeVirtualBackend(devices, {}, times), {.rounds = 1});
  const std::vector<Placement> placements{{{0, 1, 1}}};
  const auto measured = executor.Measure(placements);
  // d0 is device 2, d1 device 1: 102 + 1000 + 2 * 101
  CHECK(measured[0].step_times == std::vector<Nanos>{1304});
  CHECK(measured[0].busy == std::vector<Nanos>{102, 202});
}

TEST_CASE("placements take turns, in an order of its own for each round") {
  // The step times of a device whose ops take 1, 2, 3, ... ns tell in which order the steps ran.
  ProblemBuilder builder;
  builder.Device("d0");
  builder.Op("a", {1}, {}, 8);
  const auto problem = builder.Build();
  VirtualTimes times = TimesOf(problem);
  Nanos clock = 0;
  times.op = [&](int, int, const OpWork&) { return ++clock; };
  std::vector<BackendDevice> devices{{"d0"}};
  Executor executor(problem,
                    MakeVirtualBackend(devices, {}, times),
                    {.warmup = 1, .rounds = 20, .traced_rounds = 0});
  const std::vector<Placement> placements(8, Placement{{0}});
  const auto measured = executor.Measure(placements);
  std::vector<std::vector<size_t>> orders;
  for (int round = 0; round < 20; ++round) {
    std::vector<size_t> order(8, 99);
    for (size_t i = 0; i < 8; ++i) {
      const Nanos turn = measured[i].step_times[round] - 1 - 8 * (round + 1);  // behind the warm-up
      REQUIRE(turn >= 0);
      REQUIRE(turn < 8);
      order[turn] = i;
    }
    REQUIRE(std::ranges::count(order, 99) == 0);
    orders.push_back(order);
  }
  std::ranges::sort(orders);
  CHECK(std::ranges::unique(orders).begin() - orders.begin() > 15);
}

TEST_CASE("progress counts every step and may end the measurement") {
  const auto problem = Chain();
  std::int64_t calls = 0, last_total = 0;
  ExecutorOptions options{.warmup = 1, .rounds = 5, .traced_rounds = 2};
  options.progress = [&](std::int64_t done, std::int64_t total) {
    CHECK(done == ++calls);
    last_total = total;
    return done < 5;
  };
  const std::vector<Placement> placements{{{0, 0, 0}}, {{0, 1, 1}}};
  auto measured = Executor(problem, MakeVirtualBackend(problem), options).Measure(placements);
  CHECK(last_total == 2 * 8);
  CHECK(calls == 6);  // told to end at the fifth step: within the third round
  CHECK(measured[0].step_times.size() == 2);
  CHECK(measured[0].traces.empty());

  options.progress = [](std::int64_t, std::int64_t) { return false; };
  measured = Executor(problem, MakeVirtualBackend(problem), options).Measure(placements);
  CHECK(measured[1].step_times.size() == 1);
}

TEST_CASE("errors name devices and sizes") {
  const auto problem = Chain();
  std::vector<BackendDevice> devices{{"d0"}, {"d7"}};
  CHECK(MessageOf<InputError>([&] {
          Executor(problem, MakeVirtualBackend(devices, {}, TimesOf(problem)));
        }).find("cluster \"test_cluster\": unknown device of this machine \"d1\"") == 0);
  Executor executor(problem, MakeVirtualBackend(problem));
  const std::vector<Placement> placements{{{0, 0}}};
  CHECK(MessageOf<InputError>([&] { executor.Measure(placements); }) ==
        "placement 0 has 2 entries, expected one for each of 3 groups");
}

}  // namespace
