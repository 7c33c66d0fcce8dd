#include "profilers/cpu/worker_pool.h"

#include <atomic>

#include <doctest/doctest.h>
#include <sched.h>

#include "framework/base/error.h"
#include "profilers/cpu/cpu_backend.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::vector<std::vector<int>> Cores(int workers) {
  std::vector<std::vector<int>> cores;
  const auto allowed = AllowedCores();
  for (int i = 0; i < workers; ++i) cores.push_back({allowed[i % allowed.size()]});
  return cores;
}

TEST_CASE("every worker runs every job once, pinned to its cores") {
  WorkerPool pool(Cores(3));
  std::vector<int> runs(3, 0), core(3, -1);
  for (int round = 0; round < 500; ++round) {
    pool.RunOnAll([&](int worker) {
      ++runs[worker];
      core[worker] = sched_getcpu();
    });
  }
  CHECK(runs == std::vector<int>{500, 500, 500});
  for (int i = 0; i < 3; ++i) CHECK(core[i] == Cores(3)[i][0]);
  pool.RunOn(1, [&] { runs[0] = 7; });
  CHECK(runs[0] == 7);
}

TEST_CASE("denormals are flushed on workers") {
  WorkerPool pool(Cores(1));
  volatile float small = 1e-38f, result = 1;
  pool.RunOn(0, [&] { result = small * 0.01f; });
  CHECK(result == 0);
  CHECK(small * 0.01f > 0);  // here they are not
}

TEST_CASE("an exception of a job comes out, and the pool goes on") {
  WorkerPool pool(Cores(2));
  CHECK(MessageOf<RunError>([&] {
          pool.RunOnAll([](int worker) {
            if (worker == 1) throw RunError("worker 1 says no");
          });
        }) == "worker 1 says no");
  std::atomic<int> runs{0};
  pool.RunOnAll([&](int) { ++runs; });
  CHECK(runs == 2);
}

TEST_CASE("cores that do not exist are refused") {
  CHECK(MessageOf<RunError>([] {
          WorkerPool pool(std::vector<std::vector<int>>{{100000}});
        }).find("cannot pin a thread to core 100000") == 0);
}

}  // namespace
