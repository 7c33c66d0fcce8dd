#include "profilers/measure/in_situ.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "framework/base/random.h"
#include "framework/cost/op_signature.h"
#include "framework/schedule/transfer_plan.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

using Type = PlanCommand::Type;

// Ops a, b, v (no work), c on cpu:0 and d on gpu:0, which reads a; a's copy is command 1.
struct InSituFixture {
  std::shared_ptr<const Problem> problem;
  std::vector<DeviceIndex> devices{0, 0, 0, 0, 1};
  std::shared_ptr<ExecutionPlan> plan = std::make_shared<ExecutionPlan>();
  StepMeasurement measurement;

  InSituFixture() {
    ProblemBuilder builder;
    builder.Device("cpu:0");
    builder.Device("gpu:0");
    builder.kind(0).name = "cpu";
    builder.kind(1).name = "gpu";
    builder.kind(1).gap = 77;
    builder.AllToAll(10, kGigabytePerSecond);
    builder.Op("a", {10}, {}, 64);
    builder.Op("b", {10}, {}, 32);
    builder.Op("v", {0}, {1}, 32);
    builder.Op("c", {10}, {2}, 32);
    builder.Op("d", {10}, {0}, 16);
    for (int op = 0; op < 5; ++op) builder.op(op).kind = "aten.relu";
    problem = builder.Build();

    plan->num_devices = 2;
    plan->num_channels = problem->cluster().num_channels();
    plan->ops.resize(5);
    for (const int op : {0, 1, 3, 4}) plan->ops[op].work.calls.resize(1);
    plan->ops[0].work.calls[0].kind = KernelKind::kElementwise;
    const int channel = 2 + problem->cluster().route(0, 1)[0];
    const auto op = [&](int id, int stream, std::vector<int> waits = {}) {
      plan->commands.push_back({.stream = stream, .op = id, .waits = std::move(waits)});
    };
    op(0, 0);
    plan->commands.push_back({.type = Type::kCopy,
                              .stream = channel,
                              .op = 0,
                              .tensor = 0,
                              .bytes = 64,
                              .source = {0, 0},
                              .destinations = {{1, 0}},
                              .waits = {0}});
    op(1, 0);
    op(2, 0);
    op(3, 0);
    op(4, 1, {1});
    plan->commands.push_back({.type = Type::kCopy,
                              .stream = channel,
                              .op = 1,
                              .tensor = kControlTensor,
                              .source = {0, 0},
                              .destinations = {{1, 0}},
                              .waits = {2}});
    measurement.plan = plan;
  }

  // a 5..15, copy 18..48, b 20..35, v 36..37, c 40..50, d 52..60, the control copy 50..51.
  void Trace(Nanos extra_of_a = 0) {
    measurement.traces.push_back({.step_time = 60,
                                  .start = {5, 18, 20, 36, 40, 52, 50},
                                  .finish = {15 + extra_of_a, 48, 35, 37, 50, 60, 51}});
  }
};

TEST_CASE("op times: the median per signature and device kind, ops without work left out") {
  InSituFixture f;
  f.Trace();
  f.Trace(2);
  f.Trace(8);
  InSituTimings timings;
  timings.Add(*f.problem, f.devices, f.measurement);
  CostTable table;
  timings.WriteOps(table);
  const KindCosts* cpu = table.Find("cpu");
  REQUIRE(cpu != nullptr);
  const OpMeasurement* a = cpu->Find(OpSignature(f.problem->graph(), 0));
  REQUIRE(a != nullptr);
  CHECK(*a->in_situ == Timing{12, 10, 18, 3, 11});
  CHECK(a->kind == "aten.relu");
  CHECK(a->op_class == OpClass::kElementwise);
  CHECK_FALSE(a->is_proxy);
  const OpMeasurement* d = table.Find("gpu")->Find(OpSignature(f.problem->graph(), 4));
  REQUIRE(d != nullptr);
  CHECK(*d->in_situ == Timing{8, 8, 8, 3, 8});
  CHECK(d->is_proxy);  // its kernel is the stand-in
  // b and c: c reads v, which is 32 B as b's input is nothing; two signatures, one of v not there.
  CHECK(cpu->ops.size() == 3);
  CHECK(std::is_sorted(cpu->ops.begin(), cpu->ops.end(), [](const auto& x, const auto& y) {
    return x.signature < y.signature;
  }));
}

TEST_CASE("what the table knows of an op stays, and a second graph of the same op adds samples") {
  InSituFixture f;
  f.Trace();
  InSituTimings timings;
  timings.Add(*f.problem, f.devices, f.measurement);
  timings.Add(*f.problem, f.devices, f.measurement);
  CostTable table;
  timings.WriteOps(table);
  const std::string signature = OpSignature(f.problem->graph(), 0);
  OpMeasurement& known = const_cast<OpMeasurement&>(*table.Find("cpu")->Find(signature));
  CHECK(known.in_situ->samples == 2);
  known.isolated = Timing{9, 9, 9, 10};
  timings.WriteOps(table);
  CHECK(known.isolated->median == 9);
  CHECK(known.in_situ->samples == 2);
}

// Producers of 100, 200, ... B, each with a view of what it makes (an op without work) and a reader
// of the view, on one device or with the producers on another one. Times of readers: 100 ns, and
// more for what arrived.
struct ReadersFixture {
  std::shared_ptr<const Problem> problem;
  std::shared_ptr<ExecutionPlan> plan = std::make_shared<ExecutionPlan>();
  int count;

  explicit ReadersFixture(int readers) : count(readers) {
    ProblemBuilder builder;
    for (const char* name : {"d0", "d1"}) builder.kind(builder.Device(name)).name = name;
    builder.AllToAll(10, kGigabytePerSecond);
    for (int i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      builder.Op("p" + number, {10}, {}, 100 * (i + 1));
      builder.Op("v" + number, {0}, {3 * i}, 100 * (i + 1));
      builder.Op("r" + number, {10}, {3 * i + 1}, 8);
    }
    problem = builder.Build();
    plan->num_devices = 2;
    plan->num_channels = problem->cluster().num_channels();
    plan->ops.resize(problem->num_ops());
    for (int op = 0; op < problem->num_ops(); ++op) {
      if (op % 3 != 1) plan->ops[op].work.calls.resize(1);
      plan->commands.push_back({.op = op});
    }
  }

  // Five steps with producers on `device`, all else on d1; readers take `per_byte` more for a byte
  // that arrived.
  void Add(InSituTimings& timings, DeviceIndex device, double per_byte) {
    std::vector<DeviceIndex> places(problem->num_ops(), 1);
    StepMeasurement measurement;
    StepRecord trace;
    for (int op = 0; op < problem->num_ops(); ++op) {
      if (op % 3 == 0) places[op] = device;
      plan->commands[op].stream = places[op];
      const double cold = device == 1 ? 0 : per_byte * 100 * (op / 3 + 1);
      trace.start.push_back(1000 * op);
      trace.finish.push_back(1000 * op + (op % 3 == 2 ? 100 + std::llround(cold) : 10));
    }
    measurement.plan = plan;
    measurement.traces.assign(5, trace);
    timings.Add(*problem, places, measurement);
  }

  const Timing& Reader(const CostTable& table, int i) const {
    return *table.Find("d1")->Find(OpSignature(problem->graph(), 3 * i + 2))->in_situ;
  }
};

TEST_CASE("cold reads: what a byte from elsewhere costs, and op times without it") {
  ReadersFixture f(6);
  InSituTimings timings;
  f.Add(timings, 1, 0);
  f.Add(timings, 0, 0.1);
  CostTable table;
  timings.WriteOps(table);
  // Readers of 100 i B take 10 i ns longer: 10 B a ns. What is left is 100 ns, warm and cold.
  CHECK(table.Find("d1")->kind.cold_read == Bandwidth{10'000'000'000, 1});
  CHECK_FALSE(table.Find("d0")->kind.cold_read);
  for (int i = 0; i < f.count; ++i) {
    CHECK(f.Reader(table, i).median == 100);
    CHECK(f.Reader(table, i).samples == 10);
  }
}

TEST_CASE("cold reads: none where too few ops tell, or they are no slower") {
  ReadersFixture few(4);
  InSituTimings timings;
  few.Add(timings, 1, 0);
  few.Add(timings, 0, 0.5);
  CostTable table;
  timings.WriteOps(table);
  CHECK_FALSE(table.Find("d1")->kind.cold_read);
  CHECK(few.Reader(table, 0).median == 125);  // half of the steps took 100, half 150

  ReadersFixture equal(6);
  InSituTimings same;
  equal.Add(same, 1, 0);
  equal.Add(same, 0, 0);
  CostTable other;
  other.kinds.push_back(
      {.kind = {.name = "d1", .cold_read = Bandwidth{1, 1}}});  // of an earlier profile
  same.WriteColdReads(other);
  CHECK_FALSE(other.Find("d1")->kind.cold_read);
}

TEST_CASE("collections added up are one collection") {
  Rng rng(1);
  InSituFixture f;
  InSituTimings all, sum;
  std::vector<InSituTimings> parts(4);
  for (InSituTimings& part : parts) {
    f.measurement.traces.clear();
    for (int i = 0; i < 5; ++i) f.Trace(UniformInt(rng, 5));
    all.Add(*f.problem, f.devices, f.measurement);
    part.Add(*f.problem, f.devices, f.measurement);
  }
  for (const InSituTimings& part : parts) sum.Add(part);
  const auto written = [](const InSituTimings& timings) {
    CostTable table;
    timings.WriteOps(table);
    timings.WriteCopies(table);
    timings.WriteGaps(table);
    return FormatCostTable(table);
  };
  CHECK(written(sum) == written(all));
  CHECK(written(sum) != written(parts[0]));
  const std::string before = written(all);
  all.Add(InSituTimings{});
  CHECK(written(all) == before);
}

TEST_CASE("copies: by channel and size, control edges left out") {
  InSituFixture f;
  f.Trace();
  f.Trace();
  InSituTimings timings;
  timings.Add(*f.problem, f.devices, f.measurement);
  const std::string channel =
      f.problem->cluster().channel(f.problem->cluster().route(0, 1)[0]).name;
  const std::vector<LinkPoint> points = timings.CopiesOn(channel);
  REQUIRE(points.size() == 1);
  CHECK(points[0].bytes == 64);
  CHECK(points[0].nanos == 30);
  CHECK(points[0].weight == 2);
  CHECK(timings.CopiesOn("no such channel").empty());
  CostTable table;
  timings.WriteCopies(table);
  timings.WriteCopies(table);
  REQUIRE(table.links.size() == 1);
  CHECK(table.links[0].from == "cpu:0");
  CHECK(table.links[0].to == "gpu:0");
  CHECK(table.links[0].memory == kInSituMemory);
  REQUIRE(table.links[0].points.size() == 1);
  CHECK(table.links[0].points[0].first == 64);
  CHECK(table.links[0].points[0].second == Timing{30, 30, 30, 2, 30});
  CHECK(table.links[0].ranges.empty());  // one size makes no line
}

TEST_CASE("hops through the staging area count as copies of their channel") {
  InSituFixture f;
  // The control copy becomes a hop of 32 B to the staging area.
  f.plan->commands[6].bytes = 32;
  f.plan->commands[6].destinations = {{kStaging, 0}};
  f.Trace();
  InSituTimings timings;
  timings.Add(*f.problem, f.devices, f.measurement);
  CostTable table;
  timings.WriteCopies(table);
  REQUIRE(table.links.size() == 1);
  CHECK(table.links[0].from == "cpu:0");
  CHECK(table.links[0].to == "gpu:0");
  REQUIRE(table.links[0].points.size() == 2);
  CHECK(table.links[0].points[0] == std::pair<std::int64_t, Timing>{32, {1, 1, 1, 1, 1}});
  // 32 B in 1 ns and 64 B in 30 ns: a line through both would begin below 0. Through the origin
  // and the second point 30 / 64 ns per B are 14 ns off for the first; flat 1 ns is 29 off.
  REQUIRE(table.links[0].ranges.size() == 1);
  CHECK(table.links[0].ranges[0].latency_ns == 0);
  CHECK(table.links[0].ranges[0].bytes_per_second == doctest::Approx(64e9 / 30));

  // A channel of which only such hops were seen belongs to no pair of devices.
  f.plan->commands[1].bytes = 0;
  InSituTimings staged;
  staged.Add(*f.problem, f.devices, f.measurement);
  CostTable empty;
  staged.WriteCopies(empty);
  CHECK(empty.links.empty());
}

TEST_CASE("gaps, waits and starts between commands, by hand") {
  InSituFixture f;
  for (int i = 0; i < 5; ++i) f.Trace();
  InSituTimings timings;
  timings.Add(*f.problem, f.devices, f.measurement);
  CostTable table;
  table.dispatch = {{.device_kind = "cpu", .issue_ns = 9}, {.device_kind = "gpu", .wait_ns = 3}};
  timings.WriteGaps(table);
  // cpu: b starts 5 after a, c 5 after b (v between them has no work), both were ready all along.
  CHECK(table.Find("cpu")->kind.gap == 5);
  CHECK(table.Find("cpu")->kind.launch == 5);  // a, from the step's start
  // The copy starts 3 after a; the control copy has no work and tells nothing.
  CHECK(table.dispatch[0].wait_ns == 3);
  CHECK(table.dispatch[0].issue_ns == 9);
  // gpu: d starts 4 after its copy's arrival; no gap was seen, the kind's own stays.
  CHECK(table.dispatch[1].wait_ns == 4);
  CHECK(table.Find("gpu")->kind.gap == 77);
  CHECK(table.Find("gpu")->kind.launch == 0);
}

TEST_CASE("what was hardly seen changes nothing") {
  InSituFixture f;
  f.Trace();
  f.Trace();  // 4 gaps on cpu, 2 waits
  InSituTimings timings;
  timings.Add(*f.problem, f.devices, f.measurement);
  CostTable table;
  timings.WriteGaps(table);
  CHECK(table.Find("cpu")->kind.gap == 0);
  CHECK(table.dispatch.empty());
}

TEST_CASE("a command that became ready while its stream was busy is neither gap nor wait") {
  InSituFixture f;
  for (int i = 0; i < 6; ++i) f.Trace();
  // b waits for something that finishes at 12, while a (5..15) runs.
  f.plan->commands[2].waits = {6};
  for (StepRecord& trace : f.measurement.traces) trace.start[6] = 11, trace.finish[6] = 12;
  InSituTimings timings;
  timings.Add(*f.problem, f.devices, f.measurement);
  CostTable table;
  timings.WriteGaps(table);
  CHECK(table.Find("cpu")->kind.gap == 5);  // c behind b alone
  CHECK(table.dispatch[0].wait_ns == 3);    // the copy alone
}

}  // namespace
