#include "profilers/executor/queue_plan.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr QueueKind kC = QueueKind::kCores, kS = QueueKind::kStream;

// Ops 0 and 1 with the hops of a copy between them: ends are devices or kStaging.
ExecutionPlan CopyPlan(int num_devices, int from, std::vector<int> rests, int to) {
  ExecutionPlan plan;
  plan.num_devices = num_devices;
  plan.ops.resize(2);
  plan.ops[0].name = "producer";
  plan.commands.push_back({.stream = from, .op = 0});
  rests.push_back(to);
  int at = from;
  for (int end : rests) {
    const int hop = plan.num_channels++;
    plan.commands.push_back({.type = PlanCommand::Type::kCopy,
                             .stream = num_devices + hop,
                             .op = 0,
                             .tensor = 5,
                             .hop = hop,
                             .bytes = 8,
                             .source = {at},
                             .destinations = {{end}},
                             .waits = {hop}});
    at = end;
  }
  plan.commands.push_back({.stream = to, .op = 1, .waits = {plan.num_channels}});
  return plan;
}

std::vector<int> QueueOfCommands(const ExecutionPlan& plan, std::vector<QueueKind> kinds) {
  return PlanQueues(plan, kinds).queue_of_command;
}

TEST_CASE("copies: by the producer's cores within the host, else on the channel's stream") {
  // Devices 0 and 1; the channels' queues are 2, 3, ...
  const ExecutionPlan direct = CopyPlan(2, 0, {}, 1);
  CHECK(QueueOfCommands(direct, {kC, kC}) == std::vector<int>{0, 0, 1});
  CHECK(QueueOfCommands(direct, {kS, kC}) == std::vector<int>{0, 2, 1});
  CHECK(QueueOfCommands(direct, {kC, kS}) == std::vector<int>{0, 2, 1});
  CHECK(QueueOfCommands(direct, {kS, kS}) == std::vector<int>{0, 2, 1});
  const ExecutionPlan staged = CopyPlan(2, 0, {kStaging}, 1);
  CHECK(QueueOfCommands(staged, {kC, kC}) == std::vector<int>{0, 0, 0, 1});
  CHECK(QueueOfCommands(staged, {kS, kC}) == std::vector<int>{0, 2, 1, 1});
  CHECK(QueueOfCommands(staged, {kC, kS}) == std::vector<int>{0, 0, 3, 1});
  CHECK(QueueOfCommands(staged, {kS, kS}) == std::vector<int>{0, 2, 3, 1});
  // From rest to rest: some cores do it.
  const ExecutionPlan rests = CopyPlan(3, 0, {kStaging, kStaging}, 1);
  CHECK(QueueOfCommands(rests, {kS, kS, kC}) == std::vector<int>{0, 3, 2, 5, 1});
  CHECK(MessageOf<RunError>([&] {
          PlanQueues(rests, std::vector{kS, kS, kS});
        }) ==
        "channel 1 copies tensor 5 within the host, and no device is a group of cores, which would "
        "do that; name one, as cpu:0");
}

TEST_CASE("waits are for other queues, and keep the order of a channel with several makers") {
  // Channel 2 carries a copy from device 0 and one from device 1, whose op waits for nothing.
  ExecutionPlan plan = CopyPlan(2, 0, {}, 1);
  plan.ops.resize(3);
  plan.commands.push_back({.stream = 1, .op = 2});
  plan.commands.push_back({.type = PlanCommand::Type::kCopy,
                           .stream = 2,
                           .op = 2,
                           .tensor = 6,
                           .bytes = 8,
                           .source = {1},
                           .destinations = {{0}},
                           .waits = {3}});
  const QueuePlan queues = PlanQueues(plan, std::vector{kC, kC});
  CHECK(queues.lists == std::vector<std::vector<int>>{{0, 1}, {2, 3, 4}, {}});
  CHECK(queues.number == std::vector<int>{1, 2, 1, 2, 3});
  // 1 is in 0's queue, so it does not wait; 4 comes behind 1 on the channel.
  CHECK(queues.waits == std::vector<std::vector<int>>{{}, {}, {1}, {}, {1}});
  CHECK(queues.is_awaited == std::vector<bool>{false, true, false, false, false});
  CHECK(NameOf(plan, 0, std::vector<std::string>{"cpu:0", "cpu:1"}) ==
        "op \"producer\" on device \"cpu:0\"");
  CHECK(NameOf(plan, 1, std::vector<std::string>{"cpu:0", "cpu:1"}) ==
        "copy of tensor 5 of op \"producer\", hop 0, on channel 0");
}

// before[c][o]: o has finished when c starts, by queues in order and waits.
std::vector<std::vector<bool>> Closure(const std::vector<int>& list_of_command,
                                       const std::vector<std::vector<int>>& waits) {
  std::vector<std::vector<bool>> before;
  std::vector<int> last(64, -1);
  for (size_t c = 0; c < waits.size(); ++c) {
    std::vector<bool> mine(waits.size(), false);
    const auto follow = [&](int other) {
      for (size_t i = 0; i < mine.size(); ++i) mine[i] = mine[i] || before[other][i];
      mine[other] = true;
    };
    int& previous = last[list_of_command[c]];
    if (previous >= 0) follow(previous);
    for (int other : waits[c]) follow(other);
    previous = static_cast<int>(c);
    before.push_back(std::move(mine));
  }
  return before;
}

TEST_CASE(
    "whatever the devices are, queues keep all that the plan's streams and waits keep apart") {
  Rng rng(32);
  for (int round = 0; round < 200 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem =
        RandomProblem(rng, {.num_ops = 30, .num_devices = 4, .slots = false, .host_costs = false});
    const auto devices = ExpandPlacement(RandomPlacement(rng, *problem), problem->grouping());
    const ExecutionPlan plan = CompilePlan(*problem, devices);
    std::vector<QueueKind> kinds{kC};  // so that someone can copy within the host
    for (int d = 1; d < 4; ++d) kinds.push_back(UniformInt(rng, 2) == 0 ? kC : kS);
    const QueuePlan queues = PlanQueues(plan, kinds);
    std::vector<int> streams;
    std::vector<std::vector<int>> waits;
    for (const PlanCommand& command : plan.commands) {
      streams.push_back(command.stream);
      waits.push_back(command.waits);
    }
    const auto wanted = Closure(streams, waits);
    const auto got = Closure(queues.queue_of_command, queues.waits);
    CAPTURE(round);
    for (size_t c = 0; c < wanted.size(); ++c) {
      for (size_t o = 0; o < c; ++o) REQUIRE((!wanted[c][o] || got[c][o]));
      for (int other : queues.waits[c]) {
        REQUIRE(other < static_cast<int>(c));
        REQUIRE(queues.queue_of_command[other] != queues.queue_of_command[c]);
        REQUIRE(queues.is_awaited[other]);
      }
      const PlanCommand& command = plan.commands[c];
      const int queue = queues.queue_of_command[c];
      if (command.type == PlanCommand::Type::kOp) REQUIRE(queue == command.stream);
      REQUIRE(queues.lists[queue][queues.number[c] - 1] == static_cast<int>(c));
    }
  }
}

}  // namespace
