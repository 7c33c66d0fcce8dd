#include "framework/plan/collective_time.h"

#include <map>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/framework/plan/training_steps.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr Bandwidth kSlow = {1'000'000'000, 1}, kFast = {4'000'000'000, 1};  // 1 and 4 B/ns

std::map<std::string, Nanos> Times(const std::string& name,
                                   const Cluster& cluster,
                                   const std::vector<int>& members,
                                   std::int64_t bytes) {
  std::map<std::string, Nanos> times;
  for (const AlgorithmTime& each : CollectiveTimes(cluster, members).Of(name, bytes)) {
    times.emplace(each.algorithm, each.time);
  }
  return times;
}
Nanos Least(const std::string& name,
            const Cluster& cluster,
            const std::vector<int>& members,
            std::int64_t bytes) {
  return CollectiveTimes(cluster, members).Least(name, bytes);
}
using Expected = std::map<std::string, Nanos>;

TEST_CASE("a ring of n takes n - 1 steps of a part each, an all-reduce twice as many") {
  const Cluster cluster = EqualGpus(4, 10);
  const std::vector<int> all = {0, 1, 2, 3}, two = {0, 1};
  for (const std::int64_t bytes : {100, 98}) {  // parts of 25 B
    CHECK(Times("all_reduce", cluster, all, bytes)["ring"] == 2 * 3 * (10 + 25));
    for (const char* name : {"all_gather", "reduce_scatter", "all_to_all"}) {
      CHECK(Times(name, cluster, all, bytes)["ring"] == 3 * (10 + 25));
    }
  }
  CHECK(Least("all_reduce", cluster, two, 100) == 2 * (10 + 50));
  CHECK(Times("all_reduce", cluster, {2}, 100) == Expected{{"ring", 0}});
}

// 0 - 1 - 2 - 3 and back: two rings in all, since 0 - 2 - 1 and 0 - 2 - 3 have no end. Parts of
// ceil(100 / 8) = 13 B. The second ring of two members would need the channels of the first.
TEST_CASE("rings at once have channels of their own") {
  const Cluster cluster = EqualGpus(4, 10);
  CHECK(Times("all_reduce", cluster, {0, 1, 2, 3}, 100)["rings"] == 6 * (10 + 13));
  for (const char* name : {"all_gather", "reduce_scatter"}) {
    CHECK(Times(name, cluster, {0, 1, 2, 3}, 100) ==
          Expected{{"ring", 3 * (10 + 25)}, {"rings", 3 * (10 + 13)}});
  }
  // The second next member is the same one in both rings.
  CHECK(Times("all_to_all", cluster, {0, 1, 2, 3}, 100)["rings"] == 2 * (10 + 13) + (10 + 26));
  CHECK_FALSE(Times("all_reduce", cluster, {0, 1}, 100).contains("rings"));
  // Eleven members have more than 8 rings. Parts of 10 B.
  const std::vector<int> many = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  CHECK(Times("all_gather", EqualGpus(11), many, 880)["rings"] == 10 * 10);
}

// Distances 1, 2 and 4, there and back. Of 5 members, 4 sends to 0 in the last round.
TEST_CASE("a tree takes fewer rounds than a ring, of all bytes") {
  const Cluster cluster = EqualGpus(5, 10);
  CHECK(Times("all_reduce", cluster, {0, 1, 2, 3}, 4) ==
        Expected{{"ring", 6 * (10 + 1)}, {"rings", 6 * (10 + 1)}, {"tree", 4 * (10 + 4)}});
  CHECK(Times("all_reduce", cluster, {0, 1, 2, 3, 4}, 5)["tree"] == 6 * (10 + 5));
  CHECK(Least("all_reduce", cluster, {0, 1, 2, 3}, 4) == 56);
}

// Four nodes of one GPU that send over a channel of their own: as EqualGpus(4, 10). In one node of
// four GPUs that share one channel, four parts of 25 B take turns.
TEST_CASE("transfers of a round that share a channel take turns") {
  CHECK(Times("all_gather", GpusInNodes({0, 1, 2, 3}, true), {0, 1, 2, 3}, 100)["ring"] ==
        3 * (10 + 25));
  const Cluster equal = EqualGpus(4);
  std::vector<std::vector<int>> routes(16, std::vector<int>{0});
  for (int d = 0; d < 4; ++d) routes[5 * d].clear();
  const Cluster bus("bus",
                    {equal.kinds().begin(), equal.kinds().end()},
                    {equal.devices().begin(), equal.devices().end()},
                    {{.name = "bus", .latency = 10, .bandwidth = kSlow}},
                    routes);
  CHECK(Times("all_reduce", bus, {0, 1, 2, 3}, 100) ==
        Expected{{"ring", 6 * (10 + 4 * 25)}, {"tree", 2 * (10 + 200) + 2 * (10 + 100)}});
}

// Parts of 80 B: 20 B of four members, 40 B of two. Between nodes 10 + 20 ns for a part of 20 B.
TEST_CASE("between nodes, members of equal place have rings of their own") {
  const Expected reduced = {{"ring", 6 * 30},
                            {"rings", 6 * (10 + 10)},  // 0 - 1 - 2 - 3 and back
                            {"tree", 2 * (1 + 20) + 2 * (10 + 80)},
                            {"two_levels", 2 * (1 + 10) + 2 * 30}};
  CHECK(Times("all_reduce", GpusInNodes({0, 0, 1, 1}, false), {0, 1, 2, 3}, 80) == reduced);
  // The order of the members does not matter to the ring, only to the tree.
  const Expected other = Times("all_reduce", GpusInNodes({0, 1, 0, 1}, false), {0, 1, 2, 3}, 80);
  CHECK(other.at("ring") == reduced.at("ring"));
  CHECK(other.at("two_levels") == reduced.at("two_levels"));
  const Expected gathered = {{"ring", 3 * 30}, {"rings", 3 * 20}, {"two_levels", (1 + 10) + 30}};
  for (const char* name : {"all_gather", "reduce_scatter"}) {
    CHECK(Times(name, GpusInNodes({0, 0, 1, 1}, false), {0, 1, 2, 3}, 80) == gathered);
  }
  CHECK_FALSE(Times("all_to_all", GpusInNodes({0, 0, 1, 1}, false), {0, 1, 2, 3}, 80)
                  .contains("two_levels"));
  // Two parts of 20 B take turns on a node's channel.
  CHECK(Times("all_gather", GpusInNodes({0, 0, 1, 1}, true), {0, 1, 2, 3}, 80)["two_levels"] ==
        (1 + 10) + (10 + 40));
  // Nodes of different sizes.
  CHECK(Times("all_gather", GpusInNodes({0, 0, 1}, false), {0, 1, 2}, 60) ==
        Expected{{"ring", 2 * 30}, {"rings", 2 * 20}});
}

// Fast channels along 0 - 2 - 1 - 3 - 0 only: a ring in the order of the members would have slow
// hops.
TEST_CASE("a ring has the order with the least slowest hop") {
  const Cluster equal = EqualGpus(4);
  std::vector<Channel> channels;
  std::vector<std::vector<int>> routes(16);
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      if (from == to) continue;
      const bool slow = from + to == 1 || from + to == 5;
      routes[from * 4 + to] = {static_cast<int>(channels.size())};
      channels.push_back({.name = fmt::format("{}->{}", from, to),
                          .latency = 10,
                          .bandwidth = slow ? kSlow : kFast});
    }
  }
  const Cluster cluster("square",
                        {equal.kinds().begin(), equal.kinds().end()},
                        {equal.devices().begin(), equal.devices().end()},
                        channels,
                        routes);
  CHECK(Times("all_gather", cluster, {0, 1, 2, 3}, 400)["ring"] == 3 * (10 + 25));
  CHECK(Times("all_gather", cluster, {3, 2, 1, 0}, 400)["ring"] == 3 * (10 + 25));
  CHECK(Times("all_gather", cluster, {0, 1, 2}, 300)["ring"] == 2 * (10 + 100));
}

TEST_CASE("algorithms without a route are left out") {
  const Cluster equal = EqualGpus(4, 10);
  std::vector<std::vector<int>> routes(16);
  for (int d = 0; d < 4; ++d) {
    const int next = d * 4 + (d + 1) % 4;
    const auto route = equal.route(d, (d + 1) % 4);
    routes[next].assign(route.begin(), route.end());
  }
  const Cluster ring("ring",
                     {equal.kinds().begin(), equal.kinds().end()},
                     {equal.devices().begin(), equal.devices().end()},
                     {equal.channels().begin(), equal.channels().end()},
                     routes);
  CHECK(Times("all_reduce", ring, {0, 1, 2, 3}, 100) == Expected{{"ring", 6 * 35}});
  CHECK(MessageOf<InputError>([&] {
          Least("all_to_all", ring, std::vector<int>{0, 1, 2, 3}, 100);
        }) == "cluster \"ring\": no route from gpu:0 to gpu:2, for all_to_all");
}

}  // namespace
