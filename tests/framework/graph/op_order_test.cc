#include "framework/graph/op_order.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/framework/graph/random_graph.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::string OrderErrorOf(const Graph& graph, const std::vector<int>& order) {
  return MessageOf<InputError>([&] { RequireOpOrder(graph, order, "here"); });
}

TEST_CASE("an order of ops holds each once, behind all that it awaits") {
  const Graph graph("net",
                    {Tensor{.name = "t"}},
                    {Op{.name = "a", .inputs = {0}},
                     Op{.name = "b", .outputs = {0}},
                     Op{.name = "c", .control_inputs = {1}}});
  RequireOpOrder(graph, std::vector<int>{1, 0, 2}, "here");
  RequireOpOrder(graph, std::vector<int>{1, 2, 0}, "here");
  CHECK(OrderErrorOf(graph, {1, 2}) ==
        "here: has 2 ops, expected each of the 3 ops of graph \"net\" once");
  CHECK(OrderErrorOf(graph, {1, -1, 0}) == "here: position 1 is op -1, expected 0 to 2");
  CHECK(OrderErrorOf(graph, {1, 2, 3}) == "here: position 2 is op 3, expected 0 to 2");
  CHECK(OrderErrorOf(graph, {1, 2, 1}) == "here: op \"b\" is listed twice, again at position 2");
  CHECK(OrderErrorOf(graph, {0, 1, 2}) ==
        "here: op \"a\" at position 0 depends on op \"b\", which comes after it");
  CHECK(OrderErrorOf(graph, {2, 1, 0}) ==
        "here: op \"c\" at position 0 depends on op \"b\", which comes after it");
}

TEST_CASE("random: an order with two dependent ops swapped is refused, others are not") {
  int refused = 0;
  for (int seed = 0; seed < 100 * EMPLACE_TEST_SCALE; ++seed) {
    Rng rng(seed);
    const Graph graph = RandomGraph(rng, 2 + UniformInt(rng, 20));
    const auto topological = graph.topological_order();
    std::vector<int> order(topological.begin(), topological.end());
    CAPTURE(seed);
    RequireOpOrder(graph, order, "here");
    const int i = UniformInt(rng, graph.num_ops() - 1);
    std::swap(order[i], order[i + 1]);
    const auto before = graph.predecessors(order[i]);
    const bool is_wrong = std::ranges::count(before, order[i + 1]) > 0;
    CHECK((OrderErrorOf(graph, order).find("depends on") != std::string::npos) == is_wrong);
    refused += is_wrong;
  }
  CHECK(refused > 0);
}

}  // namespace
