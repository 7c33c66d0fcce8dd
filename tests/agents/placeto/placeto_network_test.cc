#include "agents/placeto/placeto_network.h"

#include <cmath>
#include <numeric>

#include <doctest/doctest.h>

#include "tests/agents/placeto/plain_placeto.h"
#include "tests/agents/placeto/small_placeto.h"
#include "tests/support/gradients.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

PlacetoNetworkConfig NetworkConfig(const std::string& aggregation, const std::string& devices) {
  PlacetoNetworkConfig config;
  config.aggregation = aggregation;
  config.features.devices = devices;
  config.rounds = 3;
  config.logit_scale = 1;
  config.stay = 0.7;
  return config;
}

// A problem as the network sees it, and a network.
struct NetworkWorld {
  NetworkWorld(std::shared_ptr<const Problem> placed,
               const PlacetoNetworkConfig& config,
               int seed = 1)
      : problem(std::move(placed)),
        rng(seed),
        graph(*problem, config.mean()),
        features(*problem, graph, config.features, "features"),
        network(config, problem->num_devices(), parameters, rng) {
    // Biases count, too.
    for (Parameter& parameter : parameters.all()) {
      if (parameter.value.rows() == 1) {
        parameter.value = RandomMatrix(1, static_cast<int>(parameter.value.cols()), rng, 0, 0.3);
      }
    }
  }
  PlacetoBatch Batch(const std::vector<PlacetoState>& states) const {
    std::vector<const PlacetoState*> pointers;
    for (const PlacetoState& state : states) pointers.push_back(&state);
    return features.Batch(pointers);
  }
  Matrix LogProbabilities(const std::vector<PlacetoState>& states) const {
    Tape tape(false);
    const PlacetoBatch batch = Batch(states);
    return tape.value(network.LogProbabilities(tape, graph, batch));
  }
  std::vector<PlacetoState> States(int count) {
    std::vector<PlacetoState> states;
    for (int s = 0; s < count; ++s) states.push_back(RandomState(rng, *problem));
    return states;
  }
  std::shared_ptr<const Problem> problem;
  Rng rng;
  ParameterSet parameters;
  PlacetoGraph graph;
  PlacetoFeatures features;
  PlacetoNetwork network;
};

// -infinity at the same places, else near each other.
void CheckNear(const Matrix& actual, const Matrix& expected, double tolerance = 1e-4) {
  REQUIRE(actual.rows() == expected.rows());
  REQUIRE(actual.cols() == expected.cols());
  for (int i = 0; i < actual.rows(); ++i) {
    for (int j = 0; j < actual.cols(); ++j) {
      if (std::isinf(expected(i, j))) {
        CHECK(actual(i, j) == expected(i, j));
      } else {
        CHECK(std::abs(actual(i, j) - expected(i, j)) < tolerance);
      }
    }
  }
}

template <class F>
void ForEveryVariant(const F& f) {
  for (const std::string aggregation : {"sum", "mean"}) {
    for (const std::string devices : {"one_hot", "scored"}) {
      CAPTURE(aggregation);
      CAPTURE(devices);
      f(NetworkConfig(aggregation, devices));
    }
  }
}

TEST_CASE("log-probabilities are those of plain loops, on graphs of different sizes") {
  ForEveryVariant([](const PlacetoNetworkConfig& config) {
    for (const int num_ops : {1, 9, 26}) {
      CAPTURE(num_ops);
      NetworkWorld world(SmallProblem(3, num_ops), config, num_ops);
      for (const PlacetoState& state : world.States(4)) {
        const PlacetoBatch batch = world.Batch({state});
        const plain::Row expected = plain::LogProbabilities(*world.problem,
                                                            world.parameters,
                                                            config,
                                                            state,
                                                            plain::TableOf(batch.groups),
                                                            plain::TableOf(batch.devices));
        Matrix row(1, expected.size());
        for (std::size_t d = 0; d < expected.size(); ++d)
          row(0, d) = static_cast<float>(expected[d]);
        // float32 over three rounds of sums
        CheckNear(world.LogProbabilities({state}), row, 2e-4 * (1 + std::abs(row(0, 0))));
      }
    }
  });
}

TEST_CASE("a batch of states is the states one by one") {
  ForEveryVariant([](const PlacetoNetworkConfig& config) {
    NetworkWorld world(SmallProblem(), config);
    const std::vector<PlacetoState> states = world.States(7);
    const Matrix together = world.LogProbabilities(states);
    for (int s = 0; s < 7; ++s) {
      CAPTURE(s);
      CheckNear(together.row(s), world.LogProbabilities({states[s]}));
    }
  });
}

TEST_CASE("the policy's size depends on the features alone, not on the graph") {
  ForEveryVariant([](const PlacetoNetworkConfig& config) {
    std::vector<std::vector<std::pair<int, int>>> shapes;
    for (const int num_ops : {1, 40}) {
      const NetworkWorld world(SmallProblem(2, num_ops), config);
      shapes.emplace_back();
      for (const Parameter& parameter : world.parameters.all()) {
        shapes.back().emplace_back(parameter.value.rows(), parameter.value.cols());
      }
    }
    CHECK(shapes[0] == shapes[1]);
  });
  // d = F = 4 + 1 + 3 devices: embed 3 (d d + d); two ways of 4 (d d + d); three pools of
  // 4 ((2d)(2d) + 2d); head (8d 16d + 16d) + (16d 8d + 8d) + (8d 3 + 3)
  const NetworkWorld world(SmallProblem(2), NetworkConfig("sum", "one_hot"));
  const std::int64_t d = 8;
  CHECK(world.parameters.num_values() == 11 * (d * d + d) + 12 * (4 * d * d + 2 * d) +
                                             (128 * d * d + 16 * d) + (128 * d * d + 8 * d) +
                                             (24 * d + 3));
}

TEST_CASE("with scored devices one network acts on any number of them") {
  const PlacetoNetworkConfig config = NetworkConfig("mean", "scored");
  NetworkWorld two(SmallProblem(1), config), five(SmallProblem(4), config);
  REQUIRE(two.parameters.num_values() == five.parameters.num_values());
  for (std::size_t i = 0; i < two.parameters.all().size(); ++i) {
    two.parameters.all()[i].value = five.parameters.all()[i].value;
  }
  const std::vector<PlacetoState> states = two.States(3);
  const PlacetoBatch batch = two.Batch(states);
  Tape tape(false);
  const Matrix choices = tape.value(five.network.LogProbabilities(tape, two.graph, batch));
  CHECK(choices == two.LogProbabilities(states));
  CHECK(choices.cols() == 2);
}

TEST_CASE("another numbering of the groups changes nothing") {
  // The same ops, listed in another order: groups are numbered by their least op.
  Rng rng(8);
  constexpr int kOps = 12;
  std::vector<std::vector<int>> inputs(kOps);
  std::vector<Nanos> cost(kOps);
  for (int v = 0; v < kOps; ++v) {
    cost[v] = 1 + UniformInt(rng, 50);
    for (int i = UniformInt(rng, 3); i > 0 && v > 0; --i) inputs[v].push_back(UniformInt(rng, v));
  }
  const auto build = [&](const std::vector<int>& number) {
    ProblemBuilder builder = Gpus(3);
    std::vector<int> listed(kOps);
    for (int v = 0; v < kOps; ++v) listed[number[v]] = v;
    for (int v : listed) builder.Op("op" + std::to_string(v), {cost[v], 2 * cost[v], 30}, {}, 100);
    for (int v = 0; v < kOps; ++v) {
      for (int u : inputs[v]) {
        builder.op(number[v]).inputs.push_back(builder.op(number[u]).outputs[0]);
      }
    }
    return builder.Build();
  };
  std::vector<int> same(kOps), other(kOps);
  std::iota(same.begin(), same.end(), 0);
  other = same;
  for (int i = kOps - 1; i > 0; --i) std::swap(other[i], other[UniformInt(rng, i + 1)]);
  ForEveryVariant([&](const PlacetoNetworkConfig& config) {
    NetworkWorld a(build(same), config), b(build(other), config);
    for (const PlacetoState& state : a.States(6)) {
      PlacetoState moved = state;
      for (int v = 0; v < kOps; ++v) {
        moved.placement.device[other[v]] = state.placement.device[v];
        moved.start[other[v]] = state.start[v];
        moved.visited[other[v]] = state.visited[v];
      }
      moved.current = other[state.current];
      CheckNear(b.LogProbabilities({moved}), a.LogProbabilities({state}), 1e-3);
    }
  });
}

TEST_CASE("logit_scale and stay set the first choices") {
  PlacetoNetworkConfig config = NetworkConfig("mean", "one_hot");
  config.logit_scale = 0;
  config.stay = 2;
  ProblemBuilder builder = Gpus(3);
  for (int i = 0; i < 4; ++i) builder.Op("op" + std::to_string(i), {5});
  const auto problem = builder.Build();
  Rng rng(1);
  ParameterSet parameters;
  const PlacetoNetwork network(config, 3, parameters, rng);
  const PlacetoGraph graph(*problem, true);
  const PlacetoFeatures features(*problem, graph, config.features, "features");
  PlacetoState state = RandomState(rng, *problem);
  state.placement.device[state.current] = 1;
  const PlacetoState* states[] = {&state};
  const PlacetoBatch batch = features.Batch(states);
  Tape tape(false);
  const Matrix choices = tape.value(network.LogProbabilities(tape, graph, batch));
  // exp(2) times as likely as each of the two others
  CHECK(std::exp(choices(0, 1)) == doctest::Approx(std::exp(2) / (std::exp(2) + 2)));
  CHECK(choices(0, 0) == choices(0, 2));
}

}  // namespace
