#include "agents/peft/peft.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "agents/heft/heft.h"
#include "agents/shared/list_schedule.h"
#include "tests/agents/list_schedules.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Figure 1 and table 1 of the paper: ten tasks, three processors, messages in the unit of time.
std::shared_ptr<const Problem> PeftExample() {
  return TaskGraph({{22, 21, 36},
                    {22, 18, 18},
                    {32, 27, 43},
                    {7, 10, 4},
                    {29, 27, 35},
                    {26, 17, 24},
                    {14, 25, 30},
                    {29, 23, 36},
                    {15, 21, 8},
                    {13, 16, 33}},
                   {{1, 2, 17},
                    {1, 3, 31},
                    {1, 4, 29},
                    {1, 5, 13},
                    {1, 6, 7},
                    {2, 8, 3},
                    {2, 9, 30},
                    {3, 7, 16},
                    {4, 8, 11},
                    {4, 9, 7},
                    {5, 9, 57},
                    {6, 8, 5},
                    {7, 10, 9},
                    {8, 10, 42},
                    {9, 10, 7}});
}

TEST_CASE("PEFT meets the published example: makespan 122, where HEFT needs 133") {
  const auto problem = PeftExample();
  const PeftSchedule peft = ComputePeft(*problem, 0b111);
  // By hand, from the exit up. t7 on p1: t10 there costs 13, on p2 9 + 16, on p3 9 + 33: least 13.
  // On p2: min(13 + 9, 16, 33 + 9) = 16; on p3: min(13 + 9, 16 + 9, 33) = 22. t8 on p3:
  // min(13 + 42, 16 + 42, 33) = 33. t9 on p2: min(13 + 7, 16, 33 + 7) = 16; on p3: 20.
  // t3 on p1, through t7: min(13 + 14, 16 + 25 + 16, 22 + 30 + 16) = 27;
  // on p2: min(27 + 16, 41, 52 + 16) = 41; on p3: min(43, 57, 52) = 43.
  const auto row = [&](int task) {
    const auto begin = peft.optimistic_cost.begin() + 3 * (task - 1);
    return std::vector<Nanos>(begin, begin + 3);
  };
  CHECK(row(10) == std::vector<Nanos>{0, 0, 0});
  CHECK(row(7) == std::vector<Nanos>{13, 16, 22});
  CHECK(row(8) == std::vector<Nanos>{13, 16, 33});
  CHECK(row(9) == std::vector<Nanos>{13, 16, 20});
  CHECK(row(3) == std::vector<Nanos>{27, 41, 43});
  CHECK(peft.rank[6] == doctest::Approx(17));  // (13 + 16 + 22) / 3
  CHECK(peft.rank[2] == doctest::Approx(111. / 3));
  CHECK(peft.makespan == 122);
  CHECK(ComputeHeft(*problem, 0b111, HeftRule::kHeft).makespan == 133);
}

TEST_CASE("a dearer start that makes the rest cheap is preferred") {
  // a costs 10 on p0 and 12 on p1; b, behind a message of 100, costs 50 on p0 and 5 on p1.
  // OCT(a, p0) = min(50, 5 + 100) = 50, OCT(a, p1) = 5: 10 + 50 > 12 + 5, so both go to p1.
  ProblemBuilder builder;
  builder.Device("p0");
  builder.Device("p1");
  builder.AllToAll(0, kGigabytePerSecond);
  const int a = builder.Op("a", {10, 12}, {}, 100);
  builder.Op("b", {50, 5}, {a});
  const auto problem = builder.Build();
  const PeftSchedule peft = ComputePeft(*problem, 0b11);
  CHECK(peft.optimistic_cost == std::vector<Nanos>{50, 5, 0, 0});
  CHECK(peft.placement.device == std::vector<DeviceIndex>{1, 1});
  CHECK(peft.makespan == 17);
  CHECK(ComputeHeft(*problem, 0b11, HeftRule::kHeft).makespan == 60);  // a, then b, on p0
}

TEST_CASE("a successor of the same group shares its device") {
  // With b in a group of its own OCT(a, p0) = min(50, 5 + 1) = 6; in one with a it is 50.
  ProblemBuilder builder;
  builder.Device("p0");
  builder.Device("p1");
  builder.AllToAll(0, kGigabytePerSecond);
  const int a = builder.Op("a", {1, 12}, {}, 1);
  builder.Op("b", {50, 5}, {a});
  CHECK(ComputePeft(*builder.Build(), 0b11).optimistic_cost == std::vector<Nanos>{6, 5, 0, 0});
  const auto together = builder.Build(Grouping(std::vector<int>{0, 0}));
  const PeftSchedule peft = ComputePeft(*together, 0b11);
  CHECK(peft.optimistic_cost == std::vector<Nanos>{50, 5, 0, 0});
  CHECK(peft.placement.device == std::vector<DeviceIndex>{1});
}

TEST_CASE("the table is that of the formula, on random problems") {
  Rng rng(8);
  for (int trial = 0; trial < 50; ++trial) {
    CAPTURE(trial);
    const auto problem = MixedProblem(rng, 5 + UniformInt(rng, 40), 2, kUnlimitedMemory);
    const Graph& graph = problem->graph();
    const OpInputs inputs(graph);
    const MeanCommunication communication = ComputeMeanCommunication(problem->cluster(), 0b111);
    const auto table = ComputePeft(*problem, 0b111).optimistic_cost;
    std::vector<Nanos> expected(table.size(), 0);
    for (int s = 0; s < graph.num_ops(); ++s) {
      for (const OpInput& input : inputs[s]) {
        const int group = problem->grouping().group_of(s);
        const int other = problem->grouping().group_of(input.op);
        for (int d = 0; d < 3; ++d) {
          if (!problem->allowed(other, d)) continue;
          Nanos least = kMaxNanos;
          for (int e = 0; e < 3; ++e) {
            if (!problem->allowed(group, e) || (group == other && e != d)) continue;
            const Nanos message = e == d ? 0 : std::llround(communication(input.bytes));
            least = std::min(least, table[3 * s + e] + problem->costs().at(s, e) + message);
          }
          Nanos& entry = expected[3 * input.op + d];
          entry = std::max(entry, least);
        }
      }
    }
    CHECK(table == expected);
  }
}

TEST_CASE("PEFT's schedules respect devices and messages, on random problems") {
  Rng rng(4);
  for (int trial = 0; trial < 50; ++trial) {
    CAPTURE(trial);
    const auto problem = MixedProblem(rng, 5 + UniformInt(rng, 60), 3, kUnlimitedMemory);
    CheckSchedule(*problem, ComputePeft(*problem, 0b1111));
  }
}

}  // namespace
