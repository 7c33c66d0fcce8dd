#include "framework/base/parallel.h"

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"

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

TEST_CASE("loops nest") {
  std::atomic<int> runs = 0;
  ParallelFor(4, 2, [&](int) { ParallelFor(5, 2, [&](int) { ++runs; }); });
  CHECK(runs == 20);
}

TEST_CASE("there is a core") {
  CHECK(NumCores() >= 1);
}

}  // namespace
}  // namespace emplace
