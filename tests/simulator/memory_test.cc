// Peak memory by hand, in queue and stream semantics.

#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::vector<std::int64_t> Peaks(const Timeline& timeline) {
  std::vector<std::int64_t> peaks;
  for (const DeviceOutcome& device : timeline.outcome.devices) peaks.push_back(device.peak);
  return peaks;
}

using P = std::vector<std::int64_t>;

// a(100 B) -> b(10 B) -> c(1 B), costs 10.
ProblemBuilder Chain() {
  ProblemBuilder b = Gpus(2, 0);
  b.Op("a", {10}, {}, 100);
  b.Op("b", {10}, {0}, 10);
  b.Op("c", {10}, {1}, 1);
  return b;
}

TEST_CASE("chain on one device: two neighbours live together") {
  // b runs with a's 100 and its own 10. At b's end a is freed; at the same time c starts: in Q the
  // allocation of c comes before the release of a (111), in S a is released behind b (11 at c).
  CHECK(Peaks(Simulate(Chain().Build(), {0, 0, 0}, kQ)) == P{111, 0});
  CHECK(Peaks(Simulate(Chain().Build(), {0, 0, 0}, kS)) == P{110, 0});
}

TEST_CASE("a received copy: from the start of its last hop to its last reader there") {
  // a on d0 0-10; copy 10-110; b on d1 110-120 with the copy (100) + 10; Q: c starts at 120 before
  // the copy goes: 111. d0 holds a until the copy has arrived: 100.
  CHECK(Peaks(Simulate(Chain().Build(), {0, 1, 1}, kQ)) == P{100, 111});
  CHECK(Peaks(Simulate(Chain().Build(), {0, 1, 1}, kS)) == P{100, 110});
}

TEST_CASE("intermediate hops count nothing; Q's copy begins with the last hop") {
  ProblemBuilder b = Devices(2);
  const int up = b.Channel("up", 0, kGigabytePerSecond),
            down = b.Channel("down", 0, kGigabytePerSecond);
  b.Route(0, 1, {up, down});
  b.Op("a", {10}, {}, 100);
  b.Op("b", {1}, {0});
  b.Op("big", {100}, {}, 1000);  // on d1 0-100, released at 100
  const auto problem = b.Build(Grouping::Identity(3), ProblemChecks::kPlacementOnly);
  // Last hop 110-210: big is gone by then: 1000, then 100.
  CHECK(Peaks(Simulate(problem, {0, 1, 1}, kQ)) == P{100, 1000});
  // S by issue order: a and its copy (100), b reads and releases it, then big.
  CHECK(Peaks(Simulate(problem, {0, 1, 1}, kS)) == P{100, 1000});
}

TEST_CASE("S takes the peak again after each copy, before the inputs are released") {
  ProblemBuilder b = Gpus(2, 0);
  b.Op("a", {1}, {}, 100);
  b.Op("b", {1}, {0}, 50);
  b.Op("c", {1}, {1}, 0);
  // b on d0: 100 + 50, its copy on d1: 50.
  CHECK(Peaks(Simulate(b.Build(), {0, 0, 1}, kS)) == P{150, 50});
}

TEST_CASE("a workspace lives while its op runs") {
  auto b = Chain();
  b.op(1).workspace_bytes = 1000;
  // Q: b runs 10-20 with a, b and 1000; S the same.
  CHECK(Peaks(Simulate(b.Build(), {0, 0, 0}, kQ)) == P{1111, 0});
  CHECK(Peaks(Simulate(b.Build(), {0, 0, 0}, kS)) == P{1110, 0});
}

TEST_CASE("parameters, buffers and optimiser state are resident for the whole step") {
  auto b = Chain();
  b.output(0).role = TensorRole::kParameter;
  CHECK(Peaks(Simulate(b.Build(), {0, 0, 0}, kQ)) == P{111, 0});
  CHECK(Peaks(Simulate(b.Build(), {0, 0, 0}, kS)) == P{111, 0});
  // Elsewhere the parameter's copy is transient: S frees it behind b.
  CHECK(Peaks(Simulate(b.Build(), {0, 1, 1}, kS)) == P{100, 110});
}

TEST_CASE("a graph input is resident on every device that reads it") {
  ProblemBuilder b = Gpus(3, 0);
  const int x = b.Input("x", 7);
  b.Op("a", {1});
  b.Op("b", {1});
  b.op(0).inputs = {x};
  b.op(1).inputs = {x, x};
  for (const auto& options : {kQ, kS}) {
    CHECK(Peaks(Simulate(b.Build(), {0, 0}, options)) == P{7, 0, 0});
    CHECK(Peaks(Simulate(b.Build(), {0, 2}, options)) == P{7, 0, 7});
  }
}

TEST_CASE("role output is never released") {
  auto b = Chain();
  b.output(0).role = TensorRole::kOutput;
  CHECK(Peaks(Simulate(b.Build(), {0, 0, 0}, kS)) == P{111, 0});
}

TEST_CASE("an output nobody reads goes when its op ends") {
  ProblemBuilder b = Devices(1);
  b.Op("a", {5}, {}, 100);
  b.Op("b", {5}, {}, 10);
  // Q: b starts at 5 when a ends: both count. S: a is released behind a.
  CHECK(Peaks(Simulate(b.Build(), {0, 0}, kQ)) == P{110});
  CHECK(Peaks(Simulate(b.Build(), {0, 0}, kS)) == P{100});
}

TEST_CASE("an alias counts nothing and prolongs the life of what it shares") {
  ProblemBuilder b = Devices(1);
  b.Op("a", {10}, {}, 100);
  b.Op("in_place", {10}, {0}, 100);
  b.Op("big", {10}, {}, 1000);
  b.Op("reader", {10}, {1}, 0);
  b.output(1).alias_of = b.op(0).outputs[0];
  const auto problem = b.Build();
  // Q: order a(0), big(0), in_place(10), reader: a 0-10, big 10-20, in_place 20-30, reader 30-40.
  CHECK(Peaks(Simulate(problem, {0, 0, 0, 0}, kQ)) == P{1100});
  // S: a, in_place, big, reader: the 100 B live until reader.
  CHECK(Peaks(Simulate(problem, {0, 0, 0, 0}, kS)) == P{1100});
  // Without the alias S would hold 100 + 100, then 100 + 1000.
  b.output(1).alias_of = -1;
  b.output(1).bytes = 0;
  CHECK(Peaks(Simulate(b.Build(), {0, 0, 0, 0}, kS)) == P{1000});
}

TEST_CASE("an alias made on another device lives in the copy received there") {
  ProblemBuilder b = Gpus(2, 0);
  b.Op("a", {10}, {}, 100);
  b.Op("in_place", {10}, {0}, 100);
  b.Op("big", {1}, {1}, 1000);
  b.Op("last", {1}, {1, 2}, 0);
  b.output(1).alias_of = b.op(0).outputs[0];
  // The copy (100) serves in_place's output until last: 100 + 1000 on d1, a itself 100 on d0.
  for (const auto& options : {kQ, kS}) {
    CHECK(Peaks(Simulate(b.Build(), {0, 1, 1, 1}, options)) == P{100, 1100});
  }
}

TEST_CASE("a placement that does not fit is an outcome with the missing bytes") {
  ProblemBuilder b;
  b.Device("d0", 105);
  b.Device("d1", 20);
  b.AllToAll(0, kGigabytePerSecond);
  b.Op("a", {10}, {}, 100);
  b.Op("b", {10}, {0}, 10);
  const Timeline t = Simulate(b.Build(), {0, 0}, kS);
  CHECK_FALSE(t.outcome.feasible);
  CHECK(t.outcome.devices[0].deficit == 5);
  CHECK(t.outcome.devices[1].deficit == 0);
  CHECK(t.outcome.deficit() == 5);
  const Timeline split = Simulate(b.Build(), {0, 1}, kS);
  CHECK(split.outcome.devices[1].deficit == 90);
}

}  // namespace
