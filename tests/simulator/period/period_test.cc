#include "simulator/period/period.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "simulator/simulator.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// a(100 B) -> b, c; b(10 B) -> d. 1 B/ns, latency 5.
ProblemBuilder Diamond() {
  ProblemBuilder b;
  b.Device("d0", 120);
  b.Device("d1");
  b.Device("d2");
  b.AllToAll(5, kGigabytePerSecond);
  b.Op("a", {30}, {}, 100);
  b.Op("b", {20}, {0}, 10);
  b.Op("c", {20}, {0}, 1);
  b.Op("d", {7}, {1}, 1);
  return b;
}

Outcome Evaluate(const ProblemBuilder& b, const std::vector<DeviceIndex>& devices) {
  Outcome outcome;
  EvaluatePeriod(*b.Build(), devices, {.channels = true}, outcome);
  return outcome;
}

TEST_CASE("the period is the largest load: ops, transfers in, the dearest transfer out") {
  const Outcome outcome = Evaluate(Diamond(), {0, 1, 2, 1});
  // d0: 30 + out max(105, 105) = 135. d1: 20 + 7 + in 105 = 132. d2: 20 + 105 = 125.
  CHECK(outcome.step_time == 135);
  CHECK(outcome.devices[1].busy == 27);
  CHECK(outcome.channels[0].transfers == 1);
}

TEST_CASE("a tensor read twice on a device enters once") {
  // d0: 30 + 105 out; d1: 20 + 20 + 7 + 105 in.
  CHECK(Evaluate(Diamond(), {0, 1, 1, 1}).step_time == 152);
}

TEST_CASE("a kind that does not pay counts its ops only; its partners still pay") {
  ProblemBuilder b = Diamond();
  b.kind(0).pays_transfers = false;
  // d0: 30; d1: 132; d2: 125.
  CHECK(Evaluate(b, {0, 1, 2, 1}).step_time == 132);
}

TEST_CASE("memory is static: every tensor on its producer's device") {
  const Outcome outcome = Evaluate(Diamond(), {0, 0, 0, 1});
  CHECK(outcome.devices[0].peak == 111);
  CHECK(outcome.feasible);
  CHECK(Evaluate(Diamond(), {0, 0, 0, 0}).devices[0].peak == 112);
  ProblemBuilder b = Diamond();
  b.op(3).workspace_bytes = 1000;
  b.output(3).bytes = 10;
  const Outcome tight = Evaluate(b, {0, 0, 0, 0});
  CHECK(tight.devices[0].deficit == 1);
  CHECK_FALSE(tight.feasible);
}

TEST_CASE("a problem with the period as objective is evaluated so by the simulator") {
  const auto built = Diamond().Build();
  const auto problem = std::make_shared<Problem>(std::make_shared<Graph>(built->graph()),
                                                 Grouping::Identity(4),
                                                 std::make_shared<Cluster>(built->cluster()),
                                                 built->costs(),
                                                 Objective::kPeriod);
  CHECK(MakeSimulator(problem, {})->Evaluate(Placement{{0, 1, 2, 1}}).step_time == 135);
}

}  // namespace
