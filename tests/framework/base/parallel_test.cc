#include "framework/base/parallel.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"
#include "tests/support/sanitizers.h"

namespace emplace {
namespace {

TEST_CASE("every index runs exactly once with any number of threads") {
  for (int threads : {0, 1, 2, 3, 8, 100}) {
    for (int count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(count);
      ParallelFor(count, threads, [&](int i) { ++runs[i]; });
      for (const auto& times : runs) CHECK(times == 1);
    }
  }
}

TEST_CASE("one thread runs the indices in ascending order on the caller") {
  std::vector<int> order;
  const auto caller = std::this_thread::get_id();
  ParallelFor(5, 1, [&](int i) {
    order.push_back(i);
    CHECK(std::this_thread::get_id() == caller);
  });
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
}

TEST_CASE("two threads work at the same time") {
  // Each waits for the other, so that one thread alone would never end.
  std::atomic<int> arrived = 0;
  ParallelFor(2, 2, [&](int) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  CHECK(arrived == 2);
}

TEST_CASE("the exception of the least index is thrown after all others finished") {
  for (int threads : {1, 4}) {
    std::atomic<int> finished = 0;
    const auto run = [&] {
      ParallelFor(100, threads, [&](int i) {
        if (i % 10 == 7) throw RunError("failed at " + std::to_string(i));
        ++finished;
      });
    };
    CHECK(testing::MessageOf<RunError>(run) == "failed at 7");
    CHECK(finished == 90);
  }
}

// The threads that run two indices which wait for each other.
std::set<std::thread::id> MeetInPairs() {
  std::atomic<int> arrived = 0;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  ParallelFor(2, 2, [&](int) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  return threads;
}

TEST_CASE("threads are kept from call to call, asleep or awake") {
  const std::set<std::thread::id> threads = MeetInPairs();
  CHECK(threads.size() == 2);
  CHECK(threads.count(std::this_thread::get_id()) == 1);
  for (int i = 0; i < 100; ++i) {
    if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(MeetInPairs() == threads);
  }
}

TEST_CASE("several threads may call at once") {
  std::atomic<int> sum = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      for (int call = 0; call < 200; ++call) {
        int indices = 0;
        std::mutex mutex;
        ParallelFor(1 + call % 5, 3, [&](int) {
          const std::lock_guard lock(mutex);
          ++indices;
        });
        sum += indices;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(sum == 3 * 200 * 3);  // 3 indices a call on average
}

TEST_CASE("a forked process has threads of its own" *
          doctest::skip(testing::kUnderThreadSanitizer)) {
  MeetInPairs();
  const pid_t child = fork();
  if (child == 0) std::_Exit(MeetInPairs().size() == 2 ? 0 : 1);
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a process forked as soon as threads exist can allocate" *
          doctest::skip(testing::kUnderThreadSanitizer)) {
  constexpr int kTries = 200;
  for (int i = 0; i < kTries; ++i) {
    const pid_t starter = fork();  // has no helpers, so the loop starts one
    if (starter == 0) {
      ParallelFor(2, 2, [](int) {});
      const pid_t child = fork();
      if (child == 0) {
        alarm(60);
        std::_Exit(std::make_unique<std::string>(1000, 'x')->size() == 1000 ? 0 : 1);
      }
      int status = -1;
      std::_Exit(waitpid(child, &status, 0) == child && status == 0 ? 0 : 1);
    }
    REQUIRE(starter > 0);
    int status = -1;
    REQUIRE(waitpid(starter, &status, 0) == starter);
    REQUIRE(status == 0);
  }
}

TEST_CASE("loops nest") {
  std::atomic<int> runs = 0;
  ParallelFor(4, 2, [&](int) { ParallelFor(5, 2, [&](int) { ++runs; }); });
  CHECK(runs == 20);
  ParallelFor(2, 2, [](int) { CHECK(MeetInPairs().size() == 2); });
}

}  // namespace
}  // namespace emplace
