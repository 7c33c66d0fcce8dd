#include "profilers/cuda/host_worker.h"

#include <algorithm>
#include <memory>
#include <random>

#include <doctest/doctest.h>
#include <sched.h>

#include "framework/base/error.h"

using namespace emplace;

namespace {

using cuda::Counter;
using cuda::HostCommand;
using cuda::HostJob;
using cuda::HostWorker;

std::string WorkerErrorOf(const std::function<void()>& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("a worker calls on its own thread and hands exceptions out") {
  HostWorker worker("cpu:0", {});
  CHECK(worker.num_threads() == 1);
  std::thread::id there;
  worker.Call([&] { there = std::this_thread::get_id(); });
  CHECK(there != std::this_thread::get_id());
  CHECK(WorkerErrorOf([&] { worker.Call([] { throw RunError("broken"); }); }) == "broken");
  int calls = 0;  // and goes on after one
  for (int i = 0; i < 100; ++i) worker.Call([&] { ++calls; });
  CHECK(calls == 100);
}

TEST_CASE("a worker runs on the cores it was given") {
  cpu_set_t allowed;
  REQUIRE(sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
  int core = 0;
  while (!CPU_ISSET(core, &allowed)) ++core;
  HostWorker worker("cpu:0", {core});
  int ran_on = -1;
  worker.Call([&] { ran_on = sched_getcpu(); });
  CHECK(ran_on == core);
}

TEST_CASE("a core that is not there is named") {
  CHECK(WorkerErrorOf([] { HostWorker worker("cpu:0", {1023}); }) ==
        "cpu:0: cannot run on cores 1023");
}

TEST_CASE("workers keep the order of streams and waits, step after step") {
  // Two workers with random waits for earlier commands of the other; every command checks that what
  // it waits for has run in this step and that its predecessor has.
  std::mt19937 random(1);
  constexpr int kCommands = 60;
  std::vector<Counter> counters(kCommands);
  std::vector<std::atomic<int>> runs(kCommands);
  std::atomic<int> step{0}, violations{0};
  HostJob jobs[2];
  std::vector<int> latest[2];
  for (int c = 0; c < kCommands; ++c) {
    const int stream = static_cast<int>(random() % 2);
    std::vector<int> after =
        latest[stream].empty() ? std::vector<int>{} : std::vector<int>{latest[stream].back()};
    HostCommand command;
    command.command = c;
    if (!latest[1 - stream].empty() && random() % 2 == 0) {
      const auto& others = latest[1 - stream];
      const int other = others[random() % others.size()];
      command.waits.push_back(&counters[other]);
      after.push_back(other);
    }
    command.finished = &counters[c];
    command.run = [&, c, after] {
      for (int before : after) violations += runs[before] != step;
      ++runs[c];
    };
    jobs[stream].commands.push_back(command);
    latest[stream].push_back(c);
  }
  HostWorker first("first", {}), second("second", {});
  const std::atomic<bool> abort{false};
  for (step = 1; step <= 200; ++step) {
    std::fill(counters.begin(), counters.end(), Counter{});
    Counter gate;
    for (HostJob& job : jobs) {
      job.traced = step % 2 == 0;
      job.origin = std::chrono::steady_clock::now();
    }
    first.Arm(jobs[0], gate, abort);
    second.Arm(jobs[1], gate, abort);
    CHECK(std::all_of(
        runs.begin(), runs.end(), [&](const auto& count) { return count == step - 1; }));
    cuda::SetFinished(gate);
    first.Join();
    second.Join();
    for (HostJob& job : jobs) {
      REQUIRE(job.start.size() == (job.traced ? job.commands.size() : 0));
      for (size_t i = 0; i < job.start.size(); ++i) {
        CHECK(job.start[i] <= job.finish[i]);
        if (i > 0) CHECK(job.finish[i - 1] <= job.start[i]);
      }
    }
  }
  CHECK(violations == 0);
  CHECK(std::all_of(runs.begin(), runs.end(), [](const auto& count) { return count == 200; }));
}

TEST_CASE("a command that fails stops the work behind it, not the counting") {
  std::vector<Counter> counters(3);
  HostJob job;
  int ran = 0;
  for (int c = 0; c < 3; ++c) {
    job.commands.push_back({c,
                            {},
                            [&ran, c] {
                              ++ran;
                              if (c == 1) throw RunError("no memory");
                            },
                            &counters[c]});
  }
  HostWorker worker("cpu:0", {});
  const std::atomic<bool> abort{false};
  Counter gate;
  worker.Arm(job, gate, abort);
  cuda::SetFinished(gate);
  worker.Join();
  CHECK(ran == 2);
  CHECK(job.failed == 1);
  CHECK(WorkerErrorOf([&] { std::rethrow_exception(job.error); }) == "no memory");
  for (const Counter& counter : counters) CHECK(cuda::IsFinished(counter));
}

TEST_CASE("a worker whose counterpart has died is released") {
  const Counter never;
  Counter gate;
  HostJob job;
  bool ran = false;
  job.commands.push_back({0, {&never}, [&ran] { ran = true; }, nullptr});
  HostWorker worker("cpu:0", {});
  std::atomic<bool> abort{false};
  worker.Arm(job, gate, abort);
  cuda::SetFinished(gate);
  abort = true;
  worker.Join();
  CHECK(!ran);
}

}  // namespace
