// Stream semantics by hand: one pass in issue order, streams and copies in order, one host clock.

#include "framework/schedule/transfer_plan.h"
#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("a stream serves in issue order even when a later op is ready earlier") {
  ProblemBuilder b;
  b.Device("d0");
  b.Device("d1");
  b.AllToAll(0, kGigabytePerSecond);
  b.Op("late", {9});
  b.Op("reader_of_late", {1}, {0});
  b.Op("early", {4});
  b.Op("reader_of_early", {7}, {2});
  // Issue order 0 1 2 3. On d1: reader_of_late waits for 9 (0 B copy arrives 9): 9-10; early 10-14;
  // reader_of_early 14-21. (In Q early runs 0-4, its reader 4-11, and the reader of late, ready at
  // 9, follows at 11.)
  const Timeline t = Simulate(b.Build(), {0, 1, 1, 1}, kS);
  CHECK(t.outcome.start == std::vector<Nanos>{0, 9, 10, 14});
  CHECK(Simulate(b.Build(), {0, 1, 1, 1}, kQ).outcome.start == std::vector<Nanos>{0, 11, 0, 4});
}

TEST_CASE("copies go onto their channel in issue order, tensors ascending, control last") {
  ProblemBuilder b;
  b.Device("d0");
  b.Device("d1");
  const int k = b.Channel("k", 2, kGigabytePerSecond, 3);
  b.Route(0, 1, {k});
  b.Op("a", {10}, {}, 5);
  b.Op("b", {1}, {0});
  b.Op("c", {1});
  b.op(2).control_inputs = {0};
  const auto problem = b.Build(Grouping::Identity(3), ProblemChecks::kPlacementOnly);
  const Timeline t = Simulate(problem, {0, 1, 1}, kS);
  // Tensor: wire 10-15, arrives 17, channel free 18; control: 18-18, arrives 20.
  CHECK(t.outcome.start == std::vector<Nanos>{0, 17, 20});
  CHECK(t.transfers[1].tensor == kControlTensor);
}

TEST_CASE("a copy of a later op waits behind a copy of an earlier one") {
  ProblemBuilder b;
  b.Device("d0");
  b.Device("d1");
  b.Device("d2");
  const int shared = b.Channel("shared", 0, kGigabytePerSecond);
  b.Route(0, 2, {shared});
  b.Route(1, 2, {shared});
  b.Op("slow", {50}, {}, 10);
  b.Op("fast", {5}, {}, 10);
  b.Op("x", {1}, {0});
  b.Op("y", {1}, {1});
  const auto problem = b.Build(Grouping::Identity(4), ProblemChecks::kPlacementOnly);
  // S: slow's copy 50-60 is issued first, fast's follows 60-70. x 60-61, y 70-71.
  CHECK(Simulate(problem, {0, 1, 2, 2}, kS).outcome.start == std::vector<Nanos>{0, 0, 60, 70});
  // Q: fast's copy is ready at 5 and goes 5-15.
  CHECK(Simulate(problem, {0, 1, 2, 2}, kQ).outcome.start == std::vector<Nanos>{0, 0, 60, 15});
}

TEST_CASE("the host issues one command after another; launch delays each") {
  ProblemBuilder b;
  b.Device("d0");
  b.Device("d1");
  b.AllToAll(0, kGigabytePerSecond);
  b.kind(0).issue = 3;
  b.kind(0).launch = 10;
  b.kind(1).issue = 5;
  b.kind(1).launch = 1;
  b.Op("a", {2}, {}, 4);
  b.Op("b", {2}, {0});
  b.Op("c", {2});
  // Clock 3: a may start at 13: 13-15. Clock 6: its copy (source d0) at 16: 16-20.
  // Clock 11: b at 12, waits for the copy: 20-22. Clock 14: c on d0 at 24: 24-26.
  const Timeline t = Simulate(b.Build(), {0, 1, 0}, kS);
  CHECK(t.outcome.start == std::vector<Nanos>{13, 20, 24});
  CHECK(t.outcome.step_time == 26);
}

TEST_CASE("a slot serves the transfers that occupy it and its ops in issue order") {
  ProblemBuilder b;
  b.Device("d0");
  b.Device("d1");
  b.Device("d2");
  b.kind(0).gap = 2;
  const int push = b.Channel("push", 1, kGigabytePerSecond, 5);
  const int pull = b.Channel("pull", 1, kGigabytePerSecond);
  b.channel(push).occupies = Occupies::kSource;
  b.channel(pull).occupies = Occupies::kDestination;
  b.Route(0, 1, {push});
  b.Route(0, 2, {push, pull});
  b.Op("a", {10}, {}, 4);
  b.Op("x", {1}, {0});
  b.Op("y", {1}, {0});
  b.Op("c", {7});
  b.Op("d", {9});
  const auto problem = b.Build(Grouping::Identity(5), ProblemChecks::kPlacementOnly);
  // a 0-10, d0 free 12. To d1: d0 is free at 12: 12-16, arrives 17; d0 free 16, push free 21. To
  // d2: push 21-25, arrives 26, d0 free 25; pull with d2, which is free: 26-30, arrives 31.
  // x 17-18, y 31-32. c on d0 25-32, free 34. d on d2 behind y: 32-41.
  const Timeline t = Simulate(problem, {0, 1, 2, 0, 2}, kS);
  CHECK(t.outcome.start == std::vector<Nanos>{0, 17, 31, 25, 32});
  CHECK(t.outcome.devices[0].busy == 10 + 4 + 4 + 7);
  CHECK(t.outcome.devices[2].busy == 4 + 1 + 9);
  CHECK(t.transfers[2].source_slot == -1);
  CHECK(t.transfers[2].destination_slot == 0);
  // Without contention push is not awaited, d0 is: to d2 16-20, arrives 21; pull 21-25, arrives
  // 26; c 20-27, y 26-27, d 27-36.
  const Timeline alone = Simulate(
      problem, {0, 1, 2, 0, 2}, {.semantics = Semantics::kStream, .channel_contention = false});
  CHECK(alone.outcome.start == std::vector<Nanos>{0, 17, 26, 20, 27});
}

TEST_CASE("a copy that occupies devices waits for the host, the channel and the slots") {
  ProblemBuilder b;
  b.Device("d0");
  b.Device("d1", kUnlimitedMemory, 2);
  b.kind(0).issue = 20;
  b.kind(0).launch = 1;
  const int copy = b.Channel("copy", 0, kGigabytePerSecond);
  b.channel(copy).occupies = Occupies::kBoth;
  b.Route(0, 1, {copy});
  b.Op("a", {3}, {}, 10);
  b.Op("b", {5}, {0});
  b.Op("c", {30});
  const auto problem = b.Build(Grouping::Identity(3), ProblemChecks::kPlacementOnly);
  // Clock 20: a 21-24. Clock 40: the copy at 41 on slot 0 of both: 41-51. d1 issues at once: b on
  // slot 1 51-56 (free at 0, slot 0 at 51); c on slot 0: 51-81.
  const Timeline t = Simulate(problem, {0, 1, 1}, kS);
  CHECK(t.outcome.start == std::vector<Nanos>{21, 51, 51});
  CHECK(t.transfers[0].source_slot == 0);
  CHECK(t.transfers[0].destination_slot == 0);
  CHECK(t.ops[1].slot == 1);
  CHECK(t.ops[2].slot == 0);
  CHECK(t.outcome.devices[1].busy == 5 + 30 + 10);
}

TEST_CASE("gaps and slots as in Q") {
  ProblemBuilder b;
  b.Device("d0", kUnlimitedMemory, 2);
  b.kind(0).gap = 1;
  b.Op("a", {10});
  b.Op("b", {4});
  b.Op("c", {3});
  const auto problem = b.Build();
  // a slot 0: 0-10; b slot 1: 0-4, free 5; c slot 1: 5-8, free 9; a's slot is free at 11.
  CHECK(Simulate(problem, {0, 0, 0}, kS).outcome.start == std::vector<Nanos>{0, 0, 5});
  CHECK(Simulate(problem, {0, 0, 0}, {Semantics::kStream, true}).outcome.step_time == 11);
}

TEST_CASE("issue order: available ops by least id, not by listing order") {
  ProblemBuilder b;
  b.Device("d0");
  b.Op("last", {1});
  b.Op("first", {1});
  b.Op("second", {1});
  b.op(0).inputs = {b.op(2).outputs[0]};
  // 0 waits for 2: order 1, 2, 0.
  CHECK(Simulate(b.Build(), {0, 0, 0}, kS).outcome.start == std::vector<Nanos>{2, 0, 1});
}

TEST_CASE("a given issue order decides who is served first, and what is alive together") {
  ProblemBuilder b;
  b.Device("d0");
  b.Device("d1");
  b.AllToAll(0, kGigabytePerSecond);
  b.kind(0).issue = 1;
  b.Op("a", {10}, {}, 8);
  b.Op("b", {2}, {}, 16);
  b.Op("x", {1}, {0});
  b.Op("y", {1}, {1});
  const auto problem = b.Build();
  // By id: a, its copy, b, its copy at clocks 1 to 4: a 1-11, copy 11-19, b 11-13, copy behind it
  // on d0->d1 19-35. x 19-20, y 35-36. Both copies are on d1 until x has been issued.
  const Timeline by_id = Simulate(problem, {0, 0, 1, 1}, kS);
  CHECK(by_id.outcome.start == std::vector<Nanos>{1, 11, 19, 35});
  CHECK(by_id.outcome.devices[1].peak == 24);
  // b, y, a, x: b 1-3, copy 3-19 (clock 2), y 19-20; a 3-13 (clock 3), copy 19-27, x 27-28.
  const SimulatorOptions given{.semantics = Semantics::kStream, .issue_order = {1, 3, 0, 2}};
  const Timeline t = Simulate(problem, {0, 0, 1, 1}, given);
  CHECK(t.outcome.start == std::vector<Nanos>{3, 1, 27, 19});
  CHECK(t.outcome.step_time == 28);
  CHECK(t.outcome.devices[1].peak == 16);
}

TEST_CASE("destinations of a broadcast take their further hops in device order") {
  ProblemBuilder b;
  for (const char* name : {"g0", "g1", "g2", "g3"}) b.Device(name);
  const int bus = b.Channel("bus", 1, kGigabytePerSecond, 0, true);
  const int x = b.Channel("x", 3, {10'000'000'000, 1}), m = b.Channel("m", 1, kGigabytePerSecond);
  b.Route(0, 1, {bus});
  b.Route(0, 2, {x, m});
  b.Route(0, 3, {bus, m});
  b.Op("a", {10}, {}, 5);
  for (const char* name : {"r1", "r2", "r3"}) b.Op(name, {10}, {0});
  const auto problem = b.Build(Grouping::Identity(4), ProblemChecks::kPlacementOnly);
  const Timeline t = Simulate(problem, {0, 1, 2, 3}, kS);
  // bus 10-15, arrives 16. g2 comes before g3: x 10-11, arrives 14; m 14-19, arrives 20. g3 on m
  // 19-24, arrives 25.
  CHECK(t.outcome.start == std::vector<Nanos>{0, 16, 20, 25});
}

TEST_CASE("without contention a transfer never waits for its channel") {
  ProblemBuilder b;
  b.Device("d0");
  b.Device("d1");
  const int k = b.Channel("k", 2, kGigabytePerSecond, 3);
  b.Route(0, 1, {k});
  b.Op("a", {10}, {}, 5);
  b.Op("b", {1}, {}, 20);
  b.Op("x", {1}, {0});
  b.Op("y", {1}, {1});
  const auto problem = b.Build(Grouping::Identity(4), ProblemChecks::kPlacementOnly);
  // a's copy 10-15, arrives 17, channel free 18; b's, ready at 11, goes 18-38, arrives 40. Alone it
  // goes 11-31 and arrives 33.
  for (const Semantics semantics : {Semantics::kStream, Semantics::kQueue}) {
    SimulatorOptions options{semantics};
    CHECK(Simulate(problem, {0, 0, 1, 1}, options).outcome.start ==
          std::vector<Nanos>{0, 10, 17, 40});
    options.channel_contention = false;
    const Timeline alone = Simulate(problem, {0, 0, 1, 1}, options);
    CHECK(alone.outcome.start == std::vector<Nanos>{0, 10, 17, 33});
    CHECK(alone.outcome.step_time == 34);
    CHECK(alone.outcome.channels[k].busy == 25);
    options.count_gaps = true;  // the channel is free at 34
    CHECK(Simulate(problem, {0, 0, 1, 1}, options).outcome.step_time == 34);
  }
}

}  // namespace
