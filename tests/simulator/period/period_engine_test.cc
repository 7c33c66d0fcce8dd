// The fast period against the plain one, number by number: whole placements, rows and neighbours.

#include "simulator/period/period_engine.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/error.h"
#include "simulator/period/period.h"
#include "simulator/simulator.h"
#include "tests/support/neighbors.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// A random problem with the period as objective: groups of several ops in half of them, some kinds
// that do not pay for transfers.
std::shared_ptr<const Problem> RandomPeriodProblem(Rng& rng) {
  const bool grouped = Uniform01(rng) < 0.5;
  const auto steps = RandomProblem(rng,
                                   {.num_ops = 1 + UniformInt(rng, 60),
                                    .num_devices = 1 + UniformInt(rng, 5),
                                    .ties = Uniform01(rng) < 0.7,
                                    .forbidden = !grouped});
  const Cluster& cluster = steps->cluster();
  const int num_devices = cluster.num_devices();
  std::vector<DeviceKind> kinds(cluster.kinds().begin(), cluster.kinds().end());
  for (DeviceKind& kind : kinds) kind.pays_transfers = Uniform01(rng) < 0.7;
  std::vector<std::vector<int>> routes;
  for (int from = 0; from < num_devices; ++from) {
    for (int to = 0; to < num_devices; ++to) {
      const auto route = cluster.route(from, to);
      routes.emplace_back(route.begin(), route.end());
    }
  }
  const std::vector<Device> devices(cluster.devices().begin(), cluster.devices().end());
  const std::vector<Channel> channels(cluster.channels().begin(), cluster.channels().end());
  std::vector<int> labels;
  for (int v = 0; v < steps->num_ops(); ++v) {
    labels.push_back(grouped ? UniformInt(rng, 1 + steps->num_ops() / 2) : v);
  }
  return std::make_shared<Problem>(
      std::make_shared<Graph>(steps->graph()),
      Grouping(labels),
      std::make_shared<Cluster>(cluster.name(), kinds, devices, channels, routes),
      steps->costs(),
      Objective::kPeriod,
      ProblemChecks::kPlacementOnly);
}

struct PlainPeriod {
  explicit PlainPeriod(const Problem& problem) : problem_(problem) {}
  Outcome operator()(const Placement& placement, const OutcomeDetail& detail = {}) const {
    Outcome outcome;
    EvaluatePeriod(problem_, ExpandPlacement(placement, problem_.grouping()), detail, outcome);
    return outcome;
  }

  const Problem& problem_;
};

// Columns of n outcomes, and the comparison of a row with an outcome.
struct PeriodColumns {
  PeriodColumns(std::size_t n, int num_devices)
      : num_devices_(num_devices),
        step_time_(n),
        deficit_(n),
        peak_(n * num_devices),
        busy_(n * num_devices) {}
  OutcomeColumns columns() { return {step_time_, deficit_, peak_, busy_}; }

  std::string Difference(std::size_t i, const Outcome& plain) const {
    if (step_time_[i] != plain.step_time) {
      return fmt::format("period {} instead of {}", step_time_[i], plain.step_time);
    }
    if (deficit_[i] != plain.deficit()) {
      return fmt::format("deficit {} instead of {}", deficit_[i], plain.deficit());
    }
    for (int d = 0; d < num_devices_; ++d) {
      if (peak_[i * num_devices_ + d] != plain.devices[d].peak) return fmt::format("peak of {}", d);
      if (busy_[i * num_devices_ + d] != plain.devices[d].busy) return fmt::format("busy of {}", d);
    }
    return "";
  }

  int num_devices_;
  std::vector<Nanos> step_time_;
  std::vector<std::int64_t> deficit_, peak_;
  std::vector<Nanos> busy_;
};

TEST_CASE("whole placements equal the plain period, with channels and without") {
  Rng rng(61);
  for (int round = 0; round < 200 * EMPLACE_TEST_SCALE; ++round) {
    CAPTURE(round);
    const auto problem = RandomPeriodProblem(rng);
    const PlainPeriod plain(*problem);
    const auto simulator = MakeSimulator(problem, {});
    Outcome outcome = {.channels = {{1, 2, 3}}, .start = {4}, .finish = {5}};
    for (const bool channels : {false, true}) {
      const Placement placement = RandomPlacement(rng, *problem);
      simulator->Evaluate({&placement, 1}, {&outcome, 1}, {.channels = channels});
      const Outcome expected = plain(placement, {.channels = channels});
      REQUIRE(outcome.step_time == expected.step_time);
      REQUIRE(outcome.feasible == expected.feasible);
      for (int d = 0; d < problem->num_devices(); ++d) {
        REQUIRE(outcome.devices[d].busy == expected.devices[d].busy);
        REQUIRE(outcome.devices[d].peak == expected.devices[d].peak);
        REQUIRE(outcome.devices[d].deficit == expected.devices[d].deficit);
      }
      REQUIRE(outcome.channels.size() == expected.channels.size());
      for (std::size_t k = 0; k < expected.channels.size(); ++k) {
        REQUIRE(outcome.channels[k].busy == expected.channels[k].busy);
      }
      REQUIRE(outcome.start.empty());
      REQUIRE(outcome.finish.empty());
    }
  }
}

TEST_CASE("neighbours equal the plain period, whatever the bases before") {
  constexpr int kNeighbors = 40;
  Rng rng(62);
  for (int round = 0; round < 50 * EMPLACE_TEST_SCALE; ++round) {
    CAPTURE(round);
    const auto problem = RandomPeriodProblem(rng);
    const PlainPeriod plain(*problem);
    const auto simulator = MakeSimulator(problem, {.threads = 1 + round % 3});
    PeriodColumns outcomes(kNeighbors, problem->num_devices());
    Placement base = RandomPlacement(rng, *problem);
    for (int step = 0; step < 6; ++step) {
      const RandomNeighbors neighbors(rng, *problem, kNeighbors);
      simulator->EvaluateNeighbors({base, neighbors.begin, neighbors.moves}, outcomes.columns());
      for (int i = 0; i < kNeighbors; ++i) {
        const std::string difference = outcomes.Difference(i, plain(neighbors.Moved(base, i)));
        REQUIRE_MESSAGE(difference.empty(), difference);
      }
      // A base near the last one, another one, or the same.
      if (step % 3 == 0) base = neighbors.Moved(base, UniformInt(rng, kNeighbors));
      if (step % 3 == 1) base = RandomPlacement(rng, *problem);
    }
  }
}

TEST_CASE("rows equal the plain period") {
  constexpr int kRows = 50;
  Rng rng(63);
  for (int round = 0; round < 20 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem = RandomPeriodProblem(rng);
    const PlainPeriod plain(*problem);
    std::vector<Placement> placements;
    std::vector<DeviceIndex> rows;
    for (int i = 0; i < kRows; ++i) {
      placements.push_back(RandomPlacement(rng, *problem));
      rows.insert(rows.end(), placements[i].device.begin(), placements[i].device.end());
    }
    PeriodColumns outcomes(kRows, problem->num_devices());
    MakeSimulator(problem, {.threads = 1 + round % 3})
        ->EvaluateRows({rows.data(), kRows, static_cast<std::size_t>(problem->num_groups())},
                       outcomes.columns());
    for (int i = 0; i < kRows; ++i) {
      const std::string difference = outcomes.Difference(i, plain(placements[i]));
      REQUIRE_MESSAGE(difference.empty(), difference);
    }
  }
}

TEST_CASE("columns that are not wanted stay away") {
  Rng rng(64);
  const auto problem = RandomPeriodProblem(rng);
  const Placement base = RandomPlacement(rng, *problem);
  const std::vector<Move> moves{{0, base.device[0]}};
  const std::vector<int> begin{0, 1, 1};
  std::vector<Nanos> step_time(2);
  const auto simulator = MakeSimulator(problem, {});
  simulator->EvaluateNeighbors({base, begin, moves}, {.step_time = step_time});
  const Nanos expected = simulator->Evaluate(base).step_time;
  CHECK(step_time == std::vector<Nanos>{expected, expected});
}

TEST_CASE("rows and moves of the wrong size, or to a device that is not allowed, are refused") {
  ProblemBuilder b;
  b.Device("d0");
  b.Device("d1");
  b.AllToAll(0, kGigabytePerSecond);
  b.Op("a", {1, kMaxNanos});
  b.Op("b", {1, 1}, {0}, 10);
  const auto steps = b.Build();
  const auto problem = std::make_shared<Problem>(std::make_shared<Graph>(steps->graph()),
                                                 Grouping::Identity(2),
                                                 std::make_shared<Cluster>(steps->cluster()),
                                                 steps->costs(),
                                                 Objective::kPeriod);
  const auto simulator = MakeSimulator(problem, {});
  const std::vector<DeviceIndex> rows{0, 1, 1, 1};
  const Placement base{{0, 0}};
  const std::vector<int> begin{0, 1};
  const std::vector<Move> forbidden{{0, 1}}, unknown{{1, 2}};
  CHECK(MessageOf<InputError>([&] {
          simulator->EvaluateRows({rows.data(), 1, 3}, {});
        }) == "placement: has 3 groups; the problem has 2");
  const std::string message = "placement: group 0 (op \"a\", test) may not run on device \"d1\"";
  CHECK(MessageOf<InputError>([&] {
          simulator->EvaluateRows({rows.data(), 2, 2}, {});
        }) == message);
  CHECK(MessageOf<InputError>([&] {
          simulator->EvaluateNeighbors({base, begin, forbidden}, {});
        }) == message);
  CHECK(MessageOf<InputError>([&] {
          simulator->EvaluateNeighbors({base, begin, unknown}, {});
        }) == "placement: group 1 (op \"b\", test) may not run on device 2: there are 2");
}

}  // namespace
