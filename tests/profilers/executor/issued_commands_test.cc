#include "profilers/executor/issued_commands.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// One line per command: stream, what it is, where it comes from and leads to, what it awaits.
std::vector<std::string> Lines(const IssuedCommands& issued) {
  std::vector<std::string> lines;
  for (size_t c = 0; c < issued.commands.size(); ++c) {
    const PlanCommand& command = issued.commands[c];
    std::string what = fmt::format("op {}", command.op);
    if (command.type == PlanCommand::Type::kCopy) {
      std::vector<int> ends;
      for (const Address& end : command.destinations) ends.push_back(end.device);
      what = fmt::format(
          "{} hop {}: {} -> {}",
          command.tensor == kControlTensor ? "control" : fmt::format("t{}", command.tensor),
          command.hop,
          command.source.device,
          fmt::join(ends, ","));
    }
    lines.push_back(fmt::format(
        "s{} {} after {}", command.stream, what, fmt::join(issued.dependencies[c], ",")));
  }
  return lines;
}

TEST_CASE("ops, and behind each the hops of its copies by tensor and destination") {
  // Channel 0 of device 0 broadcasts to 1, 2 and 3; device 3 is behind a second hop over channel 1.
  // Streams 0..3 are the devices, 4 and 5 the channels.
  ProblemBuilder builder;
  for (const char* name : {"d0", "d1", "d2", "d3"}) builder.Device(name);
  const int bus = builder.Channel("bus", 1, kGigabytePerSecond, 0, /*broadcast=*/true);
  const int onward = builder.Channel("onward", 1, kGigabytePerSecond);
  builder.Route(0, 1, {bus});
  builder.Route(0, 2, {bus});
  builder.Route(0, 3, {bus, onward});
  builder.AllToAll(1, kGigabytePerSecond);
  const int a = builder.Op("a", {1}, {}, 8);
  const int b = builder.Op("b", {1}, {a}, 8);
  const int c = builder.Op("c", {1}, {a}, 8);
  const int d = builder.Op("d", {1}, {a}, 8);
  builder.op(c).control_inputs = {a};
  const auto problem = builder.Build();
  const std::vector<int> order{a, b, c, d};

  const IssuedCommands issued =
      IssueCommands(*problem, std::vector<DeviceIndex>{0, 1, 3, 0}, order);
  CHECK(Lines(issued) == std::vector<std::string>{
                             "s0 op 0 after ",
                             "s4 t0 hop 0: 0 -> 1,-1 after 0",  // to device 1, and to rest for 3
                             "s5 t0 hop 1: -1 -> 3 after 1",
                             "s4 control hop 0: 0 -> -1 after 0",
                             "s5 control hop 1: -1 -> 3 after 3",
                             "s1 op 1 after 1",
                             "s3 op 2 after 2,4",
                             "s0 op 3 after 0",
                         });
  CHECK(issued.command_of_op == std::vector<int>{0, 5, 6, 7});
  REQUIRE(issued.copies.size() == 2);
  CHECK(issued.copies[0].copy.destinations == std::vector<int>{1, 3});
  CHECK(issued.copies[0].ways == std::vector<std::vector<int>>{{1}, {1, 2}});
  CHECK(issued.copies[1].ways == std::vector<std::vector<int>>{{3, 4}});
  CHECK(issued.StreamOfCommand() == std::vector<int>{0, 4, 5, 4, 5, 1, 3, 0});
}

}  // namespace
