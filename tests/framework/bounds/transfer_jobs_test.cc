#include "framework/bounds/transfer_jobs.h"

#include <memory>
#include <vector>

#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Returns the bound of the channels, and sets the jobs of a cluster.
Nanos BoundOf(const Problem& problem, std::vector<SentItem>& sent, TransferJobs& jobs) {
  SetTransfers(problem.cluster(), sent, jobs);
  return jobs.Bound();
}

// From d0 to d1 over `first`, to d2 over `first` and `second`: a byte takes 1 ns on each, and 3 ns
// pass on the way over `first`.
std::shared_ptr<const Problem> TwoHops(bool broadcast) {
  ProblemBuilder b;
  for (const char* name : {"d0", "d1", "d2"}) b.Device(name);
  const int first = b.Channel("first", 3, kGigabytePerSecond, 0, broadcast);
  const int second = b.Channel("second", 0, kGigabytePerSecond);
  b.Route(0, 1, {first});
  b.Route(0, 2, {first, second});
  b.Op("op", {1, kMaxNanos, kMaxNanos});
  return b.Build();
}

TEST_CASE("items wait for each other on a channel") {
  const auto problem = TwoHops(false);
  TransferJobs jobs(problem->cluster());
  // Both over `first`: 10 + 20 + 40, then the least of 3 + 50 and 3 + 40 + 5.
  std::vector<SentItem> sent = {{0, 0, 1, 20, 10, 50}, {1, 0, 2, 40, 10, 5}};
  CHECK(BoundOf(*problem, sent, jobs) == 10 + 60 + 48);
  // `first`: 10 + 60, then the least of 3 + 20 + 7 and 3 + 40 + 5: 100. `second`: both from
  // 10 + 20 + 3 on, 60, and 5: 98.
  sent = {{0, 0, 2, 20, 10, 7}, {1, 0, 2, 40, 10, 5}};
  CHECK(BoundOf(*problem, sent, jobs) == 100);
  sent = {{0, 0, 1, 20, 10, 7}};
  CHECK(BoundOf(*problem, sent, jobs) == 0);
}

TEST_CASE("of one maker's items to a device only the largest counts") {
  const auto problem = TwoHops(false);
  TransferJobs jobs(problem->cluster());
  std::vector<SentItem> sent = {
      {0, 0, 1, 20, 10, 500}, {0, 0, 1, 30, 10, 7}, {1, 0, 1, 40, 10, 5}, {0, 0, 1, 30, 10, 6}};
  CHECK(BoundOf(*problem, sent, jobs) == 10 + 70 + 3 + 5);
}

TEST_CASE("a channel waits for the gap between items") {
  ProblemBuilder b;
  for (const char* name : {"d0", "d1"}) b.Device(name);
  b.Route(0, 1, {b.Channel("channel", 1, kGigabytePerSecond, 5)});
  b.Op("op", {1, kMaxNanos});
  const auto problem = b.Build();
  TransferJobs jobs(problem->cluster());
  // 20 and 40 with a gap between, then the least of 1 + 50 and 1 + 7.
  std::vector<SentItem> sent = {{0, 0, 1, 20, 10, 50}, {1, 0, 1, 40, 10, 7}};
  CHECK(BoundOf(*problem, sent, jobs) == 10 + 20 + 5 + 40 + 1 + 7);
}

TEST_CASE("transfers occupy the devices that their channels name") {
  ProblemBuilder b;
  for (const char* name : {"d0", "d1", "d2"}) b.Device(name);
  const int push = b.Channel("push", 3, kGigabytePerSecond);
  const int pull = b.Channel("pull", 0, kGigabytePerSecond);
  b.channel(push).occupies = Occupies::kSource;
  b.channel(pull).occupies = Occupies::kDestination;
  b.Route(0, 2, {push, pull});
  b.Op("op", {1, kMaxNanos, kMaxNanos});
  const auto problem = b.Build();
  TransferJobs jobs(problem->cluster());
  std::vector<SentItem> sent = {{0, 0, 2, 20, 10, 7}};
  CHECK(BoundOf(*problem, sent, jobs) == 0);
  const auto only = [&](int device, Nanos head, Nanos tail) {
    const auto its = jobs.occupying(device);
    REQUIRE(its.size() == 1);
    CHECK(its[0].head == head);
    CHECK(its[0].time == 20);
    CHECK(its[0].tail == tail);
  };
  only(0, 10, 3 + 20 + 7);
  only(2, 10 + 20 + 3, 7);
  CHECK(jobs.occupying(1).empty());
}

TEST_CASE("a broadcast channel counts nothing") {
  const auto problem = TwoHops(true);
  TransferJobs jobs(problem->cluster());
  std::vector<SentItem> sent = {{0, 0, 1, 20, 10, 7}, {1, 0, 1, 40, 10, 5}};
  CHECK(BoundOf(*problem, sent, jobs) == 0);
}

}  // namespace
