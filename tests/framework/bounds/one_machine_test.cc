#include "framework/bounds/one_machine.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/random.h"

namespace {

using namespace emplace;

TEST_CASE("one machine: heads, times and tails by hand") {
  std::vector<Job> none;
  CHECK(OneMachineBound(none) == 0);
  std::vector<Job> one{{3, 4, 5}};
  CHECK(OneMachineBound(one) == 12);
  // The second and third wait for each other: 4 + (5 + 6) + 1; with the first 0 + 13 + 1.
  std::vector<Job> three{{0, 2, 20}, {4, 5, 1}, {4, 6, 2}};
  CHECK(OneMachineBound(three) == 22);
  std::vector<Job> two{{4, 5, 1}, {4, 6, 2}};
  const JobSet set = CriticalJobs(two);
  CHECK(set.bound == 16);
  CHECK(set.head == 4);
  CHECK(set.tail == 1);
}

TEST_CASE("one machine: several slots share a job out") {
  std::vector<Job> jobs{{1, 10, 2}, {1, 11, 2}};
  CHECK(OneMachineBound(jobs, 2) == 14);  // 1 + 21 / 2 + 2, rounded up
  CHECK(OneMachineBound(jobs, 20) == 3);
}

TEST_CASE("one machine: the best of all sets, and a set that reaches it") {
  Rng rng(3);
  for (int round = 0; round < 2000 * EMPLACE_TEST_SCALE; ++round) {
    std::vector<Job> jobs(1 + UniformInt(rng, 8));
    for (Job& job : jobs) job = {UniformInt(rng, 20), UniformInt(rng, 10), UniformInt(rng, 20)};
    Nanos best = 0;
    for (unsigned subset = 1; subset < 1u << jobs.size(); ++subset) {
      Nanos head = kMaxNanos, time = 0, tail = kMaxNanos;
      for (size_t j = 0; j < jobs.size(); ++j) {
        if (!(subset >> j & 1)) continue;
        head = std::min(head, jobs[j].head);
        time += jobs[j].time;
        tail = std::min(tail, jobs[j].tail);
      }
      best = std::max(best, head + time + tail);
    }
    REQUIRE(OneMachineBound(jobs) == best);
    const JobSet set = CriticalJobs(jobs);
    Nanos time = 0;
    for (const Job& job : jobs) {
      if (job.head >= set.head && job.tail >= set.tail) time += job.time;
    }
    REQUIRE(set.bound == best);
    REQUIRE(set.head + time + set.tail == best);
  }
}

}  // namespace
