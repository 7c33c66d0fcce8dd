#include "experiments/sweep/process_pool.h"

#include <csignal>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "framework/base/error.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

std::map<int, WorkerEnd> Run(int count, int jobs, const std::function<void(int)>& body) {
  std::map<int, WorkerEnd> ends;
  ProcessPool pool(body, [&](const WorkerEnd& end) { CHECK(ends.emplace(end.task, end).second); });
  for (int task = 0; task < count || pool.size() > 0; pool.Wait()) {
    while (task < count && pool.size() < jobs) {
      if (!pool.Begin(task).empty()) break;  // the system has room for no more
      ++task;
    }
    REQUIRE(pool.size() > 0);
  }
  return ends;
}

TEST_CASE("a worker's end is told, whatever it was; the others go on") {
  const TempDir folder;
  const auto ends = Run(8, 3, [&](int task) {
    if (task == 1) throw std::runtime_error("nothing works");
    if (task == 2) EMPLACE_CHECK(task == 0, "as foreseen");
    if (task == 3) kill(getpid(), SIGKILL);
    if (task == 4) std::_Exit(7);
    WriteText(folder / std::to_string(task), "done");
  });
  REQUIRE(ends.size() == 8);
  for (const int task : {0, 5, 6, 7}) {
    CHECK(ends.at(task).ok);
    CHECK(ReadText(folder / std::to_string(task)) == "done");
  }
  CHECK(ends.at(1).error == "nothing works");
  CHECK(ends.at(2).error.find("killed by signal 6 (Aborted): ") == 0);
  CAPTURE(ends.at(2).error);
  CHECK(ends.at(2).error.find("as foreseen") != std::string::npos);
  CHECK(ends.at(3).error == "killed by signal 9 (Killed: by a user or because memory ran out)");
  CHECK(ends.at(4).error == "ended with exit code 7");
  for (const int task : {1, 2, 3, 4}) CHECK_FALSE(ends.at(task).ok);
}

TEST_CASE("as many at a time as the system gives") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int lowest_free = dup(STDOUT_FILENO);
  REQUIRE(lowest_free >= 0);
  close(lowest_free);
  const rlimit few{static_cast<rlim_t>(lowest_free) + 3, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);  // each worker has a file for what it prints
  const auto ends = Run(10, 10, [](int) {});
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK(ends.size() == 10);
  for (const auto& [task, end] : ends) CHECK(end.error == "");
}

TEST_CASE("what a worker changes is its own") {
  int value = 0;
  const auto ends = Run(3, 1, [&](int task) {
    if (value != 0) throw std::runtime_error("seen by another");
    value = task + 1;
  });
  for (const auto& [task, end] : ends) CHECK(end.error == "");
  CHECK(value == 0);
}

TEST_CASE("only the end of a long text is kept") {
  const auto ends =
      Run(1, 1, [](int) { throw std::runtime_error(std::string(100'000, 'x') + "the end"); });
  CHECK(ends.at(0).error.size() <= 2000);
  CHECK(ends.at(0).error.ends_with("the end"));
}

TEST_CASE("no task, and a callback that throws") {
  CHECK(Run(0, 2, [](int) {}).empty());
  const auto body = [](int task) {
    if (task == 1) pause();  // until it is killed
  };
  ProcessPool pool(body, [](const WorkerEnd&) { throw RunError("full"); });
  CHECK(pool.Begin(0).empty());
  CHECK(pool.Begin(1).empty());
  CHECK(pool.size() == 2);
  const auto wait = [&] {
    for (int i = 0; i < 1000; ++i) pool.Wait();
  };
  CHECK_THROWS_WITH_AS(wait(), "full", RunError);
}

TEST_CASE("workers that are asked to stop end, even halted ones; ctrl-C does not reach them") {
  std::map<int, WorkerEnd> ends;
  const TempDir folder;
  const auto body = [&](int task) {
    signal(SIGTERM, SIG_DFL);  // doctest catches it
    raise(SIGINT);             // is ignored
    WriteText(folder / std::to_string(task), std::to_string(getpid()));
    while (true) pause();  // until SIGTERM
  };
  ProcessPool pool(body, [&](const WorkerEnd& end) { ends.emplace(end.task, end); });
  for (const int task : {0, 1}) {
    CHECK(pool.Begin(task).empty());
    const auto path = folder / std::to_string(task);
    while (ReadText(path).empty()) usleep(1000);
  }
  kill(std::stoi(ReadText(folder / "1")), SIGSTOP);
  pool.AskToStop();
  while (pool.size() > 0) pool.Wait();
  for (const int task : {0, 1}) CHECK(ends.at(task).error == "killed by signal 15 (Terminated)");
}

}  // namespace
