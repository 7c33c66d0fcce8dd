#include "agents/heft/heft.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "simulator/simulator.h"
#include "tests/agents/list_schedules.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr std::uint64_t kAll = 0b111;

// Figure 2 and table 1 of the paper: ten tasks, three processors, communication in the unit of
// time.
std::shared_ptr<const Problem> PublishedExample() {
  return TaskGraph({{14, 16, 9},
                    {13, 19, 18},
                    {11, 13, 19},
                    {13, 8, 17},
                    {12, 13, 10},
                    {13, 16, 9},
                    {7, 15, 11},
                    {5, 11, 14},
                    {18, 12, 20},
                    {21, 7, 16}},
                   {{1, 2, 18},
                    {1, 3, 12},
                    {1, 4, 9},
                    {1, 5, 11},
                    {1, 6, 14},
                    {2, 8, 19},
                    {2, 9, 16},
                    {3, 7, 23},
                    {4, 8, 27},
                    {4, 9, 23},
                    {5, 9, 13},
                    {6, 8, 15},
                    {7, 10, 17},
                    {8, 10, 11},
                    {9, 10, 13}});
}

TEST_CASE("HEFT meets the published example: ranks, schedule, makespan 80") {
  const auto problem = PublishedExample();
  const HeftSchedule heft = ComputeHeft(*problem, kAll, HeftRule::kHeft);
  const std::vector<double> ranks{108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667};
  for (int v = 0; v < 10; ++v) {
    CAPTURE(v);
    CHECK(heft.upward_rank[v] == doctest::Approx(ranks[v]).epsilon(1e-4));
  }
  // Figure 3a: P1 t2, t8; P2 t4, t6, t9, t10; P3 t1, t3, t5, t7.
  CHECK(heft.placement.device == std::vector<DeviceIndex>{2, 0, 2, 1, 2, 1, 2, 0, 1, 1});
  CHECK(heft.start == std::vector<Nanos>{0, 27, 9, 18, 28, 26, 38, 57, 56, 73});
  CHECK(heft.finish == std::vector<Nanos>{9, 40, 28, 26, 38, 42, 49, 62, 68, 80});
  CHECK(heft.makespan == 80);
}

TEST_CASE("CPOP meets the published example: makespan 86") {
  const auto problem = PublishedExample();
  const HeftSchedule cpop = ComputeHeft(*problem, kAll, HeftRule::kCpop);
  CHECK(cpop.makespan == 86);
  // The critical path t1, t2, t9, t10 stays on P2, where it costs 16 + 19 + 12 + 7 = 54.
  for (int v : {0, 1, 8, 9}) CHECK(cpop.placement.device[v] == 1);
}

TEST_CASE("CPOP's path goes to no device on which none of its ops may run") {
  // Neither op may run on gpu:0. On gpu:1 they cost 3 + 5, on gpu:2 5 + 3, and so much by their
  // means, which stand for what is forbidden. The first device of those that are possible is taken,
  // although the second op alone would finish earlier on gpu:2: 3 + 3.
  ProblemBuilder builder = Gpus(3, 0);
  const int first = builder.Op("first", {kMaxNanos, 3, 5});
  builder.Op("second", {kMaxNanos, 5, 3}, {first});
  const auto problem = builder.Build();
  const HeftSchedule cpop = ComputeHeft(*problem, kAll, HeftRule::kCpop);
  CHECK(cpop.placement.device == std::vector<DeviceIndex>{1, 1});
  CHECK(cpop.makespan == 8);
  // Without a preferred device for the path each op goes where it finishes first.
  CHECK(ComputeHeft(*problem, 0b001, HeftRule::kCpop).placement.device ==
        std::vector<DeviceIndex>{1, 2});
}

TEST_CASE("the published placement in the simulator") {
  const auto problem = PublishedExample();
  const HeftSchedule heft = ComputeHeft(*problem, kAll, HeftRule::kHeft);
  const Nanos step_time = MakeSimulator(problem, {})->Evaluate(heft.placement).step_time;
  // As in HEFT but for the messages that share a link: t1's to t6 waits for its to t4 on P3->P2
  // [18, 32], so that t6 runs [32, 48] and its message to t8 [53, 68] behind t4's; t8 [68, 73], its
  // message [73, 84], t10 [84, 91].
  CHECK(step_time == 91);
}

TEST_CASE("schedules respect devices and messages, on random problems") {
  Rng rng(3);
  for (int trial = 0; trial < 50; ++trial) {
    CAPTURE(trial);
    const auto problem = MixedProblem(rng, 5 + UniformInt(rng, 60), 3, kUnlimitedMemory);
    for (const HeftRule rule : {HeftRule::kHeft, HeftRule::kCpop}) {
      CheckSchedule(*problem, ComputeHeft(*problem, 0b1111, rule));
    }
  }
}

TEST_CASE("parameters go with their readers and drag none to the first device") {
  ProblemBuilder builder = Gpus(2, 5);
  for (int i = 0; i < 2; ++i) {
    const int parameter = builder.Op(fmt::format("w{}", i), {0}, {}, 1000);
    builder.Op(fmt::format("use{}", i), {100}, {parameter});
  }
  const auto problem = builder.Build();
  const HeftSchedule heft = ComputeHeft(*problem, 0b11, HeftRule::kHeft);
  CHECK(heft.placement.device == std::vector<DeviceIndex>{0, 0, 1, 1});
  CHECK(heft.makespan == 100);
}

TEST_CASE("a group goes where all of it finishes first") {
  ProblemBuilder builder = Gpus(2, 0);
  // Alone, "head" is faster on gpu:0 (1 < 2), but with "tail" the group costs 1 + 50 there, 2 + 10
  // on gpu:1.
  const int head = builder.Op("head", {1, 2});
  builder.Op("tail", {50, 10}, {head});
  const auto problem = builder.Build(Grouping(std::vector<int>{0, 0}));
  CHECK(ComputeHeft(*problem, 0b11, HeftRule::kHeft).placement.device ==
        std::vector<DeviceIndex>{1});
}

}  // namespace
