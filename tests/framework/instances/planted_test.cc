#include "framework/instances/planted.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/bounds/bounds.h"
#include "framework/graph/graph_io.h"
#include "tests/framework/instances/instance_problem.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

PlantedOptions RandomOptions(Rng& rng) {
  PlantedOptions options;
  options.devices = 1 + UniformInt(rng, 6);
  options.ops = options.devices + UniformInt(rng, 80);
  options.readers = 3 * Uniform01(rng);
  options.ccr = UniformInt(rng, 3) == 0 ? 0 : 2 * Uniform01(rng);
  options.slowest = UniformInt(rng, 2) == 0 ? 1 : 1 + 4 * Uniform01(rng);
  options.chains = UniformInt(rng, 2) == 0;
  options.shuffle = UniformInt(rng, 2) == 0;
  options.seed = rng();
  return options;
}

TEST_CASE("the planted schedule reaches T, and the work bound proves that nothing is faster") {
  Rng rng(1);
  for (int trial = 0; trial < 200 * EMPLACE_TEST_SCALE; ++trial) {
    CAPTURE(trial);
    const PlantedOptions options = RandomOptions(rng);
    const Instance instance = MakePlanted(options);
    REQUIRE(instance.optimum.has_value());
    CHECK(ComputeBounds(*ProblemOf(instance)).work == *instance.optimum);
    CHECK(SimulatePlanted(instance, Semantics::kStream) == *instance.optimum);
    CHECK(SimulatePlanted(instance, Semantics::kStream, Objective::kPeriod) == *instance.optimum);
    const Nanos queue = SimulatePlanted(instance, Semantics::kQueue);
    if (options.chains) {
      CHECK(queue == *instance.optimum);
    } else {
      CHECK(queue >= *instance.optimum);
    }
  }
}

TEST_CASE("ids are in the order of planted starts unless they are shuffled") {
  const PlantedOptions options{.ops = 60, .devices = 3, .seed = 5};
  Instance instance = MakePlanted(options);
  for (int i = 0; i < 60; ++i) CHECK(instance.issue_order[i] == i);
  instance.issue_order.clear();  // the default order
  CHECK(SimulatePlanted(instance, Semantics::kStream) == *instance.optimum);

  PlantedOptions shuffled = options;
  shuffled.shuffle = true;
  CHECK(MakePlanted(shuffled).issue_order != instance.issue_order);
}

TEST_CASE("two unequal devices by hand") {
  // Device 1 is three times as slow: speed 1 + 1/3. T = 4 * 100 us / (4/3) = 300 us: three ops on
  // device 0, of which the work is 300 us, and one on device 1, which would take 100 us on device
  // 0.
  const Instance instance =
      MakePlanted({.ops = 4, .devices = 2, .readers = 0, .ccr = 0, .slowest = 3, .seed = 2});
  CHECK(instance.optimum == 300'000);
  const auto problem = ProblemOf(instance);
  Nanos on_first = 0;
  for (int v = 0; v < 4; ++v) {
    const Nanos fast = problem->costs().at(v, 0), slow = problem->costs().at(v, 1);
    if (instance.device_of_op[v] == 0) {
      on_first += fast;
      CHECK(slow == 3 * fast);
    } else {
      CHECK(fast == 100'000);
      CHECK(slow == 300'000);
    }
  }
  CHECK(on_first == 300'000);
}

TEST_CASE("options do what they say") {
  const auto num_edges = [](const Instance& instance) {
    int edges = 0;
    for (int v = 0; v < instance.graph.num_ops(); ++v) {
      edges += static_cast<int>(instance.graph.predecessors(v).size());
    }
    return edges;
  };
  const PlantedOptions plain{.ops = 400, .devices = 4, .readers = 0, .ccr = 0.5};
  CHECK(num_edges(MakePlanted(plain)) == 0);
  PlantedOptions chains = plain;
  chains.chains = true;
  CHECK(num_edges(MakePlanted(chains)) == 396);  // all but the first of each device
  PlantedOptions dense = plain;
  dense.readers = 3;
  const Instance instance = MakePlanted(dense);
  CHECK(num_edges(instance) > 800);  // of 1200 drawn, some twice and some where none is late enough
  CHECK(num_edges(instance) <= 1200);
  double bytes = 0;
  for (const Tensor& tensor : instance.graph.tensors()) bytes += static_cast<double>(tensor.bytes);
  CHECK(bytes / 400 == doctest::Approx(50'000).epsilon(0.1));  // 0.5 * 100 us at 1 B/ns
  CHECK(nlohmann::json::parse(instance.graph.source()).at("optimum_ns") == 10'000'000);
  CHECK(FormatGraph(MakePlanted(dense).graph) == FormatGraph(instance.graph));
  dense.seed = 1;
  CHECK(FormatGraph(MakePlanted(dense).graph) != FormatGraph(instance.graph));
}

TEST_CASE("options out of range are refused with their range") {
  const auto refusal = [](const PlantedOptions& options) {
    return MessageOf<InputError>([&] { MakePlanted(options); });
  };
  CHECK(refusal({.devices = 65}) == "planted: devices: expected a number from 1 to 64, got 65");
  CHECK(refusal({.ops = 3, .devices = 4}) ==
        "planted: ops: expected a number from 4 to 10000000, got 3");
  CHECK(refusal({.readers = -1}) == "planted: readers: expected a number from 0 to 100, got -1");
  CHECK(refusal({.ccr = -0.5}) == "planted: ccr: expected a number from 0 to 1000, got -0.5");
  CHECK(refusal({.slowest = 0.5}) == "planted: slowest: expected a number from 1 to 100, got 0.5");
}

}  // namespace
