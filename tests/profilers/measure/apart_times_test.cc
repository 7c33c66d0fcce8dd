#include "profilers/measure/apart_times.h"

#include <doctest/doctest.h>

#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Op a on d0 from 0 to 100; on d1 op b from 20 to 60 and op c from 60 to 120; d0 makes a copy from
// 100 to 130.
struct ApartFixture {
  ProblemBuilder builder;
  ExecutionPlan plan;
  StepRecord trace{130, {0, 20, 60, 100}, {100, 60, 120, 130}};
  const std::vector<DeviceIndex> place{0, 1, 1};

  ApartFixture() {
    builder.Device("d0");
    builder.Device("d1");
    const int k = builder.Channel("out", 0, kGigabytePerSecond);
    builder.channel(k).occupies = Occupies::kSource;
    builder.Route(0, 1, {k});
    builder.AllToAll(0, kGigabytePerSecond);
    for (const char* name : {"a", "b", "c"}) builder.Op(name, {1}, {}, 8);
    builder.op(2).inputs = {0};
    plan.num_devices = 2;
    plan.num_channels = 2;
    plan.commands = {{.stream = 0, .op = 0},
                     {.stream = 1, .op = 1},
                     {.stream = 1, .op = 2},
                     {.type = PlanCommand::Type::kCopy,
                      .stream = 2,
                      .op = 0,
                      .tensor = 0,
                      .bytes = 8,
                      .source = {0, 0},
                      .destinations = {{1, 0}}}};
  }
  std::vector<double> Times() { return ApartTimes(*builder.Build(), place, plan, trace); }
};

TEST_CASE("without neighbours everything took as long as it took") {
  ApartFixture f;
  f.builder.Interfere(0, {{1024, 1024}, {1024, 1024}});
  CHECK(f.Times() == std::vector<double>{100, 40, 60, 30});
}

TEST_CASE("beside neighbours less was done than the time says") {
  ApartFixture f;
  f.builder.Share(0, 1);
  f.builder.Interfere(0, {{1024, 0}, {}});  // suffers, and presses nobody
  f.builder.Interfere(1, {{}, {0, 1024}});
  f.builder.Interfere(2, {{}, {1024, 3072}});
  f.builder.kind(0).interference["transfer"] = {0, 1024};
  // a: 20 alone, 40 at 1/2 beside b, 40 at 1/4 beside c. c: 40 beside a, which presses nobody, and
  // 20 at 1/2 beside the copy. The copy has no sensitivity.
  CHECK(f.Times() == std::vector<double>{20 + 20 + 10, 40, 40 + 10, 30});
}

}  // namespace
