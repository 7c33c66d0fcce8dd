#include "profilers/executor/queue_plan.h"

#include <random>
#include <set>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "profilers/executor/compile_plan.h"
#include "tests/profilers/stream_commands.h"
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
        "channel 1 copies tensor 5 within the host, which needs a device that is a group of cores; "
        "name one, such as cpu:0");
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
    const auto wanted = FinishedBefore(plan);
    const auto got =
        FinishedBefore(queues.queue_of_command, [&](int c) { return queues.waits[c]; });
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

struct QueueCommand {
  int queue = 0;
  std::vector<int> waits;
};

QueuePlan QueuesOf(const std::vector<QueueCommand>& commands, std::vector<QueueKind> kinds) {
  QueuePlan queues;
  queues.kinds = std::move(kinds);
  for (const QueueCommand& command : commands) {
    queues.queue_of_command.push_back(command.queue);
    queues.waits.push_back(command.waits);
  }
  return queues;
}

TEST_CASE("streams wait by events, cores by counters") {
  // Queues: 0 and 1 are streams, 2 is a group of cores.
  const std::vector<QueueCommand> commands = {
      {0, {}},      // 0
      {1, {0}},     // 1 event
      {2, {1}},     // 2 counter
      {0, {2}},     // 3 counter of 2, and an event of 1, which 2 is behind
      {0, {1, 2}},  // 4 nothing new by event
  };
  const auto connections = ConnectCommands(QueuesOf(commands, {kS, kS, kC}));
  CHECK(connections[1].events == std::vector<int>{0});
  CHECK(connections[1].counters.empty());
  CHECK(connections[2].events.empty());
  CHECK(connections[2].counters == std::vector<int>{1});
  CHECK(connections[3].counters == std::vector<int>{2});
  CHECK(connections[3].events == std::vector<int>{1});
  CHECK(connections[4].events.empty());
  CHECK(connections[4].counters == std::vector<int>{2});
  CHECK(connections[0].has_event);
  CHECK(!connections[0].has_counter);
  CHECK(connections[1].has_event);
  CHECK(connections[1].has_counter);
  CHECK(connections[2].has_counter);
  CHECK(!connections[2].has_event);
}

TEST_CASE("without cores there are events only, without GPUs counters only") {
  const std::vector<QueueCommand> commands = {{0, {}}, {1, {0}}, {0, {1}}};
  for (const auto& connection : ConnectCommands(QueuesOf(commands, {kS, kS}))) {
    CHECK(connection.counters.empty());
  }
  const auto on_cores = ConnectCommands(QueuesOf(commands, {kC, kC}));
  for (const auto& connection : on_cores) CHECK(connection.events.empty());
  CHECK(on_cores[2].counters == std::vector<int>{1});
  CHECK(ConnectCommands({}).empty());
}

TEST_CASE("random programs: nothing is lost, nothing invented, and CUDA sees the whole order") {
  std::mt19937 random(3);
  for (int trial = 0; trial < 400; ++trial) {
    const int num_queues = 1 + static_cast<int>(random() % 6);
    std::vector<QueueKind> kinds;
    for (int q = 0; q < num_queues; ++q) kinds.push_back(random() % 2 == 0 ? kS : kC);
    std::vector<QueueCommand> commands;
    for (int i = 0; i < 40; ++i) {
      std::set<int> waits;
      const int queue = static_cast<int>(random() % num_queues);
      for (int k = static_cast<int>(random() % 3); k > 0 && i > 0; --k) {
        const int wait = static_cast<int>(random() % i);
        if (commands[wait].queue != queue) waits.insert(wait);
      }
      commands.push_back({queue, {waits.begin(), waits.end()}});
    }
    const QueuePlan queues = QueuesOf(commands, kinds);
    const auto connections = ConnectCommands(queues);
    const auto before = [&](const auto& waits_of) {
      return FinishedBefore(queues.queue_of_command, waits_of);
    };
    const auto wanted = before([&](int i) { return commands[i].waits; });
    const auto got = before([&](int i) {
      std::vector<int> waits = connections[i].events;
      waits.insert(waits.end(), connections[i].counters.begin(), connections[i].counters.end());
      return waits;
    });
    const auto seen = before([&](int i) { return connections[i].events; });
    const auto is_stream = [&](int c) { return kinds[commands[c].queue] == kS; };
    for (int i = 0; i < 40; ++i) {
      CHECK(got[i] == wanted[i]);
      for (int event : connections[i].events) {
        CHECK(is_stream(event));
        CHECK(is_stream(i));
        CHECK(connections[event].has_event);
      }
      for (int counter : connections[i].counters) {
        CHECK((!is_stream(counter) || !is_stream(i)));
        CHECK(connections[counter].has_counter);
      }
      if (!is_stream(i)) continue;
      for (int other = 0; other < i; ++other) {
        if (wanted[i][other] && is_stream(other)) CHECK(seen[i][other]);
      }
    }
  }
}

}  // namespace
