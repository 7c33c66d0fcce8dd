// Long steps, large sizes and the compiled program of lanes, with every instruction set that this
// processor has. Random problems: tests/simulator/equality_test.cc.

#include "simulator/lanes/lane_buffers.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "framework/schedule/issue_order.h"
#include "tests/support/lane_problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("the kernels that this processor has are found") {
  const bool avx2 = __builtin_cpu_supports("avx2");
  CHECK((FindLaneKernel(8) != nullptr) == avx2);
  CHECK(FindLaneKernel(7) == nullptr);
  if (avx2) CHECK(FindLaneKernel(8)->lanes == 8);
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    CHECK(FindLaneKernel(16)->lanes == 16);
  }
}

// Two ops in a row of 1 s on d0 and 0.1 s on d1, many times over: 32 bits hold 4.29 s.
std::shared_ptr<const Problem> SlowChain(int length) {
  ProblemBuilder b;
  b.Device("d0", kUnlimitedMemory);
  b.Device("d1", kUnlimitedMemory);
  b.AllToAll(1'000, {1'000'000'000, 1});
  for (int v = 0; v < length; ++v) {
    b.Op("op" + std::to_string(v),
         {200'000'000, 20'000'000},
         v > 0 ? std::vector<int>{v - 1} : std::vector<int>{},
         1'000);
  }
  return b.Build();
}

TEST_CASE("steps too long for 32 bits are found and simulated all the same") {
  const auto problem = SlowChain(40);  // 8 s on d0, 0.8 s on d1
  const LaneProgram program(CompiledProblem(*problem, IssueOrder(problem->graph())), {});
  REQUIRE(program.possible);
  CHECK(program.time_limit > 3'000'000'000);
  const Placement slow{std::vector<DeviceIndex>(40, 0)}, fast{std::vector<DeviceIndex>(40, 1)};
  const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kStream});
  const std::vector<Placement> both{slow, fast, slow};
  const std::vector<Outcome> outcomes = simulator->Evaluate(both);
  CHECK(outcomes[0].step_time == 8'000'000'000);
  CHECK(outcomes[1].step_time == 800'000'000);
  CHECK(outcomes[2].step_time == 8'000'000'000);
  CHECK(outcomes[0].devices[0].busy == 8'000'000'000);
}

TEST_CASE("a first op that takes seconds is counted once, whatever was simulated before") {
  ProblemBuilder b;
  for (const char* name : {"d0", "d1"}) b.Device(name, kUnlimitedMemory);
  b.AllToAll(1'000, {1'000'000'000, 1});
  b.Op("first", {1'500'000'000, 1'500'000'000});
  b.Op("second", {5, 5}, {0}, 8);
  const auto simulator = MakeSimulator(b.Build(), {.semantics = Semantics::kStream});
  const std::vector<Placement> both{{{0, 0}}, {{1, 1}}};
  for (int call = 0; call < 2; ++call) {
    const std::vector<Outcome> outcomes = simulator->Evaluate(both);
    CHECK(outcomes[0].devices[0].busy == 1'500'000'005);
    CHECK(outcomes[1].devices[1].busy == 1'500'000'005);
  }
}

// Thousands of ops of milliseconds: steps of several seconds. Ops that await nothing come late,
// too.
std::shared_ptr<const Problem> LongProblem(Rng& rng, bool hosts, bool slots) {
  ProblemBuilder b;
  for (int d = 0; d < 3; ++d) {
    b.Device("d" + std::to_string(d), kUnlimitedMemory, slots ? 1 + d : 1);
    b.kind(d).gap = 1'000 * d;
    if (!hosts) continue;
    b.kind(d).issue = 1'200'000;
    b.kind(d).launch = 5'000'000;
  }
  b.AllToAll(100'000, {1'000'000'000, 1}, 5'000);
  const int num_ops = 3'000 + UniformInt(rng, 2'000);
  for (int v = 0; v < num_ops; ++v) {
    std::vector<int> inputs;
    const bool source = Uniform01(rng) < 0.02;
    for (int i = UniformInt(rng, 3); i >= 0 && v > 0 && !source; --i) {
      inputs.push_back(std::max(0, v - 1 - UniformInt(rng, i == 0 ? 5 : 300)));
    }
    std::vector<Nanos> costs;
    for (int d = 0; d < 3; ++d) {
      costs.push_back(Uniform01(rng) < 0.2 ? 0 : UniformInt(rng, 6'000'000));
    }
    b.Op("op" + std::to_string(v), costs, inputs, UniformInt(rng, 2'000'000));
  }
  return b.Build();
}

TEST_CASE("times are made small again in long steps") {
  Rng rng(13);
  int in_lanes = 0, lanes = 0;
  for (int round = 0; round < 6 * EMPLACE_TEST_SCALE; ++round) {
    CAPTURE(round);
    const auto problem = LongProblem(rng, round % 2 == 1, round % 3 == 2);
    SimulatorOptions options{.semantics = Semantics::kStream, .count_gaps = round % 4 == 1};
    std::vector<Placement> placements;
    for (int i = 0; i < 5; ++i) placements.push_back(RandomPlacement(rng, *problem));
    for (Placement& placement : placements) {  // parts of it in one place: seconds on a device
      const int begin = UniformInt(rng, problem->num_ops());
      std::fill(placement.device.begin() + begin, placement.device.end(), DeviceIndex{1});
    }
    const std::vector<Outcome> expected = ReferenceOutcomes(*problem, placements, options);
    for (const int width : kLaneWidths) {
      options.most_lanes = width;
      const std::vector<Outcome> outcomes = MakeSimulator(problem, options)->Evaluate(placements);
      for (size_t i = 0; i < placements.size(); ++i) {
        REQUIRE(Difference(outcomes[i], expected[i]) == "");
      }
      const LaneKernel* kernel = FindLaneKernel(width);
      if (kernel == nullptr) continue;
      const CompiledProblem compiled(*problem, IssueOrder(problem->graph()));
      const LaneProgram program(compiled, {.count_gaps = options.count_gaps});
      const std::vector<std::uint64_t> allowed(problem->num_groups(), 7);
      LaneBuffers buffers(program, *kernel);
      std::vector<const std::uint8_t*> rows;
      for (const Placement& placement : placements) rows.push_back(placement.device.data());
      REQUIRE(buffers.Run(rows, allowed, true));
      for (size_t i = 0; i < placements.size(); ++i) {
        CHECK(expected[i].step_time > 4'300'000'000);  // no 32 bits
        const int lane = static_cast<int>(i);
        ++lanes;
        in_lanes += buffers.done(lane);
        if (buffers.done(lane)) {
          CHECK(buffers.step_time(lane) == expected[i].step_time);
        }
      }
    }
  }
  CHECK(in_lanes * 2 >= lanes);  // late ops that await nothing may leave some to the scalar engine
}

TEST_CASE("the costs of devices that are not in use leave the others their time") {
  ProblemBuilder b;
  for (const char* name : {"slow", "d1", "d2"}) b.Device(name, kUnlimitedMemory);
  b.AllToAll(1'000, {1'000'000'000, 1});
  // 2000 ops of 1 ms in a row, 5000 more, and one behind the first row; the last takes 2 s on
  // `slow`.
  constexpr int kFirst = 2'000, kSecond = 5'000, kLast = kFirst + kSecond;
  for (int v = 0; v <= kLast; ++v) {
    std::vector<int> inputs;
    if (v != 0 && v != kFirst) inputs.push_back(v == kLast ? kFirst - 1 : v - 1);
    b.Op("op" + std::to_string(v),
         {v == kLast ? 2'000'000'000 : 1'000'000, 1'000'000, 1'000'000},
         inputs,
         0);
  }
  const auto problem = b.Build();
  const CompiledProblem compiled(*problem, IssueOrder(problem->graph()));
  const LaneProgram program(compiled, {});
  // 2^32 - 1 ns less a cost and a latency
  CHECK(program.TimeLimit(0b110) == 4'294'967'295 - 1'000'000 - 1'000);
  CHECK(program.TimeLimit(0b111) == 4'294'967'295 - 2'000'000'000 - 1'000);
  CHECK(program.time_limit == program.TimeLimit(0b111));
  // The last op begins at 2 s on d2, when 5 s have passed on d1.
  Placement placement{std::vector<DeviceIndex>(kLast + 1, 1)};
  std::fill_n(placement.device.begin(), kFirst, DeviceIndex{2});
  placement.device[kLast] = 2;
  const std::vector<std::uint64_t> allowed(kLast + 1, 7);
  for (const int width : kLaneWidths) {
    const LaneKernel* kernel = FindLaneKernel(width);
    if (kernel == nullptr) continue;
    LaneBuffers buffers(program, *kernel);
    const std::vector<const std::uint8_t*> rows{placement.device.data()};
    REQUIRE(buffers.Run(rows, allowed, true));
    CHECK(buffers.done(0));
    CHECK(buffers.step_time(0) == 5'000'000'000);
    CHECK(buffers.busy(0, 2) == 2'001'000'000);
  }
}

TEST_CASE("single costs too large for 32 bits leave everything to the scalar engine") {
  ProblemBuilder b;
  b.Device("d0", kUnlimitedMemory);
  b.Op("a", {5'000'000'000}, {}, 8);
  const auto problem = b.Build();
  CHECK(!LaneProgram(CompiledProblem(*problem, IssueOrder(problem->graph())), {}).possible);
  const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kStream});
  CHECK(simulator->Evaluate(Placement{{0}}).step_time == 5'000'000'000);
}

TEST_CASE("sizes are counted in their common unit, in 64 bits if they are large") {
  const auto chain = [](std::int64_t bytes, std::int64_t last) {
    ProblemBuilder b;
    b.Device("d0", kUnlimitedMemory);
    b.Device("d1", kUnlimitedMemory);
    b.AllToAll(1'000, {1'000'000'000'000, 1});
    b.Op("a", {1, 1}, {}, bytes);
    b.Op("b", {1, 1}, {0}, bytes);
    b.Op("c", {1, 1}, {0, 1}, last);
    return b.Build();
  };
  const auto program = [](const Problem& problem) {
    return LaneProgram(CompiledProblem(problem, IssueOrder(problem.graph())), {});
  };
  constexpr std::int64_t kGiga = 1'000'000'000;
  CHECK(program(*chain(2 * kGiga, 8)).memory == LaneMemory::k32);  // 4 GB and 8 B by 8
  CHECK(program(*chain(2 * kGiga, 8)).unit == 8);
  CHECK(program(*chain(2 * kGiga, 7)).memory == LaneMemory::k32);  // just below 2^32
  CHECK(program(*chain(3 * kGiga, 7)).memory == LaneMemory::k64);
  CHECK(program(*chain(3 * kGiga, 7)).unit == 1);
  for (const std::int64_t last : {7, 8}) {
    const auto problem = chain(30 * kGiga, last);
    const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kStream});
    const Outcome outcome = simulator->Evaluate(Placement{{0, 0, 0}});
    CHECK(outcome.devices[0].peak == 60 * kGiga + last);  // all three at once
  }
}

TEST_CASE("what is never in use at once need not fit into 32 bits together") {
  ProblemBuilder b;
  b.Device("d0", kUnlimitedMemory);
  for (int v = 0; v < 5; ++v) {  // in a row: 2 GB + 1 B, then 2 GB each
    b.Op("op" + std::to_string(v),
         {1},
         v > 0 ? std::vector<int>{v - 1} : std::vector<int>{},
         2'000'000'000 + (v == 0));
  }
  const auto problem = b.Build();
  const LaneProgram program(CompiledProblem(*problem, IssueOrder(problem->graph())), {});
  CHECK(program.memory == LaneMemory::k32);
  CHECK(program.unit == 1);
  const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kStream});
  const std::vector<Placement> twice(2, Placement{{0, 0, 0, 0, 0}});
  CHECK(simulator->Evaluate(twice)[1].devices[0].peak == 4'000'000'001);  // the first two
}

TEST_CASE("what is over behind an op in every placement is counted with the op") {
  ProblemBuilder b;
  for (const char* name : {"d0", "d1"}) b.Device(name, kUnlimitedMemory);
  b.AllToAll(1'000, {1'000'000'000, 1});
  b.Op("a", {1, 1}, {}, 8);
  b.Op("b", {1, 1}, {0}, 16);
  b.Op("c", {1, 1}, {0}, 24);
  const auto problem = b.Build();
  const LaneProgram program(CompiledProblem(*problem, IssueOrder(problem->graph())), {});
  REQUIRE(program.unit == 8);
  // Nobody reads what b and c make: 2 and 3 units while they run. c is the last to read that of a,
  // wherever it is; b is only where c is not.
  CHECK(program.own_bytes == std::vector<std::int64_t>{1, 0, -1});
  CHECK(program.workspace == std::vector<std::int64_t>{0, 2, 4});
  REQUIRE(program.releases.size() == 1);
  CHECK(program.releases[0].entry == 0);
  CHECK(program.ops[1].release_begin == 0);
  CHECK(program.ops[2].release_begin == 1);
}

TEST_CASE("a group is never apart from itself, and rows are used again") {
  ProblemBuilder b;
  for (const char* name : {"d0", "d1"}) b.Device(name, kUnlimitedMemory);
  b.AllToAll(1'000, {1'000'000'000, 1});
  // Groups {a, b} and {c}: a -> b, b -> c; then d, e, f in a row, each alone.
  b.Op("a", {1, 1}, {}, 8);
  b.Op("b", {1, 1}, {0}, 8);
  b.Op("c", {1, 1}, {1}, 8);
  b.Op("d", {1, 1}, {2}, 8);
  b.Op("e", {1, 1}, {3}, 8);
  const std::vector<int> label{0, 0, 1, 2, 3};
  const auto problem = b.Build(Grouping(label), ProblemChecks::kAll);
  const LaneProgram program(CompiledProblem(*problem, IssueOrder(problem->graph())),
                            {.memory = false});
  REQUIRE(program.ops.size() == 6);
  CHECK(program.ops[1].single_begin < program.ops[2].single_begin);  // b awaits a, in its group
  CHECK(program.ops[1].block_begin == program.ops[2].block_begin);
  CHECK(program.items.size() == 3);  // those of b, c and d are read by another group
  // One row holds the finish of a, then the arrival of b at c, which is free when c has been issued
  // and takes it for d, and so on.
  CHECK(program.num_rows == 1);
}

}  // namespace
