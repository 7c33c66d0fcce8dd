#include "experiments/report/graph_layout.h"

#include <cmath>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("what dot says is read in points, downwards") {
  const GraphLayout layout = ParsePlainLayout(
      "graph 1 2 3\n"
      "node n1 0.5 0.25 1 0.5 \"\" solid box black lightgrey\n"
      "node n0 0.5 2.75 1 0.5 \"\" solid box black lightgrey\n"
      "edge n0 n1 4 0.5 2.5 0.5 2 0.5 1 0.5 0.5 solid black\n"
      "stop\n",
      2,
      {{0, 1}});
  CHECK(layout.width == 144);
  CHECK(layout.height == 216);
  CHECK(layout.nodes[0] == std::pair(36.0, 18.0));
  CHECK(layout.nodes[1] == std::pair(36.0, 198.0));
  REQUIRE(layout.edges[0].size() == 4);
  CHECK(layout.edges[0][1] == std::pair(36.0, 72.0));
}

TEST_CASE("text that dot would not write") {
  const auto message = [](const std::string& text) {
    return MessageOf<RunError>([&] { ParsePlainLayout(text, 1, {}); });
  };
  CHECK(message("graph 1 x 3\n") == "dot: wrote a line of unknown form: graph 1 x 3");
  CHECK(message("graph 1 1 1\nnode n7 1 1 1 1\n") ==
        "dot: wrote a line of unknown form: node n7 1 1 1 1");
  CHECK(message("graph 1 1 1\nnode n0 1 1 1 1\nedge n0 n1 4 1 1\n") ==
        "dot: wrote a line of unknown form: edge n0 n1 4 1 1");
  CHECK(message("graph 1 1 1\n") == "dot: placed 0 of 1 nodes and 0 of 0 edges");
}

TEST_CASE("a diamond: layers in order, no boxes over one another") {
  const std::vector<LayoutNode> nodes(4, {1, 0.5});
  const std::vector<LayoutEdge> edges = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  for (const bool left_to_right : {false, true}) {
    const auto layout = LayOutGraph(nodes, edges, left_to_right, 60);
    REQUIRE(layout);
    const auto along = [&](int node) {
      return left_to_right ? layout->nodes[node].first : layout->nodes[node].second;
    };
    CHECK(along(0) < along(1));
    CHECK(along(1) == along(2));
    CHECK(along(2) < along(3));
    for (int a = 0; a < 4; ++a) {
      CHECK(layout->nodes[a].first >= 36);
      CHECK(layout->nodes[a].first <= layout->width - 35.9);
      for (int b = 0; b < a; ++b) {
        const double dx = std::abs(layout->nodes[a].first - layout->nodes[b].first);
        const double dy = std::abs(layout->nodes[a].second - layout->nodes[b].second);
        CHECK((dx >= 72 || dy >= 36));
      }
    }
    for (const auto& path : layout->edges) CHECK(path.size() % 3 == 1);
    CHECK(LayOutGraph(nodes, edges, left_to_right, 60)->nodes == layout->nodes);
  }
}

TEST_CASE("dot is given up when its time is over") {
  std::vector<LayoutNode> nodes(3000, {1, 0.5});
  std::vector<LayoutEdge> edges;
  for (int i = 0; i < 3000; ++i) {
    for (int k = 1; k < 6; ++k) edges.push_back({i, (i + k * 37) % 3000});
  }
  CHECK_FALSE(LayOutGraph(nodes, edges, false, 0).has_value());
}

}  // namespace
