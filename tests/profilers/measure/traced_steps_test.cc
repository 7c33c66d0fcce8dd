#include "profilers/measure/traced_steps.h"

#include <doctest/doctest.h>

#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

using Piece = std::pair<std::vector<int>, Nanos>;

std::vector<Piece> PiecesOf(const TracedPlacement& traced, int device, size_t activity) {
  std::vector<Piece> pieces;
  ForEachPiece(traced,
               0,
               device,
               traced.steps[0][device][activity],
               [&](std::span<const int> beside, Nanos length) {
                 pieces.emplace_back(std::vector<int>(beside.begin(), beside.end()), length);
               });
  return pieces;
}

TEST_CASE("pieces of an activity: what ran on neighbours meanwhile") {
  // d0: 0 from 10 to 100. d1: 1 from 0 to 30, 2 from 50 to 100. d2: 3 from 20 to 60. d3: 4 all the
  // time, but it is no neighbour of d0.
  TracedPlacement traced;
  traced.neighbors = {0b0110, 0b0001, 0b0001, 0};
  traced.steps = {{{{0, 10, 100}}, {{1, 0, 30}, {2, 50, 100}}, {{3, 20, 60}}, {{4, 0, 200}}}};
  CHECK(PiecesOf(traced, 0, 0) ==
        std::vector<Piece>{{{1}, 10}, {{1, 3}, 10}, {{3}, 20}, {{3, 2}, 10}, {{2}, 40}});
  CHECK(PiecesOf(traced, 1, 0) == std::vector<Piece>{{{}, 10}, {{0}, 20}});
  CHECK(PiecesOf(traced, 3, 0) == std::vector<Piece>{{{}, 200}});
}

TEST_CASE("a placement's commands as activities of the devices that they keep busy") {
  // Op a on d0, a copy made by d0, op b on d1, and a view, which does nothing.
  ProblemBuilder builder;
  builder.Device("d0");
  builder.Device("d1");
  const int k = builder.Channel("out", 0, kGigabytePerSecond);
  builder.channel(k).occupies = Occupies::kSource;
  builder.Route(0, 1, {k});
  builder.AllToAll(0, kGigabytePerSecond);
  for (const char* name : {"a", "b", "view"}) builder.Op(name, {1}, {}, 8);
  for (int op : {0, 1}) builder.op(op).kind = "aten.mm";
  builder.Share(0, 1);
  const auto problem = builder.Build();
  ExecutionPlan plan;
  plan.num_devices = 2;
  plan.num_channels = problem->cluster().num_channels();
  plan.ops.resize(3);
  plan.ops[0].work.calls.resize(1);
  plan.ops[1].work.calls.resize(1);
  plan.commands = {{.stream = 0, .op = 0},
                   {.type = PlanCommand::Type::kCopy,
                    .stream = 2 + k,
                    .op = 0,
                    .tensor = 0,
                    .bytes = 8,
                    .source = {0, 0},
                    .destinations = {{1, 0}}},
                   {.stream = 1, .op = 1},
                   {.stream = 1, .op = 2}};
  StepMeasurement measurement;
  measurement.plan = std::make_shared<const ExecutionPlan>(plan);
  measurement.traces = {{130, {0, 100, 130, 170}, {100, 130, 170, 171}}};
  const std::vector<DeviceIndex> place{0, 1, 1};
  const std::vector<std::int64_t> cold{0, 8, 0};
  const TracedPlacement traced = TracePlacement(*problem, place, cold, measurement);
  REQUIRE(traced.subjects.size() == 3);
  CHECK(traced.subjects[0].work_class == "matmul");
  CHECK(!traced.subjects[0].signature.empty());
  CHECK(traced.subjects[1].work_class == kTransferClass);
  CHECK(traced.subjects[1].signature.empty());
  CHECK(traced.subjects[1].bytes == 8);
  CHECK(traced.subjects[2].bytes == 8);
  CHECK(traced.neighbors == std::vector<std::uint64_t>{2, 1});
  REQUIRE(traced.steps.size() == 1);
  REQUIRE(traced.steps[0][0].size() == 2);
  CHECK(traced.steps[0][0][1].finish == 130);
  REQUIRE(traced.steps[0][1].size() == 1);
  CHECK(traced.steps[0][1][0].start == 130);
}

// On d0 op a from 0 to 100, then a copy from 100 to 130; on d1 op b from 20 to 60 and op c from 60
// to 120.
TracedSteps Steps(bool are_neighbors) {
  TracedPlacement traced;
  traced.subjects = {{"k", "matmul", "a", 0},
                     {"k", "matmul", "b", 0},
                     {"k", "update", "c", 7},
                     {"k", "transfer", "", 8}};
  traced.neighbors = {are_neighbors ? 2u : 0u, are_neighbors ? 1u : 0u};
  traced.steps = {{{{0, 0, 100}, {3, 100, 130}}, {{1, 20, 60}, {2, 60, 120}}}};
  return {std::make_shared<const TracedPlacement>(std::move(traced))};
}

CostTable Figures() {
  CostTable table;
  KindCosts costs{.kind = {.name = "k"}};
  costs.kind.interference["matmul"] = {0, 1024};
  costs.kind.interference["update"] = {1024, 3072};
  costs.kind.interference["transfer"] = {1024, 1024};
  costs.ops.push_back({.signature = "a", .interference = Interference{1024, 0}});
  table.kinds.push_back(std::move(costs));
  return table;
}

TEST_CASE("without neighbours everything took as long as it took") {
  const auto times = ApartTimes(Steps(false), Figures());
  REQUIRE(times.size() == 3);
  CHECK(times.at({"k", "a"}) == ApartTimesOfOp{{0, {100}}});
  CHECK(times.at({"k", "b"}) == ApartTimesOfOp{{0, {40}}});
  CHECK(times.at({"k", "c"}) == ApartTimesOfOp{{7, {60}}});
}

TEST_CASE("beside neighbours less was done than the time says") {
  const auto times = ApartTimes(Steps(true), Figures());
  // a: 20 alone, 40 at 1/2 beside b, 40 at 1/4 beside c. b suffers nothing. c: 40 beside a, whose
  // own figures press nobody, and 20 at 1/2 beside the copy.
  CHECK(times.at({"k", "a"}) == ApartTimesOfOp{{0, {20 + 20 + 10}}});
  CHECK(times.at({"k", "b"}) == ApartTimesOfOp{{0, {40}}});
  CHECK(times.at({"k", "c"}) == ApartTimesOfOp{{7, {40 + 10}}});
}

}  // namespace
