// The run of queue semantics that serves all transfers of an op at once.

#include "simulator/queue/queue_direct.h"

#include <doctest/doctest.h>

#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

CompiledProblem CompileForQueue(const Problem& problem) {
  return {problem, EntryOf(Semantics::kQueue).op_order(problem.graph())};
}

bool FitsDirectRun(const ProblemBuilder& b, const EngineOptions& options = {}) {
  return DirectQueueRun::Fits(CompileForQueue(*b.Build()), options);
}

// Whether the run does the placement itself; false: it leaves it to the general run.
bool RunsDirectly(const Problem& problem, const std::vector<DeviceIndex>& device) {
  const CompiledProblem compiled = CompileForQueue(problem);
  REQUIRE(DirectQueueRun::Fits(compiled, {}));
  ServerState servers(compiled);
  QueueTimes times(compiled);
  return DirectQueueRun(compiled).Run(device.data(), servers, times, nullptr);
}

// `reader` reads the output of `producer`, which may have a higher id.
void Reads(ProblemBuilder& b, int reader, int producer) {
  b.op(reader).inputs.push_back(b.op(producer).outputs[0]);
}

TEST_CASE("which machines fit") {
  ProblemBuilder b = Gpus(3);
  b.Op("a", {1});
  CHECK(FitsDirectRun(b));
  CHECK_FALSE(FitsDirectRun(b, {.channel_contention = false}));

  ProblemBuilder one = Devices(1);
  one.Op("a", {1});
  CHECK(FitsDirectRun(one));

  for (const bool broadcast : {false, true}) {
    ProblemBuilder buses;
    for (const char* name : {"d0", "d1", "d2"}) buses.Device(name);
    buses.EgressBus(1, kGigabytePerSecond, 2, broadcast);
    buses.Op("a", {1});
    CHECK(FitsDirectRun(buses));
  }

  ProblemBuilder shared = b;
  const int k = shared.Channel("shared", 1, kGigabytePerSecond);
  shared.Route(0, 1, {k});
  CHECK(FitsDirectRun(shared));
  shared.Route(0, 2, {k});
  CHECK(FitsDirectRun(shared));
  shared.Route(1, 2, {k});
  CHECK(FitsDirectRun(shared));

  ProblemBuilder hops = b;
  hops.Route(
      0, 1, {hops.Channel("x", 1, kGigabytePerSecond), hops.Channel("y", 1, kGigabytePerSecond)});
  CHECK_FALSE(FitsDirectRun(hops));

  ProblemBuilder slots = b;
  slots.Device("d3", kUnlimitedMemory, 2);
  CHECK_FALSE(FitsDirectRun(slots));

  ProblemBuilder host = b;
  host.kind(1).launch = 1;
  CHECK_FALSE(FitsDirectRun(host));

  ProblemBuilder occupies = b;
  occupies.channel(0).occupies = Occupies::kSource;
  CHECK_FALSE(FitsDirectRun(occupies));
}

TEST_CASE("of two ops that finish at once the lower id sends first, though it is served later") {
  ProblemBuilder b = Gpus(2, 1);
  b.Op("free", {0}, {}, 20);     // 0
  b.Op("dear", {10}, {}, 30);    // 1
  b.Op("reads_dear", {5}, {1});  // 2
  b.Op("wakes", {3});            // 3
  b.Op("reads_free", {7}, {0});  // 4
  Reads(b, 0, 3);
  const auto problem = b.Build();
  const std::vector<DeviceIndex> device{0, 0, 1, 1, 1};
  // dear runs 0-10 on d0; free becomes ready at 4 (wakes 0-3, 1 on the way), and runs 10-10. Both
  // send at 10: first free (id 0) 10-30, there at 31; then dear 30-60, there at 61.
  CHECK(RunsDirectly(*problem, device));
  const Timeline t = Simulate(problem, device, kQ);
  CHECK(t.outcome.start == std::vector<Nanos>{10, 0, 61, 0, 31});
  CHECK(MakeSimulator(problem, kQ)->Evaluate({device}, {.op_times = true}).start ==
        t.outcome.start);
  CHECK(t.outcome.step_time == 66);
}

TEST_CASE("of two ops that finish at once the one served first sends first, once it could") {
  ProblemBuilder b = Gpus(2, 1);
  b.Op("second", {0}, {}, 20);  // 0
  b.Op("first", {0}, {}, 30);   // 1
  b.Op("reader", {1}, {0, 1});  // 2
  b.Op("wakes", {0}, {1});      // 3
  b.Op("start", {10});          // 4
  Reads(b, 0, 3);
  Reads(b, 1, 4);
  const auto problem = b.Build();
  const std::vector<DeviceIndex> device{0, 0, 1, 0, 0};
  // start runs 0-10, then first, wakes and second in turn, all at 10. The transfer of first is
  // served before wakes: 10-40. So that of second runs 40-60 and is there at 61.
  CHECK(RunsDirectly(*problem, device));
  const Timeline t = Simulate(problem, device, kQ);
  CHECK(t.outcome.start == std::vector<Nanos>{10, 10, 61, 10, 0});
}

TEST_CASE("many ops that finish at once, each to send before all others, are left to others") {
  for (const int count : {20, 100}) {
    // The ops 0 .. count - 1 cost nothing and wait on d0 for "dear"; op i becomes ready at
    // count - i, woken from d1, so that each has a lower id than all that are served before it.
    ProblemBuilder b;
    b.Device("d0");
    b.Device("d1");
    b.AllToAll(0, kGigabytePerSecond);
    std::vector<DeviceIndex> device;
    for (int i = 0; i < count; ++i) b.Op("free" + std::to_string(i), {0}, {}, 3);
    b.Op("dear", {1000}, {}, 5);
    for (int i = 0; i < count; ++i) b.Op("wakes" + std::to_string(i), {1});
    for (int i = 0; i <= count; ++i) b.Op("reader" + std::to_string(i), {2}, {i});
    for (int i = 0; i < count; ++i) Reads(b, i, 2 * count - i);
    device.insert(device.end(), count + 1, 0);
    device.insert(device.end(), 2 * count + 1, 1);
    const auto problem = b.Build();
    // Op i moves count - i transfers: 210 or 5050 together; 16 per op, 976 or 4816, are done here.
    CHECK(RunsDirectly(*problem, device) == (count == 20));
    const Timeline t = Simulate(problem, device, kQ);
    CHECK(t.outcome.step_time == 1000 + 3 * count + 5 + 2);
  }
}

// Three devices that all send over one channel of 1 B/ns, which takes 1 ns.
ProblemBuilder OneChannel(bool broadcast) {
  ProblemBuilder b = Devices(3);
  const int k = b.Channel("all", 1, kGigabytePerSecond, 0, broadcast);
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      if (from != to) b.Route(from, to, {k});
    }
  }
  return b;
}

TEST_CASE("over a channel of several devices the op that finishes first sends first") {
  ProblemBuilder b = OneChannel(false);
  b.Op("late", {10}, {}, 30);    // 0
  b.Op("early", {5}, {}, 20);    // 1
  b.Op("reader", {1}, {0, 1});   // 2
  b.Op("reads_late", {1}, {0});  // 3
  const auto problem = b.Build();
  const std::vector<DeviceIndex> device{0, 1, 2, 1};
  // early sends 5-25, there at 26; late, served before early, sends to d1 25-55, there at 56, and
  // to d2 55-85, there at 86.
  CHECK(RunsDirectly(*problem, device));
  const Timeline t = Simulate(problem, device, kQ);
  CHECK(MakeSimulator(problem, kQ)->Evaluate({device}, {.op_times = true}).start ==
        t.outcome.start);
  CHECK(t.outcome.start == std::vector<Nanos>{0, 0, 86, 56});
}

TEST_CASE(
    "over a channel of several devices, of ops that finish at once, the lower id goes first") {
  ProblemBuilder b = OneChannel(false);
  b.Op("low", {1}, {}, 20);     // 0
  b.Op("high", {5}, {}, 30);    // 1
  b.Op("wakes", {4});           // 2
  b.Op("reader", {1}, {0, 1});  // 3
  Reads(b, 0, 2);
  const auto problem = b.Build();
  const std::vector<DeviceIndex> device{0, 1, 0, 2};
  // On d0 wakes runs 0-4 and low 4-5, on d1 high 0-5. low sends 5-25, high 25-55, there at 56.
  CHECK(RunsDirectly(*problem, device));
  CHECK(Simulate(problem, device, kQ).outcome.start == std::vector<Nanos>{4, 0, 0, 56});
}

TEST_CASE("a broadcasting channel of several devices serves the destinations of a copy at once") {
  ProblemBuilder b = OneChannel(true);
  b.Op("late", {10}, {}, 30);  // 0
  b.Op("early", {5}, {}, 20);  // 1
  b.Op("on_d0", {1}, {1});     // 2
  b.Op("on_d1", {1}, {0});     // 3
  b.Op("on_d2", {1}, {0, 1});  // 4
  const auto problem = b.Build();
  const std::vector<DeviceIndex> device{0, 1, 0, 1, 2};
  // early sends 5-25, there at 26 on d0 and d2; late sends 25-55, there at 56 on d1 and d2.
  CHECK(RunsDirectly(*problem, device));
  const Timeline t = Simulate(problem, device, kQ);
  CHECK(t.outcome.start == std::vector<Nanos>{0, 0, 26, 56, 56});
  CHECK(t.outcome.devices[2].peak == 50);
}

TEST_CASE("times too large for keys of 62 bits are left to others") {
  // A chain of 200 ops: 200 ids take 8 of the 62 bits of a key, 54 are left for a time; one less if
  // transfers have keys, too.
  for (const bool shared : {false, true}) {
    const Nanos most = shared ? Nanos{1} << 45 : Nanos{1} << 46;
    for (const auto& [cost, fits] : {std::pair{most, true}, {2 * most, false}}) {
      ProblemBuilder b = shared ? OneChannel(false) : Gpus(2);
      std::vector<DeviceIndex> device;
      for (int v = 0; v < 200; ++v) {
        b.Op("op" + std::to_string(v), {cost}, v > 0 ? std::vector{v - 1} : std::vector<int>{}, 8);
        device.push_back(static_cast<DeviceIndex>(v >= 100));
      }
      const auto problem = b.Build();
      CHECK(RunsDirectly(*problem, device) == fits);
      CHECK(Simulate(problem, device, kQ).outcome.step_time == 200 * cost + 8 + 1);
    }
  }
}

TEST_CASE("random machines with routes of one hop need no other run") {
  Rng rng(1);
  for (int round = 0; round < 300 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem = RandomProblem(rng, OneHopOptions(rng, round));
    REQUIRE(RunsDirectly(*problem, RandomPlacement(rng, *problem).device));
  }
}

}  // namespace
