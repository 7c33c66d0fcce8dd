#include "framework/graph/cycle.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/random.h"

namespace emplace::internal {
namespace {

using Vertices = std::vector<int>;

Adjacency MakeRows(const std::vector<Vertices>& rows) {
  Adjacency result;
  for (const Vertices& row : rows) {
    result.values.insert(result.values.end(), row.begin(), row.end());
    result.offsets.push_back(static_cast<int>(result.values.size()));
  }
  return result;
}

std::string Describe(int length) {
  Vertices cycle;
  for (int v = 1; v <= length; ++v) cycle.push_back(v % length);
  const std::vector<std::string> names{"a", "b", "c", "d", "e", "f"};
  return DescribeCycle(
      cycle, [&](int v) -> std::string_view { return names[v]; }, "ops");
}

TEST_CASE("the cycle ends with its least vertex, whatever leads to it") {
  CHECK(FindCycle(MakeRows({{1, 2}, {3}, {3}, {}})).empty());
  CHECK(FindCycle(MakeRows({})).empty());
  CHECK(FindCycle(MakeRows({{1}, {2}, {3}, {1}})) == Vertices{2, 3, 1});
  CHECK(FindCycle(MakeRows({{0}})) == Vertices{0});
  CHECK(FindCycle(MakeRows({{}, {3}, {1}, {2}})) == Vertices{3, 2, 1});
}

TEST_CASE("at most five are named") {
  CHECK(Describe(1) == "\"a\" -> \"a\"");
  CHECK(Describe(2) == "\"b\" -> \"a\" -> \"b\"");
  CHECK(Describe(5) == "\"b\" -> \"c\" -> \"d\" -> \"e\" -> \"a\" -> \"b\"");
  CHECK(Describe(6) == "\"b\" -> \"c\" -> \"d\" -> \"e\" -> \"f\" -> ... (6 ops) -> \"b\"");
}

TEST_CASE("random graphs: what is found is a cycle, and nothing only if an order exists") {
  int found = 0;
  for (int seed = 0; seed < 300 * EMPLACE_TEST_SCALE; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const int n = 1 + UniformInt(rng, 12);
    std::vector<Vertices> rows(n);
    std::vector<int> missing(n);
    for (int edges = UniformInt(rng, 2 * n); edges > 0; --edges) {
      const int from = UniformInt(rng, n), to = UniformInt(rng, n);
      if (std::find(rows[from].begin(), rows[from].end(), to) != rows[from].end()) continue;
      rows[from].push_back(to);
      ++missing[to];
    }
    const Vertices cycle = FindCycle(MakeRows(rows));
    for (size_t i = 0; i < cycle.size(); ++i) {
      const Vertices& row = rows[cycle[i]];
      CHECK(std::find(row.begin(), row.end(), cycle[(i + 1) % cycle.size()]) != row.end());
      CHECK(cycle[i] >= cycle.back());
    }
    // Taking away vertices that wait for none leaves nothing if and only if there is no cycle.
    Vertices order;
    for (int v = 0; v < n; ++v) {
      if (missing[v] == 0) order.push_back(v);
    }
    for (size_t i = 0; i < order.size(); ++i) {
      for (const int next : rows[order[i]]) {
        if (--missing[next] == 0) order.push_back(next);
      }
    }
    CHECK(cycle.empty() == (static_cast<int>(order.size()) == n));
    found += !cycle.empty();
  }
  CHECK(found > 50);
}

}  // namespace
}  // namespace emplace::internal
