#include "agents/placeto/placeto_features.h"

#include <cmath>

#include <doctest/doctest.h>

#include "tests/agents/placeto/small_placeto.h"
#include "tests/support/gradients.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Groups {a, b}, {c}, {d}, {e} on three devices:
//   cost on d0, d1, d2: {10, 5, 10}, {8, not allowed, 10}, {20, 30, 40}, {1, 1, 1}
//   {a, b} -> {c}: 100 + 50 B, {a, b} -> {d}: the same 50 B, {c} -> {d}: 30 B
//   resident bytes: 20, 0, 0, 60
std::shared_ptr<const Problem> FourGroups() {
  ProblemBuilder builder;
  for (int d = 0; d < 3; ++d) builder.Device("d" + std::to_string(d));
  builder.AllToAll(1, kGigabytePerSecond);
  const int a = builder.Op("a", {4, 2, 8}, {}, 100);
  const int b = builder.Op("b", {6, 3, 2}, {a}, 50);
  const int c = builder.Op("c", {8, kMaxNanos, 10}, {a, b}, 30);
  builder.Op("d", {20, 30, 40}, {b, c}, 10);
  const int e = builder.Op("e", {1, 1, 1}, {}, 60);
  builder.output(e).role = TensorRole::kParameter;
  builder.AddOutput(a, "a:1", 20);
  builder.output(a, 1).role = TensorRole::kParameter;
  const std::vector<int> labels = {0, 0, 1, 2, 3};
  return builder.Build(Grouping(labels));
}

PlacetoState HandState() {
  return {{{1, 0, 0, 2}}, {100, 300, 500, 0}, {true, false, false, true}, 1};
}

struct FeatureWorld {
  explicit FeatureWorld(const PlacetoFeaturesConfig& config,
                        std::shared_ptr<const Problem> placed = FourGroups())
      : problem(std::move(placed)),
        graph(*problem),
        features(*problem, graph, config, "features") {}
  PlacetoBatch Batch(const std::vector<PlacetoState>& states) const {
    std::vector<const PlacetoState*> pointers;
    for (const PlacetoState& state : states) pointers.push_back(&state);
    return features.Batch(pointers);
  }
  std::shared_ptr<const Problem> problem;
  PlacetoGraph graph;
  PlacetoFeatures features;
};

TEST_CASE("one_hot: every column by hand") {
  PlacetoFeaturesConfig config;
  config.memory = true;
  const PlacetoBatch batch = FeatureWorld(config).Batch({HandState()});
  const float third = 1.0F / 3;
  Matrix expected(4, 9);
  // cost / 20, bytes / 150, visited, current, (start - 300) / 300, memory / 60, device
  expected << 0.25F, 1, 1, 0, -2 * third, third, 0, 1, 0,  //
      0.4F, 0.2F, 0, 1, 0, 0, 1, 0, 0,                     //
      1, 0, 0, 0, 2 * third, 0, 1, 0, 0,                   //
      0.05F, 0, 1, 0, -1, 1, 0, 0, 1;
  CHECK(Distance(batch.groups, expected) < 1e-6);
  CHECK(batch.groups.cols() == PlacetoFeatures::group_width(config, 3));
  CHECK(batch.num_states() == 1);
  CHECK(batch.current == std::vector<int>{1});
  CHECK(batch.allowed == Matrix{{1, 0, 1}});
  CHECK(batch.present == Matrix{{1, 0, 0}});
  CHECK(batch.devices.size() == 0);
  CHECK(PlacetoFeatures::device_width(config) == 0);
}

TEST_CASE("columns that are not wanted are left out") {
  PlacetoFeaturesConfig config;
  config.start_time = false;
  const PlacetoBatch batch = FeatureWorld(config).Batch({HandState()});
  CHECK(batch.groups.cols() == 4 + 3);
  CHECK(Distance(batch.groups.row(3), Matrix{{0.05F, 0, 1, 0, 0, 0, 1}}) < 1e-6);
}

TEST_CASE("device_costs: log1p, standardised over what is allowed, 0 elsewhere") {
  PlacetoFeaturesConfig config;
  config.device_costs = true;
  const FeatureWorld world(config);
  const PlacetoBatch batch = world.Batch({HandState()});
  REQUIRE(batch.groups.cols() == 5 + 3 + 3);
  const std::vector<double> costs = {10, 5, 10, 8, 10, 20, 30, 40, 1, 1, 1};
  double mean = 0, variance = 0;
  for (double cost : costs) mean += std::log1p(cost) / 11;
  for (double cost : costs) variance += std::pow(std::log1p(cost) - mean, 2) / 11;
  const auto standard = [&](double cost) {
    return doctest::Approx((std::log1p(cost) - mean) / std::sqrt(variance)).epsilon(1e-5);
  };
  CHECK(batch.groups(0, 5) == standard(10));
  CHECK(batch.groups(0, 6) == standard(5));
  CHECK(batch.groups(1, 5) == standard(8));
  CHECK(batch.groups(1, 6) == 0);
  CHECK(batch.groups(2, 7) == standard(40));
  CHECK(batch.groups(2, 8) == 1);  // the one-hot comes last
}

TEST_CASE("scored: groups tell who is together, and each device what is on it") {
  PlacetoFeaturesConfig config;
  config.devices = "scored";
  const PlacetoBatch batch = FeatureWorld(config).Batch({HandState()});
  Matrix groups(4, 6);
  const float third = 1.0F / 3;
  // cost, bytes, visited, current, start, together with the current group on d0
  groups << 0.25F, 1, 1, 0, -2 * third, 0,  //
      0.4F, 0.2F, 0, 1, 0, 1,               //
      1, 0, 0, 0, 2 * third, 1,             //
      0.05F, 0, 1, 0, -1, 0;
  CHECK(Distance(batch.groups, groups) < 1e-6);
  Matrix devices(3, 6);
  // here; cost / 10; load without the group {20, 5, 1} / 20; parallel: {e} alone, 1 on d2;
  // inputs: 150 B from d1; outputs: 30 B to d0
  devices << 1, 0.8F, 1, 0, 0, 1,  //
      0, 0, 0.25F, 0, 1, 0,        //
      0, 1, 0.05F, 0.05F, 0, 0;
  CHECK(Distance(batch.devices, devices) < 1e-6);
  CHECK(PlacetoFeatures::device_width(config) == 6);

  PlacetoState shared = HandState();
  shared.current = 2;  // {d} reads 50 B from {a, b} on d1 and 30 B from {c} on d0
  const PlacetoBatch other = FeatureWorld(config).Batch({shared});
  CHECK(other.devices(0, 4) == doctest::Approx(30 / 80.0));
  CHECK(other.devices(1, 4) == doctest::Approx(50 / 80.0));
  CHECK(other.devices.col(5).isZero());  // nobody reads it
}

TEST_CASE("a batch is laid out group by group, for each group state by state") {
  Rng rng(5);
  for (const std::string devices : {"one_hot", "scored"}) {
    PlacetoFeaturesConfig config;
    config.devices = devices;
    const FeatureWorld world(config, SmallProblem());
    const int groups = world.problem->num_groups(), count = world.problem->num_devices();
    std::vector<PlacetoState> states;
    for (int s = 0; s < 4; ++s) states.push_back(RandomState(rng, *world.problem));
    const PlacetoBatch batch = world.Batch(states);
    REQUIRE(batch.groups.rows() == 4 * groups);
    for (int s = 0; s < 4; ++s) {
      const PlacetoBatch alone = world.Batch({states[s]});
      for (int g = 0; g < groups; ++g) {
        CHECK(batch.groups.row(g * 4 + s) == alone.groups.row(g));
      }
      CHECK(batch.allowed.row(s) == alone.allowed);
      CHECK(batch.present.row(s) == alone.present);
      CHECK(batch.current[s] == alone.current[0]);
      if (devices == "scored") {
        CHECK(batch.devices.middleRows(s * count, count) == alone.devices);
      }
    }
  }
}

TEST_CASE("before the first simulation, or with equal starts, start is 0") {
  const FeatureWorld world(PlacetoFeaturesConfig{});
  PlacetoState state = HandState();
  state.start.clear();
  CHECK(world.Batch({state}).groups.col(4).isZero());
  state.start = {7, 7, 7, 7};
  CHECK(world.Batch({state}).groups.col(4).isZero());
}

TEST_CASE("all features are numbers, also without costs and bytes") {
  ProblemBuilder builder;
  builder.Device("d0");
  builder.Device("d1");
  builder.AllToAll(1, kGigabytePerSecond);
  const int a = builder.Op("a", {0});
  builder.Op("b", {0}, {a});
  const auto problem = builder.Build();
  Rng rng(1);
  for (const std::string devices : {"one_hot", "scored"}) {
    const FeatureWorld world({devices, true, true, devices == "one_hot"}, problem);
    const PlacetoBatch batch = world.Batch({RandomState(rng, *problem)});
    CHECK(batch.groups.allFinite());
    CHECK(batch.devices.allFinite());
  }
}

}  // namespace
