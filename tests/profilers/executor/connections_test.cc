#include "profilers/executor/connections.h"

#include <algorithm>
#include <random>
#include <set>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

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

constexpr QueueKind kGpu = QueueKind::kStream, kCpu = QueueKind::kCores;

// before[i]: everything that is finished when i starts, by queues' order and the given waits.
template <typename Waits>
std::vector<std::set<int>> Before(const std::vector<QueueCommand>& commands, const Waits& waits) {
  std::vector<std::set<int>> before(commands.size());
  std::vector<int> last(16, -1);
  const auto add = [&](int i, int other) {
    before[i].insert(other);
    before[i].insert(before[other].begin(), before[other].end());
  };
  for (int i = 0; i < static_cast<int>(commands.size()); ++i) {
    int& previous = last[commands[i].queue];
    if (previous >= 0) add(i, previous);
    for (int wait : waits(i)) add(i, wait);
    previous = i;
  }
  return before;
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
  const auto connections = ConnectCommands(QueuesOf(commands, {kGpu, kGpu, kCpu}));
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
  for (const auto& connection : ConnectCommands(QueuesOf(commands, {kGpu, kGpu}))) {
    CHECK(connection.counters.empty());
  }
  const auto on_cores = ConnectCommands(QueuesOf(commands, {kCpu, kCpu}));
  for (const auto& connection : on_cores) CHECK(connection.events.empty());
  CHECK(on_cores[2].counters == std::vector<int>{1});
  CHECK(ConnectCommands({}).empty());
}

TEST_CASE("random programs: nothing is lost, nothing invented, and CUDA sees the whole order") {
  std::mt19937 random(3);
  for (int trial = 0; trial < 400; ++trial) {
    const int num_queues = 1 + static_cast<int>(random() % 6);
    std::vector<QueueKind> kinds;
    for (int q = 0; q < num_queues; ++q) kinds.push_back(random() % 2 == 0 ? kGpu : kCpu);
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
    const auto connections = ConnectCommands(QueuesOf(commands, kinds));
    const auto wanted = Before(commands, [&](int i) { return commands[i].waits; });
    const auto got = Before(commands, [&](int i) {
      std::vector<int> waits = connections[i].events;
      waits.insert(waits.end(), connections[i].counters.begin(), connections[i].counters.end());
      return waits;
    });
    const auto seen = Before(commands, [&](int i) { return connections[i].events; });
    const auto is_stream = [&](int c) { return kinds[commands[c].queue] == kGpu; };
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
      for (int before : wanted[i]) {
        if (is_stream(before)) CHECK(seen[i].contains(before));
      }
    }
  }
}

}  // namespace
