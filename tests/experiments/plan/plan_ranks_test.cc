#include "experiments/plan/plan_ranks.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/plan/ranks.h"
#include "tests/framework/plan/sharded_steps.h"
#include "tests/framework/plan/training_steps.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

/// A step on two GPUs whose links take 1 ns for a message, on one rank or half of it on each of
/// two.
PlanGraph GraphOfRanks(int ranks, const std::string& name = "all_reduce") {
  const double work = 2.0 / ranks;
  const Graph chain =
      ChainStep({.forward = 2 * work, .backward = 3 * work, .update = work, .activation = 4});
  RankStep rank = FirstRank(
      ranks == 1 ? std::make_shared<const Graph>(chain) : Sharded(chain, ranks, "ag", name),
      std::make_shared<const Cluster>(EqualGpus(2, 0, {1'000'000'000'000'000'000, 1})));
  PlanGraph graph{.size = 1};
  graph.setting.step = std::move(rank.step);
  graph.setting.cluster = std::move(rank.cluster);
  graph.setting.where = std::to_string(ranks) + " " + name;
  return graph;
}

// One sample. One GPU: 2 (4 + 6) of passes and 2 * 2 of updates. Two ranks, 2 ns for an all-reduce:
// f0 0-2, f1 4-6, b1 8-11, b0 13-16, updates of 2 * 1.
TEST_CASE("the best plan of graphs of one and two ranks") {
  const PlanSearchOptions options{.batch = 1, .seconds = 1e6, .layers = "f*"};
  const std::vector<PlanGraph> graphs = {GraphOfRanks(1), GraphOfRanks(2)};
  const PlanSearchResult result = SearchPlansOfRanks(graphs, options);
  REQUIRE(result.plans.size() > 1);
  CHECK(result.plans[0].graph == 1);
  CHECK(result.plans[0].step_time == 18);
  CHECK(std::ranges::any_of(result.plans, [](const FoundPlan& plan) {
    return plan.graph == 0 && plan.num_stages == 1 && plan.step_time == 24;
  }));
  const PlanSearchResult one = SearchPlans({graphs[0]}, options),
                         two = SearchPlans({graphs[1]}, options);
  CHECK(result.bound == std::min(one.bound, two.bound));
  CHECK(result.bound <= 18);
  CHECK(result.num_degrees == one.num_degrees + two.num_degrees);
  CHECK(result.simulated == one.simulated + two.simulated);
  REQUIRE(result.usual.size() == one.usual.size() + two.usual.size());
  CHECK(result.usual.front().name == one.usual.front().name + ", 1 all_reduce");
  CHECK(result.usual.back().name == two.usual.back().name + ", 2 all_reduce");
}

TEST_CASE("two ways of dividing a step among two ranks") {
  const PlanSearchOptions options{.batch = 1, .seconds = 1e6, .layers = "f*"};
  const std::vector<PlanGraph> graphs = {GraphOfRanks(2, "all_to_all"), GraphOfRanks(2)};
  const PlanSearchResult result = SearchPlansOfRanks(graphs, options);
  // n - 1 steps instead of 2 (n - 1) of three collectives.
  CHECK(result.plans[0].graph == 0);
  CHECK(result.plans[0].step_time == 15);
}

TEST_CASE("the tensor parallel size of a graph") {
  CHECK(TensorParallelSize("vllm", *GraphOfRanks(1).setting.step) == 1);
  CHECK(TensorParallelSize("vllm", *GraphOfRanks(2).setting.step) == 2);
  const auto gathers =
      Sharded(ChainStep({}), 2, "w", "all_gather", R"({"ranks":[0,1],"ahead":true})");
  CHECK(MessageOf<InputError>([&] { TensorParallelSize("vllm", *gathers); }) ==
        "--to vllm: the ranks of chain gather their parameters (op \"all_gather w0\", "
        "fully_shard); expected ranks that parallelize_module makes");
}

}  // namespace
