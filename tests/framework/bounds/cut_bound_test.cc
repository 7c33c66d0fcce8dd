#include "framework/bounds/cut_bound.h"

#include <algorithm>
#include <string>
#include <vector>

#include "framework/bounds/lower_bound.h"
#include "tests/framework/bounds/optimum.h"
#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

Nanos BoundByCuts(const Problem& problem, Nanos unit = 1000) {
  Nanos best = 0;
  ProveCuts(
      problem,
      AllowedDevices(problem),
      unit,
      [] { return false; },
      [&](Nanos bound) {
        best = std::max(best, bound);
        return false;
      });
  return best;
}

// Makes the output of an op a parameter, which stays in memory.
void Keep(ProblemBuilder& b, int op) {
  b.output(op).role = TensorRole::kParameter;
}

TEST_CASE("cuts: memory forces ops apart, and what is between them crosses") {
  ProblemBuilder b;
  b.Device("d0", 3000);
  b.Device("d1", 3000);
  b.AllToAll(50, kGigabytePerSecond);
  const int p = b.Op("p", {0}, {}, 2000);
  const int q = b.Op("q", {0}, {}, 2000);
  Keep(b, p);
  Keep(b, q);
  const int x = b.Op("x", {100}, {p}, 900);
  b.Op("y", {100}, {q, x});
  const auto problem = b.Build(Grouping(std::vector<int>{0, 1, 0, 1}));
  CHECK(NeedsSeveralDevices(*problem));
  // 2000 + 2000 (1 - l) <= 3000, so that half of the 900 B crosses, over one of two channels: 2 T.
  CHECK(BoundByCuts(*problem) == 225);
  CHECK(Optimum(problem).fitting == 100 + 50 + 900 + 100);

  ProblemBuilder roomy = b;
  roomy.Device("d2", 4000);
  roomy.AllToAll(50, kGigabytePerSecond);
  CHECK_FALSE(NeedsSeveralDevices(*roomy.Build()));
}

TEST_CASE("cuts: a slow channel keeps ops together that work would part") {
  ProblemBuilder b;
  b.Device("d0");
  b.Device("d1");
  const int both_ways = b.Channel("c", 0, kGigabytePerSecond);
  b.Route(0, 1, {both_ways});
  b.Route(1, 0, {both_ways});
  const int x = b.Op("x", {100}, {}, 1000);
  b.Op("y", {100}, {x});
  // Together 200. With a part l of the item cut 200 - 100 l <= T, and 1000 l <= T: l = 2 / 11,
  // T = 181.8. Work alone: 100.
  CHECK(BoundByCuts(*b.Build()) == 182);
}

TEST_CASE("cuts: what a slow device does pays for its way there and back") {
  ProblemBuilder b;
  b.Device("fast");
  b.Device("slow");
  const int link = b.Channel("link", 0, kGigabytePerSecond);
  b.Route(0, 1, {link});
  b.Route(1, 0, {link});
  // Only x may be on both. Its items of 500 B cross if it is on the slow one, where it costs 10.
  const int a = b.Op("a", {40, kMaxNanos}, {}, 500);
  const int x = b.Op("x", {60, 10}, {a}, 500);
  b.Op("b", {40, kMaxNanos}, {x});
  // A part y on the slow one: 140 - 60 y <= T and 1000 y <= T: y = 14 / 106, T = 132.1.
  CHECK(BoundByCuts(*b.Build()) == 133);
}

TEST_CASE("cuts: a broadcast channel counts nothing; a stop ends all") {
  ProblemBuilder b;
  b.Device("d0");
  b.Device("d1");
  b.EgressBus(0, kGigabytePerSecond, 0);
  const int x = b.Op("x", {100}, {}, 1000);
  b.Op("y", {100}, {x});
  const auto problem = b.Build();
  CHECK(BoundByCuts(*problem) == 100);
  int told = 0;
  ProveCuts(
      *problem,
      AllowedDevices(*problem),
      100,
      [] { return true; },
      [&](Nanos bound) {
        CHECK(bound <= 100);
        ++told;
        return true;
      });
  CHECK(told == 1);
}

TEST_CASE("cuts: never above the optimum of what fits: random problems") {
  Rng rng(71);
  int fitting = 0;
  for (int round = 0; round < 700 * EMPLACE_TEST_SCALE; ++round) {
    RandomProblemOptions random;
    random.num_ops = 3 + UniformInt(rng, 4);
    random.num_devices = 2 + UniformInt(rng, 2);
    random.forbidden = UniformInt(rng, 2) == 0;
    random.ties = UniformInt(rng, 2) == 0;
    random.longest = 1000;
    random.largest = 2000;
    const auto problem = RandomProblem(rng, random);
    const Optimum optimum(problem);
    fitting += optimum.fitting < kMaxNanos;
    REQUIRE(BoundByCuts(*problem, 1 + UniformInt(rng, 2000)) <= optimum.fitting);
  }
  CHECK(fitting > 300 * EMPLACE_TEST_SCALE);
}

TEST_CASE(
    "cuts: never above the optimum, often better than all others: equal devices, tight memory") {
  Rng rng(72);
  int better = 0, forced = 0;
  const int rounds = 500 * EMPLACE_TEST_SCALE;
  for (int round = 0; round < rounds; ++round) {
    const int devices = 2 + UniformInt(rng, 2), count = 4 + UniformInt(rng, 3);
    ProblemBuilder b;
    for (int d = 0; d < devices; ++d)
      b.Device("d" + std::to_string(d), 1000 + UniformInt(rng, 2000));
    const int bus = b.Channel("bus", UniformInt(rng, 50), kGigabytePerSecond);
    for (int s = 0; s < devices; ++s) {
      for (int d = 0; d < devices; ++d) {
        if (s != d) b.Route(s, d, {bus});
      }
    }
    std::vector<int> labels;
    for (int v = 0; v < count; ++v) {
      const std::string name = std::to_string(v);
      const int kept = b.Op("parameter" + name, {0}, {}, UniformInt(rng, 1000));
      Keep(b, kept);
      std::vector<int> inputs = {kept};
      for (int before = 1; before < kept; before += 2) {
        if (UniformInt(rng, 2) == 0) inputs.push_back(before);
      }
      b.Op("op" + name, {1 + UniformInt(rng, 100)}, inputs, UniformInt(rng, 500));
      labels.insert(labels.end(), {v, v});
    }
    const auto problem = b.Build(Grouping(labels), ProblemChecks::kPlacementOnly);
    const Nanos optimum = Optimum(problem).fitting;
    const Nanos bound = BoundByCuts(*problem);
    if (optimum == kMaxNanos) continue;
    REQUIRE(bound <= optimum);
    forced += NeedsSeveralDevices(*problem);
    better += bound > ProveBound(*problem).value;
  }
  CHECK(forced > rounds / 20);
  CHECK(better > rounds / 20);
}

}  // namespace
