#include "profilers/cuda/connections.h"

#include <algorithm>
#include <random>
#include <set>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

PlanCommand Command(int stream, std::vector<int> waits) {
  PlanCommand command;
  command.stream = stream;
  command.waits = std::move(waits);
  return command;
}

/// before[i]: everything that is finished when i starts, by streams' order and the given waits.
template <typename Waits>
std::vector<std::set<int>> Before(const std::vector<PlanCommand>& commands, const Waits& waits) {
  std::vector<std::set<int>> before(commands.size());
  std::vector<int> last(16, -1);
  const auto add = [&](int i, int other) {
    before[i].insert(other);
    before[i].insert(before[other].begin(), before[other].end());
  };
  for (int i = 0; i < static_cast<int>(commands.size()); ++i) {
    int& previous = last[commands[i].stream];
    if (previous >= 0) add(i, previous);
    for (int wait : waits(i)) add(i, wait);
    previous = i;
  }
  return before;
}

TEST_CASE("GPU streams wait by events, the host by counters") {
  // Streams: 0 and 1 on GPUs, 2 on the host.
  const std::vector<PlanCommand> commands = {
      Command(0, {}),      // 0
      Command(1, {0}),     // 1 event
      Command(2, {1}),     // 2 counter
      Command(0, {2}),     // 3 counter of 2, and an event of 1, which 2 is behind
      Command(0, {1, 2}),  // 4 nothing new by event
  };
  const std::vector<int> lanes = {0, 1, -1};
  const auto connections = cuda::ConnectCommands(commands, lanes);
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

TEST_CASE("without a host there are events only, without GPUs counters only") {
  const std::vector<PlanCommand> commands = {Command(0, {}), Command(1, {0}), Command(0, {1})};
  for (const auto& connection : cuda::ConnectCommands(commands, std::vector<int>{0, 1})) {
    CHECK(connection.counters.empty());
  }
  const auto on_host = cuda::ConnectCommands(commands, std::vector<int>{-1, -1});
  for (const auto& connection : on_host) CHECK(connection.events.empty());
  CHECK(on_host[2].counters == std::vector<int>{1});
  CHECK(cuda::ConnectCommands({}, {}).empty());
}

TEST_CASE("random programs: nothing is lost, nothing invented, and CUDA sees the whole order") {
  std::mt19937 random(3);
  for (int trial = 0; trial < 400; ++trial) {
    const int num_streams = 1 + static_cast<int>(random() % 6);
    std::vector<int> lanes(num_streams, -1);
    int next_lane = 0;
    for (int& lane : lanes) {
      if (random() % 2 == 0) lane = next_lane++;
    }
    std::vector<PlanCommand> commands;
    for (int i = 0; i < 40; ++i) {
      std::set<int> waits;
      const int stream = static_cast<int>(random() % num_streams);
      for (int k = static_cast<int>(random() % 3); k > 0 && i > 0; --k) {
        const int wait = static_cast<int>(random() % i);
        if (commands[wait].stream != stream) waits.insert(wait);
      }
      commands.push_back(Command(stream, {waits.begin(), waits.end()}));
    }
    const auto connections = cuda::ConnectCommands(commands, lanes);
    const auto wanted = Before(commands, [&](int i) { return commands[i].waits; });
    const auto got = Before(commands, [&](int i) {
      std::vector<int> waits = connections[i].events;
      waits.insert(waits.end(), connections[i].counters.begin(), connections[i].counters.end());
      return waits;
    });
    const auto seen = Before(commands, [&](int i) { return connections[i].events; });
    for (int i = 0; i < 40; ++i) {
      CHECK(got[i] == wanted[i]);
      for (int event : connections[i].events) {
        CHECK(lanes[commands[event].stream] >= 0);
        CHECK(lanes[commands[i].stream] >= 0);
        CHECK(connections[event].has_event);
      }
      for (int counter : connections[i].counters) {
        CHECK((lanes[commands[counter].stream] < 0 || lanes[commands[i].stream] < 0));
        CHECK(connections[counter].has_counter);
      }
      if (lanes[commands[i].stream] < 0) continue;
      for (int before : wanted[i]) {
        if (lanes[commands[before].stream] >= 0) CHECK(seen[i].contains(before));
      }
    }
  }
}

}  // namespace
