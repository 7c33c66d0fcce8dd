#include "agents/large_neighborhood/schedule_view.h"

#include <algorithm>
#include <bit>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "agents/large_neighborhood/windows.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::vector<int> AsVector(std::span<const int> values) {
  return {values.begin(), values.end()};
}

TEST_CASE("the longest chain goes over what is read and over what a device was at work on") {
  ProblemBuilder builder = Gpus(2, 5);
  const int a = builder.Op("a", {10}, {}, 15);    // gpu:0, 0 to 10
  const int b = builder.Op("b", {30});            // gpu:1, 0 to 30
  const int c = builder.Op("c", {20}, {a}, 0);    // gpu:1: a's 15 B arrive at 30; 30 to 50
  const int d = builder.Op("d", {7}, {a}, 0);     // gpu:0, 10 to 17
  const int e = builder.Op("e", {6}, {c, d}, 0);  // gpu:1, 50 to 56
  const auto problem = builder.Build();
  const auto simulator = MakeSimulator(problem, {});
  const Placement placement{{0, 1, 1, 0, 1}};
  const Outcome outcome = simulator->Evaluate(placement, {.op_times = true});
  REQUIRE(outcome.finish == std::vector<Nanos>{10, 30, 50, 17, 56});
  ScheduleView view(*problem);
  view.Set(placement, outcome);
  // c waits for gpu:1 and for a until 30: of equals, for what the device did.
  CHECK(AsVector(view.critical()) == std::vector{e, c, b});
  CHECK(AsVector(view.by_start()) == std::vector{a, b, d, c, e});
  // gpu:0 is idle from 17 to the end, gpu:1 never.
  Rng rng(1);
  for (int i = 0; i < 5; ++i) {
    const ScheduleView::Idle idle = view.DrawIdle(rng);
    CHECK(idle.device == 0);
    CHECK(idle.start == 17);
    CHECK(idle.end == 56);
  }
  std::vector<char> ignored(5, 0);
  CHECK(view.FreeFrom(1, 12, ignored) == 30);  // b runs
  CHECK(view.FreeFrom(0, 20, ignored) == 20);  // nothing runs
  ignored[b] = 1;
  CHECK(view.FreeFrom(1, 12, ignored) == 12);
  (void)d;
}

TEST_CASE("without times nothing is critical, idle or started") {
  ProblemBuilder builder = Gpus(2, 5);
  builder.Op("a", {10});
  const auto problem = builder.Build();
  ScheduleView view(*problem);
  view.Set({{0}}, {});
  CHECK(view.critical().empty());
  CHECK(view.by_start().empty());
  CHECK_FALSE(view.any_idle());
}

TEST_CASE("windows hold distinct groups that have a choice, at most as many as asked for") {
  Rng rng(9);
  for (int trial = 0; trial < 20; ++trial) {
    const auto problem = MixedProblem(rng, 40, 2, kUnlimitedMemory);
    const auto simulator = MakeSimulator(problem, {});
    const Placement placement = RandomPlacement(rng, *problem);
    ScheduleView view(*problem);
    view.Set(placement, simulator->Evaluate(placement, {.op_times = true}));
    WindowDrawer drawer(*problem);
    Window window;
    for (int i = 0; i < 200; ++i) {
      const auto kind = static_cast<WindowKind>(i % kNumWindowKinds);
      const int size = 1 + UniformInt(rng, 10);
      drawer.Draw(kind, size, view, rng, window);
      CHECK_FALSE(window.groups.empty());
      CHECK(std::ssize(window.groups) <= size);
      CHECK(std::set(window.groups.begin(), window.groups.end()).size() == window.groups.size());
      for (const int group : window.groups) {
        CHECK(std::popcount(problem->allowed_devices(group)) > 1);
        if (kind == WindowKind::kCritical && !view.critical().empty()) {
          CHECK(std::ranges::count(view.critical(), group) == 1);
        }
        if (window.aim >= 0) CHECK(problem->allowed(group, window.aim));
      }
    }
  }
}

}  // namespace
