#include "agents/placeto/placeto_graph.h"

#include <doctest/doctest.h>

#include "tests/agents/placeto/plain_placeto.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

using Groups = std::vector<int>;

std::shared_ptr<const Problem> Diamond() {
  ProblemBuilder builder = Gpus(2);
  const int a = builder.Op("a", {1}), b = builder.Op("b", {1}, {a}), c = builder.Op("c", {1}, {a});
  builder.Op("d", {1}, {b, c});
  return builder.Build();
}

TEST_CASE("a diamond: parents, children and pools by hand") {
  const PlacetoGraph graph(*Diamond());
  Matrix parents(4, 4);   // row: the child
  parents << 0, 0, 0, 0,  //
      1, 0, 0, 0,         //
      1, 0, 0, 0,         //
      0, 1, 1, 0;
  CHECK(Matrix(*graph.parents()) == parents);
  CHECK(Matrix(*graph.children()) == parents.transpose());
  CHECK(graph.has_parent() == Matrix{{0}, {1}, {1}, {1}});
  CHECK(graph.has_child() == Matrix{{1}, {1}, {1}, {0}});
  CHECK(graph.num_groups() == 4);
  CHECK(graph.members(Pool::kAncestors, 0).empty());
  CHECK(graph.members(Pool::kDescendants, 0) == Groups{1, 2, 3});
  CHECK(graph.members(Pool::kParallel, 0).empty());
  CHECK(graph.members(Pool::kAncestors, 1) == Groups{0});
  CHECK(graph.members(Pool::kDescendants, 1) == Groups{3});
  CHECK(graph.members(Pool::kParallel, 1) == Groups{2});

  const PlacetoGraph mean(*Diamond(), true);
  CHECK(Matrix(*mean.parents()).row(3) == Matrix{{0, 0.5F, 0.5F, 0}});
  CHECK(Matrix(*mean.children()).row(0) == Matrix{{0, 0.5F, 0.5F, 0}});
}

TEST_CASE("pitfall: pools hold all transitive ancestors and descendants, not parents only") {
  ProblemBuilder builder;
  builder.Device("gpu:0");
  int last = builder.Op("op0", {1});
  for (int i = 1; i < 5; ++i) last = builder.Op("op" + std::to_string(i), {1}, {last});
  const PlacetoGraph graph(*builder.Build());
  CHECK(graph.members(Pool::kAncestors, 3) == Groups{0, 1, 2});
  CHECK(graph.members(Pool::kDescendants, 1) == Groups{2, 3, 4});
  CHECK(graph.members(Pool::kParallel, 2).empty());
  CHECK(Matrix(*graph.parents()).sum() == 4);
}

TEST_CASE("groups that depend on each other are parents both ways; pools follow their order") {
  ProblemBuilder builder;
  builder.Device("gpu:0");
  // Forward ops 0, 1, 2 and their gradients 2', 1', 0', each gradient with its forward op: every
  // group reads from the next one, too.
  int last = builder.Op("f0", {1});
  for (const char* name : {"f1", "f2", "g2", "g1", "g0"}) last = builder.Op(name, {1}, {last});
  const std::vector<int> labels = {0, 1, 2, 2, 1, 0};
  const PlacetoGraph graph(*builder.Build(Grouping(labels)));
  Matrix parents(3, 3);
  parents << 0, 1, 0,  // g1 -> g0
      1, 0, 1,         // f0 -> f1, g2 -> g1
      0, 1, 0;         // f1 -> f2
  CHECK(Matrix(*graph.parents()) == parents);
  CHECK(Matrix(*graph.children()) == parents.transpose());
  CHECK(graph.members(Pool::kAncestors, 0).empty());
  CHECK(graph.members(Pool::kDescendants, 0) == Groups{1, 2});
  CHECK(graph.members(Pool::kAncestors, 1) == Groups{0});
  CHECK(graph.members(Pool::kAncestors, 2) == Groups{0, 1});
}

TEST_CASE("a control edge makes a parent as well") {
  ProblemBuilder builder;
  builder.Device("gpu:0");
  builder.Op("a", {1});
  const int b = builder.Op("b", {1});
  builder.op(b).control_inputs.push_back(0);
  CHECK(PlacetoGraph(*builder.Build()).members(Pool::kAncestors, 1) == Groups{0});
}

void CheckAgainstPlain(const Problem& problem) {
  const plain::Relation parents = plain::Parents(problem),
                        reaches = plain::Closure(problem, parents);
  const PlacetoGraph sum(problem), mean(problem, true);
  const int n = problem.num_groups();
  const Matrix parent_sums = *sum.parents(), parent_means = *mean.parents();
  const Matrix child_sums = *sum.children(), child_means = *mean.children();
  for (int v = 0; v < n; ++v) {
    const Groups above = plain::Members(parents, v, true),
                 below = plain::Members(parents, v, false);
    CHECK(sum.has_parent()(v, 0) == !above.empty());
    CHECK(mean.has_child()(v, 0) == !below.empty());
    Groups parallel;
    for (int u = 0; u < n; ++u) {
      REQUIRE(parent_sums(v, u) == parents[u][v]);
      REQUIRE(child_sums(v, u) == parents[v][u]);
      const double share = parents[u][v] ? 1.0 / static_cast<double>(above.size()) : 0;
      REQUIRE(parent_means(v, u) == doctest::Approx(share));
      const double back = parents[v][u] ? 1.0 / static_cast<double>(below.size()) : 0;
      REQUIRE(child_means(v, u) == doctest::Approx(back));
      if (u != v && !reaches[u][v] && !reaches[v][u]) parallel.push_back(u);
      REQUIRE_FALSE((reaches[u][v] && reaches[v][u]));  // no cycle is left
    }
    CHECK(sum.members(Pool::kAncestors, v) == plain::Members(reaches, v, true));
    CHECK(sum.members(Pool::kDescendants, v) == plain::Members(reaches, v, false));
    CHECK(sum.members(Pool::kParallel, v) == parallel);
  }
}

TEST_CASE("closures are those of Floyd and Warshall, with one op or several in a group") {
  Rng rng(2);
  for (int trial = 0; trial < 20 * EMPLACE_TEST_SCALE; ++trial) {
    CAPTURE(trial);
    CheckAgainstPlain(*RandomProblem(rng, {.num_ops = 1 + UniformInt(rng, 30)}));
    CheckAgainstPlain(*MixedProblem(rng, 1 + UniformInt(rng, 40), 2, kUnlimitedMemory));
  }
}

}  // namespace
