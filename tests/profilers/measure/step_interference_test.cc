#include "profilers/measure/step_interference.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/random.h"

namespace {

using namespace emplace;

struct Truth {
  std::string name;
  double sensitivity = 0, pressure = 0;
};
const std::vector<Truth> kTruth{{"matmul", 0.25, 0.5}, {"update", 1, 1}, {"transfer", 1.5, 0.75}};

double Noise(Rng& rng, double size) {
  return 1 + size * (2 * Uniform01(rng) - 1);
}

// Steps of two neighbours on which activities of 20 to 200 us stand at random places; each takes as
// much longer as the truth says for the share of it that the other device was busy with each class.
TracedSteps RandomSteps(Rng& rng, int count, double noise) {
  TracedPlacement traced;
  for (int i = 0; i < 12; ++i) {
    const std::string& name = kTruth[i % 3].name;
    traced.subjects.push_back({"cpu",
                               name,
                               name == "transfer" ? "" : fmt::format("op {}", i),
                               name == "transfer" ? i : 0});
  }
  traced.neighbors = {2, 1};
  const auto alone = [](int subject) { return 20e3 * (1 + subject % 10); };
  for (int step = 0; step < count; ++step) {
    std::vector<std::vector<TracedActivity>> of_device(2);
    Nanos now = 0;
    for (int i = 0; i < 40; ++i) {  // the aggressors: as long as alone
      now += UniformInt(rng, 100'000);
      const int subject = UniformInt(rng, 12);
      const Nanos finish = now + static_cast<Nanos>(alone(subject));
      of_device[1].push_back({subject, now, finish});
      now = finish;
    }
    now = 0;
    for (int i = 0; i < 40; ++i) {
      now += UniformInt(rng, 50'000);
      const int subject = UniformInt(rng, 12);
      // Its length and what is beside it depend on one another: by fixed-point iteration.
      double length = alone(subject);
      const double scale = Noise(rng, noise);
      for (int round = 0; round < 60; ++round) {
        double excess = 0;
        for (const TracedActivity& other : of_device[1]) {
          const double begin = std::max<double>(now, other.start),
                       end = std::min<double>(now + length, other.finish);
          if (end > begin) excess += (end - begin) / length * kTruth[other.subject % 3].pressure;
        }
        length = alone(subject) * scale * (1 + kTruth[subject % 3].sensitivity * excess);
      }
      of_device[0].push_back({subject, now, now + static_cast<Nanos>(length)});
      now += static_cast<Nanos>(length);
    }
    traced.steps.push_back(std::move(of_device));
  }
  // Only d0 suffers, as d1's times are those of ops alone.
  traced.neighbors = {2, 0};
  return {std::make_shared<const TracedPlacement>(std::move(traced))};
}

CostTable TableOf(const std::string& kind) {
  CostTable table;
  table.kinds.push_back({.kind = {.name = kind}});
  return table;
}

double Excess(const CostTable& table, const std::string& victim, const std::string& aggressor) {
  const auto& classes = table.kinds[0].kind.interference;
  return static_cast<double>(InterferenceExcess(classes.at(victim), classes.at(aggressor))) /
         kInterferenceOne;
}

TEST_CASE("what classes of ops cost one another is found in noisy steps") {
  Rng rng(11);
  for (const double noise : {0.0, 0.2}) {
    CostTable table = TableOf("cpu");
    table.kinds[0].ops.push_back({.signature = "op 1", .interference = Interference{1, 1}});
    WriteStepInterference(RandomSteps(rng, 150, noise), table);
    for (const Truth& victim : kTruth) {
      for (const Truth& aggressor : kTruth) {
        CAPTURE(victim.name);
        CAPTURE(aggressor.name);
        const double truth = victim.sensitivity * aggressor.pressure;
        CHECK(Excess(table, victim.name, aggressor.name) ==
              doctest::Approx(truth).epsilon(noise > 0 ? 0.15 : 0.06));
        const auto found = std::ranges::find_if(table.interference, [&](const Slowdown& s) {
          return s.victim == "cpu " + victim.name && s.aggressor == "cpu " + aggressor.name;
        });
        REQUIRE(found != table.interference.end());
        CHECK(found->factor == doctest::Approx(1 + truth).epsilon(noise > 0 ? 0.08 : 0.04));
        CHECK(found->low < found->factor);
        CHECK(found->high > found->factor);
        CHECK(found->modelled ==
              doctest::Approx(1 + Excess(table, victim.name, aggressor.name)).epsilon(0.01));
      }
    }
    CHECK_FALSE(table.kinds[0].ops[0].interference);  // that of an op alone
    // A second fit takes the place of the first.
    const size_t count = table.interference.size();
    WriteStepInterference(RandomSteps(rng, 150, noise), table);
    CHECK(table.interference.size() == count);
  }
}

TEST_CASE("the 95 % intervals of the matrix cover the truth") {
  Rng rng(12);
  int covered = 0, all = 0;
  for (int round = 0; round < 20; ++round) {
    CostTable table = TableOf("cpu");
    WriteStepInterference(RandomSteps(rng, 40, 0.2), table);
    for (const Slowdown& s : table.interference) {
      const auto of = [](const std::string& name) {
        return *std::ranges::find_if(kTruth,
                                     [&](const Truth& t) { return "cpu " + t.name == name; });
      };
      const double truth = 1 + of(s.victim).sensitivity * of(s.aggressor).pressure;
      covered += s.low <= truth && truth <= s.high;
      ++all;
    }
  }
  CHECK(all == 20 * 9);
  CHECK(covered > 0.85 * all);
}

TEST_CASE("too little overlap: what was known stays") {
  CostTable table = TableOf("cpu");
  table.kinds[0].kind.interference["matmul"] = {100, 200};
  table.kinds[0].ops.push_back({.signature = "a", .interference = Interference{1, 2}});
  table.interference.push_back({"cpu matmul", "cpu matmul", 1.5});
  TracedPlacement traced;
  traced.subjects = {{"cpu", "matmul", "a", 0}};
  traced.neighbors = {2, 1};
  traced.steps = {{{{0, 0, 1000}}, {{0, 0, 1000}}}, {{{0, 0, 1000}}, {{0, 0, 2000}}}};
  WriteStepInterference({std::make_shared<const TracedPlacement>(traced)}, table);
  CHECK(table.kinds[0].kind.interference.at("matmul") == Interference{100, 200});
  CHECK(table.kinds[0].ops[0].interference == Interference{1, 2});
  CHECK(table.interference.size() == 1);
  WriteStepInterference({}, table);
  CHECK(table.interference.size() == 1);
}

TEST_CASE("where steps tell little, what was known of classes counts") {
  Rng rng(13);
  CostTable table = TableOf("cpu");
  table.kinds[0].kind.interference["pooling"] = {512, 1024};
  table.kinds[0].kind.interference["update"] = {512, 1024};
  WriteStepInterference(RandomSteps(rng, 100, 0.1), table);
  CHECK(Excess(table, "update", "update") == doctest::Approx(1).epsilon(0.1));  // as seen in steps
  CHECK(Excess(table, "pooling", "pooling") == doctest::Approx(0.5).epsilon(0.6));
  CHECK(Excess(table, "pooling", "update") > 0.1);
}

}  // namespace
