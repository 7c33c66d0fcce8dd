// Queue and stream semantics by hand: every rule of simulator/README.md with its calculation beside
// it.

#include "framework/base/error.h"
#include "framework/schedule/transfer_plan.h"
#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("ops of one device follow one another, least id first at equal ready times") {
  ProblemBuilder b = Devices(1);
  b.Op("a", {10});
  b.Op("b", {5});
  b.Op("c", {1}, {0});
  const Timeline t = Simulate(b.Build(), {0, 0, 0}, kQ);
  // a and b are ready at 0, a has the lesser id: a 0-10, b 10-15; c is ready at 10, behind b:
  // 15-16.
  CHECK(t.outcome.start == std::vector<Nanos>{0, 10, 15});
  CHECK(t.outcome.step_time == 16);
  CHECK(t.outcome.devices[0].busy == 16);
}

TEST_CASE("a device gap follows every op that costs anything") {
  ProblemBuilder b = Devices(1);
  b.kind(0).gap = 3;
  b.Op("a", {10});
  b.Op("zero", {0});
  b.Op("c", {5});
  const auto problem = b.Build();
  // a 0-10, free at 13; zero 13-13, free at 13 (no gap for no work); c 13-18, free at 21.
  for (const SimulatorOptions& options : {kQ, kS}) {
    const Timeline t = Simulate(problem, {0, 0, 0}, options);
    CHECK(t.outcome.start == std::vector<Nanos>{0, 13, 13});
    CHECK(t.outcome.step_time == 18);
    CHECK(Simulate(problem, {0, 0, 0}, {options.semantics, true}).outcome.step_time == 21);
    CHECK(t.outcome.devices[0].busy == 15);
  }
}

TEST_CASE("slots: the slot that is free first, the lowest on ties") {
  ProblemBuilder b;
  b.Device("d0", kUnlimitedMemory, 2);
  b.Op("a", {10});
  b.Op("b", {4});
  b.Op("c", {3});
  b.Op("d", {3});
  const auto problem = b.Build();
  // a on slot 0 (0-10), b on slot 1 (0-4), c on slot 1 (4-7), d on slot 1 (7-10).
  for (const SimulatorOptions& options : {kQ, kS}) {
    const Timeline t = Simulate(problem, {0, 0, 0, 0}, options);
    CHECK(t.outcome.start == std::vector<Nanos>{0, 0, 4, 7});
    CHECK(t.ops[0].slot == 0);
    CHECK(t.ops[3].slot == 1);
    CHECK(t.outcome.step_time == 10);
  }
}

TEST_CASE(
    "a transfer takes latency + ceil(bytes / bandwidth); the channel is free after wire and gap") {
  ProblemBuilder b = Devices(2);
  // 3 B/ns: 100 B take ceil(33.33) = 34 ns.
  const int k = b.Channel("k", 7, {3'000'000'000, 1}, 2);
  b.Route(0, 1, {k});
  b.Route(1, 0, {k});
  b.Op("a", {10}, {}, 100);
  b.Op("b", {10}, {}, 100);
  b.Op("c", {1}, {0});
  b.Op("d", {1}, {1});
  const Timeline t = Simulate(b.Build(), {0, 0, 1, 1}, kQ);
  // a 0-10, its copy 10-44 on the wire, arrives 51; channel free 46.
  // b 10-20, its copy starts 46, wire to 80, arrives 87; free 82.
  CHECK(t.outcome.start == std::vector<Nanos>{0, 10, 51, 87});
  CHECK(t.outcome.step_time == 88);
  CHECK(t.outcome.channels[0].busy == 68);
  CHECK(t.outcome.channels[0].transfers == 2);
  CHECK(t.outcome.channels[0].bytes == 200);
}

TEST_CASE("step time counts an arrival that nobody is faster than") {
  ProblemBuilder b = Devices(2);
  b.AllToAll(50, kGigabytePerSecond, 9);
  b.Op("a", {10}, {}, 5);
  b.Op("b", {0}, {0});
  const auto problem = b.Build();
  // Copy 10-15 on the wire, arrives 65; b 65-65. With gaps the channel is free at 24: no
  // difference.
  CHECK(Simulate(problem, {0, 1}, kQ).outcome.step_time == 65);
  CHECK(Simulate(problem, {0, 1}, {Semantics::kQueue, true}).outcome.step_time == 65);
}

TEST_CASE("a tensor crosses once per destination, however many readers wait there") {
  ProblemBuilder b = Gpus(3, 0);
  b.Op("a", {10}, {}, 20);
  b.Op("b", {1}, {0});
  b.Op("c", {1}, {0, 0});  // lists the tensor twice: depends on it once
  b.Op("d", {1}, {0});
  const Timeline t = Simulate(b.Build(), {0, 1, 1, 2}, kQ);
  CHECK(t.transfers.size() == 2);
  CHECK(t.outcome.start == std::vector<Nanos>{0, 30, 31, 30});
}

TEST_CASE("a control edge between devices is a transfer of 0 bytes, once per destination, last") {
  ProblemBuilder b = Devices(2);
  const int k = b.Channel("k", 2, kGigabytePerSecond, 3);
  b.Route(0, 1, {k});
  b.Op("a", {10}, {}, 5);
  b.Op("b", {1}, {0});
  b.Op("c", {1});
  b.op(2).control_inputs = {0, 0};
  b.Op("d", {1});
  b.op(3).control_inputs = {0};
  const auto problem = b.Build(Grouping::Identity(4), ProblemChecks::kPlacementOnly);
  // Both copies are ready at 10. The tensor goes first: wire 10-15, arrives 17, channel free 18.
  // The control edge: 18-18, arrives 20. b 17-18; c and d are ready at 20: 20-21, 21-22.
  for (const SimulatorOptions& options : {kQ, kS}) {
    const Timeline t = Simulate(problem, {0, 1, 1, 1}, options);
    REQUIRE(t.transfers.size() == 2);
    CHECK(t.transfers[1].tensor == kControlTensor);
    CHECK(t.outcome.start == std::vector<Nanos>{0, 17, 20, 21});
    CHECK(t.outcome.channels[0].transfers == 2);
    CHECK(t.outcome.channels[0].bytes == 5);
  }
}

TEST_CASE("a control edge on one device costs nothing") {
  ProblemBuilder b = Devices(1);
  b.Op("a", {10});
  b.Op("b", {1});
  b.op(0).control_inputs = {1};
  CHECK(Simulate(b.Build(), {0, 0}, kQ).outcome.start == std::vector<Nanos>{1, 0});
}

TEST_CASE("a route of several channels is taken hop after hop, store and forward") {
  ProblemBuilder b = Devices(2);
  const int up = b.Channel("up", 1, kGigabytePerSecond),
            nic = b.Channel("nic", 5, {500'000'000, 1});
  b.Route(0, 1, {up, nic});
  b.Op("a", {10}, {}, 20);
  b.Op("b", {1}, {0});
  const auto problem = b.Build(Grouping::Identity(2), ProblemChecks::kPlacementOnly);
  const Timeline t = Simulate(problem, {0, 1}, kQ);
  // Hop 0: 10-30 on the wire, arrives 31. Hop 1 at half the speed: 31-71, arrives 76.
  CHECK(t.outcome.start[1] == 76);
  CHECK(t.transfers[1].hop == 1);
  CHECK(t.outcome.channels[1].busy == 40);
}

TEST_CASE("at equal ready times transfers come before ops, by producer, tensor, destination") {
  ProblemBuilder b = Devices(3);
  b.EgressBus(0, kGigabytePerSecond, 0, /*broadcast=*/false);
  b.Op("a", {10}, {}, 7);
  b.AddOutput(0, "a:1", 9);
  b.Op("x", {1}, {0});
  b.Op("y", {1});
  b.op(2).inputs = {b.op(0).outputs[1]};
  b.Op("z", {1}, {0});
  const Timeline t = Simulate(b.Build(), {0, 2, 1, 1}, kQ);
  // One bus: tensor 0 to d1 10-17, to d2 17-24, then tensor 1 to d1 24-33.
  CHECK(t.outcome.start == std::vector<Nanos>{0, 24, 33, 17});
}

TEST_CASE("a broadcast channel serves all its destinations with one transfer") {
  ProblemBuilder b = Devices(4);
  const int bus = b.Channel("bus", 1, kGigabytePerSecond, 4, true);
  const int side = b.Channel("side", 0, kGigabytePerSecond);
  const int nic = b.Channel("nic", 0, kGigabytePerSecond);
  b.Route(0, 1, {bus});
  b.Route(0, 2, {side});
  b.Route(0, 3, {bus, nic});
  b.Op("a", {10}, {}, 20);
  b.Op("x", {1}, {0});
  b.Op("y", {1}, {0});
  b.Op("z", {1}, {0});
  const auto problem = b.Build(Grouping::Identity(4), ProblemChecks::kPlacementOnly);
  for (const SimulatorOptions& options : {kQ, kS}) {
    const Timeline t = Simulate(problem, {0, 1, 2, 3}, options);
    // bus 10-30, arrives 31 at d1 and before the nic; nic 31-51; side 10-30.
    CHECK(t.outcome.start == std::vector<Nanos>{0, 31, 30, 51});
    CHECK(t.outcome.channels[bus].transfers == 1);
    CHECK(t.outcome.channels[nic].transfers == 1);
  }
}

TEST_CASE("a tensor without producer is everywhere at time 0") {
  ProblemBuilder b = Gpus(2, 100);
  const int x = b.Input("x", 1000);
  b.Op("a", {3});
  b.Op("b", {4});
  b.op(0).inputs = {x};
  b.op(1).inputs = {x};
  const Timeline t = Simulate(b.Build(), {0, 1}, kQ);
  CHECK(t.outcome.step_time == 4);
  CHECK(t.transfers.empty());
}

TEST_CASE("a zero-cost op's transfer at time 0 goes before the ops that were ready then") {
  ProblemBuilder b = Gpus(2, 0);
  b.Op("parameter", {0}, {}, 6);
  b.Op("reader", {1}, {0});
  b.Op("other", {4});
  const Timeline t = Simulate(b.Build(), {0, 1, 1}, kQ);
  // Transfer 0-6; other 0-4 on d1; reader ready at 6.
  CHECK(t.outcome.start == std::vector<Nanos>{0, 6, 0});
}

TEST_CASE("the host issues one command after another: as taken out of the queue, or by id") {
  ProblemBuilder b = Gpus(2, 0);
  b.kind(0).issue = 3;
  b.kind(0).launch = 10;
  b.kind(1).issue = 5;
  b.kind(1).launch = 1;
  b.Op("a", {2}, {}, 4);
  b.Op("b", {2}, {0});
  b.Op("c", {2});
  const auto problem = b.Build();
  // Q at 0: a, clock 3, starts at 13: 13-15. c, clock 6, may start at 16: 16-18. The copy is ready
  // at 15, clock 18 (source d0), 28-32. b is ready at 32, clock 37, starts at 38: 38-40.
  const Timeline t = Simulate(problem, {0, 1, 0}, kQ);
  CHECK(t.outcome.start == std::vector<Nanos>{13, 38, 16});
  CHECK(t.transfers[0].ready == 15);
  CHECK(t.transfers[0].start == 28);
  CHECK(t.ops[2].ready == 32);
  CHECK(t.outcome.step_time == 40);
  // S: clock 3: a may start at 13: 13-15. Clock 6: its copy at 16: 16-20. Clock 11: b at 12, waits
  // for the copy: 20-22. Clock 14: c at 24: 24-26.
  CHECK(Simulate(problem, {0, 1, 0}, kS).outcome.start == std::vector<Nanos>{13, 20, 24});
}

TEST_CASE("the host delays devices without issue costs, too; later hops are not issued") {
  ProblemBuilder b = Devices(3);
  b.kind(0).issue = 10;
  const int bus = b.Channel("bus", 1, kGigabytePerSecond, 0, true);
  const int nic = b.Channel("nic", 0, kGigabytePerSecond);
  b.Route(0, 1, {bus});
  b.Route(0, 2, {bus, nic});
  b.Op("a", {2}, {}, 4);
  b.Op("b", {3});
  b.Op("x", {1}, {0});
  b.Op("y", {1}, {0});
  const auto problem = b.Build(Grouping::Identity(4), ProblemChecks::kPlacementOnly);
  // a: clock 10, 10-12. b is ready on d1 at 0; the clock is at 10 and stays there: 10-13. The
  // broadcast, ready at 12, is issued once: clock 22, 22-26, arrives 27. nic 27-31: no issue.
  // x is ready at 27: 27-28. y 31-32.
  const Timeline t = Simulate(problem, {0, 1, 1, 2}, kQ);
  CHECK(t.outcome.start == std::vector<Nanos>{10, 10, 27, 31});
  CHECK(t.outcome.step_time == 32);
}

TEST_CASE("without contention a first hop starts when it is issued and launched") {
  ProblemBuilder b = Devices(2);
  b.kind(0).issue = 1;
  b.kind(0).launch = 2;
  b.AllToAll(0, kGigabytePerSecond, 50);
  b.Op("a", {10}, {}, 20);
  b.AddOutput(0, "a:1", 5);
  b.Op("x", {1}, {0});
  b.Op("y", {1});
  b.op(2).inputs = {b.op(0).outputs[1]};
  const auto problem = b.Build();
  const auto with = [](bool contention) {
    return SimulatorOptions{.semantics = Semantics::kQueue, .channel_contention = contention};
  };
  // a: clock 1, 3-13. Its copies are ready at 13: clock 14, 16-36; clock 15, 17-22. With
  // contention the second waits for the gap of the first: 86-91.
  CHECK(Simulate(problem, {0, 1, 1}, with(false)).outcome.start == std::vector<Nanos>{3, 36, 22});
  CHECK(Simulate(problem, {0, 1, 1}, with(true)).outcome.start == std::vector<Nanos>{3, 36, 91});
}

TEST_CASE("a transfer that occupies its source waits for a slot, and ops for the transfer") {
  ProblemBuilder b = Devices(2);
  b.kind(0).gap = 2;
  const int push = b.Channel("push", 1, kGigabytePerSecond, 5);
  b.channel(push).occupies = Occupies::kSource;
  b.Route(0, 1, {push});
  b.Op("a", {10}, {}, 20);
  b.Op("b", {4}, {0});
  b.Op("c", {3}, {0});
  b.Op("x", {1}, {1});
  const auto problem = b.Build(Grouping::Identity(4), ProblemChecks::kPlacementOnly);
  // a 0-10, free 12. At 10 its copy comes before c: push and d0 12-32, arrives 33; d0 is free at 32
  // (no gap of its own), push at 37. c on d0 32-35, free 37. b on d1 33-37, x 37-38.
  const Timeline t = Simulate(problem, {0, 1, 0, 1}, kQ);
  CHECK(t.outcome.start == std::vector<Nanos>{0, 33, 32, 37});
  CHECK(t.outcome.devices[0].busy == 33);
  CHECK(t.outcome.devices[1].busy == 5);
  CHECK(t.transfers[0].source_slot == 0);
  CHECK(t.transfers[0].destination_slot == -1);
}

TEST_CASE("control items occupy, too, and a broadcast occupies its source once") {
  ProblemBuilder b = Devices(3);
  const int bus = b.Channel("bus", 1, kGigabytePerSecond, 4, true);
  b.channel(bus).occupies = Occupies::kSource;
  b.Route(0, 1, {bus});
  b.Route(0, 2, {bus});
  b.Op("a", {10}, {}, 20);
  b.Op("x", {1}, {0});
  b.Op("y", {1}, {0});
  b.Op("z", {1});
  b.op(3).control_inputs = {0};
  b.Op("c", {6}, {0});
  const auto problem = b.Build(Grouping::Identity(5), ProblemChecks::kPlacementOnly);
  // The bus with d0 10-30, arrives 31 at d1 and d2. Bus free at 34: the control item takes it, and
  // d0 for no time, at 34; arrives 35. c, ready at 10 like both but behind transfers, 34-40.
  const Timeline t = Simulate(problem, {0, 1, 2, 1, 0}, kQ);
  CHECK(t.outcome.start == std::vector<Nanos>{0, 31, 31, 35, 34});
  CHECK(t.outcome.devices[0].busy == 10 + 20 + 6);
}

TEST_CASE("a last hop may occupy its destination, and takes the slot that is free first") {
  ProblemBuilder b = Devices(1);
  b.Device("d1", kUnlimitedMemory, 2);
  const int up = b.Channel("up", 0, kGigabytePerSecond);
  const int pull = b.Channel("pull", 3, kGigabytePerSecond);
  b.channel(pull).occupies = Occupies::kDestination;
  b.Route(0, 1, {up, pull});
  b.Op("a", {10}, {}, 20);
  b.Op("b", {50});
  b.Op("c", {40});
  b.Op("x", {1}, {0});
  const auto problem = b.Build(Grouping::Identity(4), ProblemChecks::kPlacementOnly);
  // b on slot 0 of d1 0-50, c on slot 1 0-40. up 10-30; pull awaits slot 1: 40-60, arrives 63, the
  // slot free at 60. x on slot 0 (free 50): 63-64.
  const Timeline t = Simulate(problem, {0, 1, 1, 1}, kQ);
  CHECK(t.outcome.start == std::vector<Nanos>{0, 0, 0, 63});
  CHECK(t.transfers[1].destination_slot == 1);
  CHECK(t.ops[3].slot == 0);
  CHECK(t.outcome.devices[1].busy == 50 + 40 + 1 + 20);
}

TEST_CASE("a channel that occupies both waits for slots of both, for itself and for the host") {
  ProblemBuilder b = Devices(2);
  b.kind(0).issue = 1;
  b.kind(0).launch = 2;
  const int copy = b.Channel("copy", 0, kGigabytePerSecond, 6);
  b.channel(copy).occupies = Occupies::kBoth;
  b.Route(0, 1, {copy});
  b.Op("a", {10}, {}, 20);
  b.Op("b", {30});
  b.Op("c", {4}, {}, 2);
  b.Op("x", {1}, {0});
  b.Op("y", {1}, {2});
  const auto problem = b.Build(Grouping::Identity(5), ProblemChecks::kPlacementOnly);
  const auto with = [](bool contention) {
    return SimulatorOptions{.semantics = Semantics::kQueue, .channel_contention = contention};
  };
  // a: clock 1, 3-13. b: clock 1, 1-31. c: clock 2, 13-17. a's copy is ready at 13: clock 14, from
  // 16 on; d0 is free at 17, d1 at 31: 31-51. c's copy, ready at 17, clock 18: copy is free at 57:
  // 57-59. x is ready at 51 and finds d1 taken from 57 to 59: 59-60 (the slot is taken in the
  // order of the queue: c's copy at 17 before x at 51). y is ready at 59: 60-61.
  const Timeline t = Simulate(problem, {0, 1, 0, 1, 1}, with(true));
  CHECK(t.outcome.start == std::vector<Nanos>{3, 1, 13, 59, 60});
  CHECK(t.outcome.devices[0].busy == 10 + 4 + 20 + 2);
  CHECK(t.outcome.devices[1].busy == 30 + 1 + 1 + 20 + 2);
  // Without contention c's copy awaits the slots alone: 51-53. x 53-54, y 54-55.
  const Timeline alone = Simulate(problem, {0, 1, 0, 1, 1}, with(false));
  CHECK(alone.outcome.start == std::vector<Nanos>{3, 1, 13, 53, 54});
}

TEST_CASE("a missing route is an error only where the placement needs it") {
  ProblemBuilder b;
  b.Device("left");
  b.Device("right");
  b.Op("a", {1}, {}, 8);
  b.Op("b", {1}, {0});
  const auto problem = b.Build(Grouping::Identity(2), ProblemChecks::kPlacementOnly);
  CHECK(Simulate(problem, {0, 0}, kQ).outcome.step_time == 2);
  const char* message =
      "cluster \"test_cluster\": no route from \"left\" to \"right\", which op \"a\" needs for "
      "tensor 0 "
      "\"a:0\" (8 B)";
  CHECK_THROWS_WITH_AS(
      SimulateReference(*problem, std::vector<DeviceIndex>{0, 1}, kQ), message, InputError);
  CHECK_THROWS_WITH_AS(
      MakeSimulator(problem, kQ)->Evaluate(Placement{{0, 1}}), message, InputError);
}

TEST_CASE("a stream serves in issue order even when a later op is ready earlier") {
  ProblemBuilder b = Gpus(2, 0);
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

TEST_CASE("a copy of a later op waits behind a copy of an earlier one") {
  ProblemBuilder b = Devices(3);
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

TEST_CASE("a slot serves the transfers that occupy it and its ops in issue order") {
  ProblemBuilder b = Devices(3);
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
  ProblemBuilder b = Devices(1);
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

TEST_CASE("issue order: available ops by least id, not by listing order") {
  ProblemBuilder b = Devices(1);
  b.Op("last", {1});
  b.Op("first", {1});
  b.Op("second", {1});
  b.op(0).inputs = {b.op(2).outputs[0]};
  // 0 waits for 2: order 1, 2, 0.
  CHECK(Simulate(b.Build(), {0, 0, 0}, kS).outcome.start == std::vector<Nanos>{2, 0, 1});
}

TEST_CASE("a given issue order decides who is served first, and what is alive together") {
  ProblemBuilder b = Gpus(2, 0);
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
  ProblemBuilder b = Devices(4);
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
  ProblemBuilder b = Devices(2);
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
