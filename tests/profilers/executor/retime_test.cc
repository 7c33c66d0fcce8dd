#include "profilers/executor/retime.h"

#include <algorithm>
#include <random>
#include <set>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

// Commands with their queue and what they wait for.
QueuePlan Queues(int num_queues, const std::vector<std::pair<int, std::vector<int>>>& commands) {
  QueuePlan queues;
  queues.kinds.assign(num_queues, QueueKind::kStream);
  for (const auto& [queue, waits] : commands) {
    queues.queue_of_command.push_back(queue);
    queues.waits.push_back(waits);
  }
  return queues;
}

TEST_CASE("durations and delays lose what the events cost") {
  // Two streams; pair = 3, between = 2 on the first, nothing on the second (cores).
  const QueuePlan queues = Queues(2, {{0, {}}, {0, {}}, {1, {1}}, {0, {2}}});
  const std::vector<TraceOverhead> overheads = {{3, 2}, {0, 0}};
  StepRecord record;
  record.start = {5, 20, 31, 42};
  record.finish = {15, 30, 41, 43};
  Retime(queues, {true, true, true, true}, overheads, record);
  // 0: delay 5 - 2 = 3, lasts 10 - 3 = 7. 1: delay 20 - 15 - 2 = 3, lasts 7. 2: delay 31 - 30 = 1,
  // lasts 10. 3: delay 42 - 41 - 2 < 0, lasts 1 - 3 < 0.
  CHECK(record.start == std::vector<Nanos>{3, 13, 21, 31});
  CHECK(record.finish == std::vector<Nanos>{10, 20, 31, 31});
  CHECK(record.step_time == 31);
}

TEST_CASE("commands in which nothing runs pass on what they wait for") {
  const QueuePlan queues = Queues(2, {{0, {}}, {1, {0}}, {1, {}}, {0, {2}}});
  const std::vector<TraceOverhead> overheads = {{1, 1}, {1, 1}};
  StepRecord record;
  record.start = {1, 0, 0, 14};
  record.finish = {11, 0, 0, 20};
  Retime(queues, {true, false, false, true}, overheads, record);
  // 0: from 0 to 9. 1 and 2 end with it (as measured at 11). 3: delay 14 - 11 - 1 = 2, lasts 5.
  CHECK(record.start == std::vector<Nanos>{0, 9, 9, 11});
  CHECK(record.finish == std::vector<Nanos>{9, 9, 9, 16});
}

TEST_CASE("a step that was lengthened by known costs gets its own times back") {
  // Random programs run with random durations and delays; once without and once with the costs of
  // events. Retiming the second gives the first.
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    constexpr int kStreams = 4, kCommands = 50;
    std::vector<std::pair<int, std::vector<int>>> commands;
    std::vector<bool> is_timed;
    std::vector<Nanos> durations, delays;
    for (int i = 0; i < kCommands; ++i) {
      const int stream = static_cast<int>(random() % kStreams);
      std::set<int> waits;
      for (int k = static_cast<int>(random() % 3); k > 0 && i > 0; --k) {
        const int wait = static_cast<int>(random() % i);
        if (commands[wait].first != stream) waits.insert(wait);
      }
      commands.push_back({stream, {waits.begin(), waits.end()}});
      is_timed.push_back(random() % 4 != 0);
      durations.push_back(is_timed.back() ? static_cast<Nanos>(random() % 100) : 0);
      delays.push_back(is_timed.back() ? static_cast<Nanos>(random() % 10) : 0);
    }
    const QueuePlan queues = Queues(kStreams, commands);
    const std::vector<TraceOverhead> overheads = {{3, 2}, {1, 5}, {0, 0}, {7, 0}};
    const auto run = [&](bool with_events) {
      StepRecord record;
      std::vector<Nanos> free(kStreams, 0);
      for (int i = 0; i < kCommands; ++i) {
        Nanos start = free[commands[i].first];
        for (int wait : commands[i].second) start = std::max(start, record.finish[wait]);
        const TraceOverhead& overhead = overheads[commands[i].first];
        const bool is_slower = with_events && is_timed[i];
        start += delays[i] + (is_slower ? overhead.between : 0);
        const Nanos finish = start + durations[i] + (is_slower ? overhead.pair : 0);
        record.start.push_back(start);
        record.finish.push_back(finish);
        free[commands[i].first] = finish;
        record.step_time = std::max(record.step_time, finish);
      }
      return record;
    };
    const StepRecord expected = run(false);
    StepRecord record = run(true);
    for (int i = 0; i < kCommands; ++i) {
      if (!is_timed[i]) record.start[i] = record.finish[i] = 0;  // unknown
    }
    Retime(queues, is_timed, overheads, record);
    CHECK(record.start == expected.start);
    CHECK(record.finish == expected.finish);
    CHECK(record.step_time == expected.step_time);
  }
}

}  // namespace
