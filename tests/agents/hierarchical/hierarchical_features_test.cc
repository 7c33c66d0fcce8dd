#include "agents/hierarchical/hierarchical_features.h"

#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include <doctest/doctest.h>

#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Four ops in three units on two devices:
//
//   weights (parameter, 100 B) -> mul -> add -> out       units {weights, mul}, {add}, {out}
//                  \-> out                                control edge from add to out
//
// "out" may not run on gpu:0.
std::shared_ptr<const Problem> Small() {
  ProblemBuilder builder;
  builder.Device("cpu:0");
  builder.Device("gpu:0");
  builder.AllToAll(1, kGigabytePerSecond);
  const int weights = builder.Op("weights", {0}, {}, 100);
  builder.op(weights).kind = "parameter";
  builder.output(weights).role = TensorRole::kParameter;
  builder.output(weights).shape = {5, 5};
  const int mul = builder.Op("mul", {20, 10}, {weights}, 40);
  builder.op(mul).kind = "Mul";
  builder.output(mul).shape = {2, 1, 5};
  builder.AddOutput(mul, "mul:1", 400);
  builder.output(mul, 1).shape = {1, 2, 3, 4, 5};
  const int add = builder.Op("add", {6, 4}, {mul}, 8);
  builder.op(add).kind = "Add";
  const int out = builder.Op("out", {3, kMaxNanos}, {add, weights}, 16);
  builder.op(out).kind = "Add";
  builder.op(out).control_inputs = {add};
  builder.output(out).shape = {4};
  return builder.Build(Grouping(std::vector<int>{0, 0, 1, 2}), ProblemChecks::kPlacementOnly);
}

std::vector<float> Row(const Matrix& matrix, int row) {
  return {matrix.row(row).begin(), matrix.row(row).end()};
}

std::vector<float> Padded(std::vector<float> values, std::size_t size) {
  values.resize(size, -1);
  return values;
}

TEST_CASE("facts about the units of a small graph") {
  const UnitFeatures units(*Small());
  CHECK(units.num_units() == 3);
  CHECK(units.num_devices() == 2);
  CHECK(units.num_ops == std::vector<int>{2, 1, 1});
  CHECK(units.kinds == std::vector<std::string>{"Add", "Mul", "parameter"});
  Matrix counts(3, 3);
  counts << 0, 1, 1, 1, 0, 0, 1, 0, 0;
  CHECK(Matrix(units.kind_counts) == counts);
  // The largest outputs first: 400 B, 100 B, 40 B; four dimensions of each.
  CHECK(Row(units.shapes, 0) == Padded({1, 2, 3, 4, 5, 5, -1, -1, 2, 1, 5, -1}, 24));
  CHECK(Row(units.shapes, 1) == Padded({}, 24));
  CHECK(Row(units.shapes, 2) == Padded({4}, 24));
  // Positions 0, 1/3, 2/3. `out` reads 100 B of the first unit and 8 B of `add`.
  const float first = 0, second = 1.0F / 3, third = 2.0F / 3;
  CHECK(units.position == std::vector<float>{first, second, third});
  std::vector<float> expected = Padded({}, 12);
  expected[6] = third, expected[7] = second;
  CHECK(Row(units.neighbors, 0) == expected);
  expected = Padded({first}, 12);
  expected[6] = third;
  CHECK(Row(units.neighbors, 1) == expected);
  CHECK(Row(units.neighbors, 2) == Padded({first, second}, 12));
  Matrix costs(3, 2), bytes(3, 2);
  costs << 20, 10, 6, 4, 3, -1;
  bytes << 100, 440, 0, 8, 0, 16;
  CHECK(units.costs == costs);
  CHECK(units.bytes == bytes);
  REQUIRE(units.edges.size() == 3);
  CHECK((units.edges[0].from == 0 && units.edges[0].to == 1 && units.edges[0].bytes == 40));
  CHECK((units.edges[1].from == 0 && units.edges[1].to == 2 && units.edges[1].bytes == 100));
  CHECK((units.edges[2].from == 1 && units.edges[2].to == 2 && units.edges[2].bytes == 8));
}

// Mean costs 15, 5 and 3: `out` is merged first, with the unit from which it reads 100 B.
TEST_CASE("the partition of the units") {
  CHECK(UnitFeatures(*Small()).part.empty());
  CHECK(UnitFeatures(*Small(), 2).part == std::vector<int>{0, 1, 0});
  CHECK(UnitFeatures(*Small(), 9).part == std::vector<int>{0, 1, 2});
}

TEST_CASE("the grouper's input: scaling, columns by setting, standardised columns") {
  const UnitFeatures units(*Small());
  const Matrix published = GrouperInput(units, {false, false, false}, false);
  CHECK(published.cols() == 24 + 12);
  CHECK(published(0, 1) == doctest::Approx(std::log(3.0) / 10));
  CHECK(published(0, 6) == -1);
  CHECK(published(0, 24) == -1);
  CHECK(published(0, 30) == doctest::Approx(2.0 / 3));
  const Matrix all = GrouperInput(units, {}, false);
  CHECK(all.cols() == 24 + 12 + 2 + 2 + 11);
  CHECK(all.leftCols(36) == published);
  CHECK(all(2, 36) == doctest::Approx(std::log(4.0) / 20));
  CHECK(all(2, 37) == -1);
  CHECK(all(0, 38) == doctest::Approx(std::log(101.0) / 20));
  CHECK(all(2, 40) == doctest::Approx(2.0 / 3));
  CHECK(all(2, 41) == doctest::Approx(std::sin(std::numbers::pi * 2 / 3)));
  CHECK(all(2, 44) == doctest::Approx(std::cos(2 * std::numbers::pi * 2 / 3)));
  const Matrix standard = GrouperInput(units, {}, true);
  for (int c = 0; c < standard.cols(); ++c) {
    CAPTURE(c);
    const Matrix column = standard.col(c);
    CHECK(std::abs(column.mean()) < 1e-5);
    const bool constant = all.col(c).maxCoeff() == all.col(c).minCoeff();
    CHECK(column.squaredNorm() / 3 == doctest::Approx(constant ? 0 : 1).epsilon(1e-4));
  }
}

TEST_CASE("the placer's sequence: groups with units only, sums over them, all producers") {
  const auto problem = Small();
  const UnitFeatures units(*problem);
  // Groups 0, 2, 3 of 4 have a unit; `out` alone may not run on device 1.
  const std::vector<int> grouping{3, 0, 2};
  const GroupSequence by_id = MakeGroupSequence(*problem, units, grouping, 4, {}, false);
  CHECK(by_id.groups == std::vector<int>{0, 2, 3});
  Matrix allowed(3, 2);
  allowed << 1, 1, 1, 0, 1, 1;
  CHECK(by_id.allowed == allowed);
  REQUIRE(by_id.input.cols() == PlacerInputWidth(units, 4, {}));
  REQUIRE(by_id.input.cols() == 3 + 24 + 4 + 2 + 2 + 2);
  CHECK(std::vector<float>(by_id.input.row(2).begin(), by_id.input.row(2).begin() + 3) ==
        std::vector<float>{0, 0.5F, 0.5F});
  // First dimensions of the largest outputs: 1 (group 3), none, 4; mean 5 / 3.
  CHECK(by_id.input(2, 3) == doctest::Approx(1 / (5.0 / 3)));
  CHECK(by_id.input(0, 3) == 0);
  CHECK(by_id.input(1, 3) == doctest::Approx(4 / (5.0 / 3)));
  // `out` reads both other units; every group its own column.
  Matrix adjacency(3, 4);
  adjacency << 1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1;
  CHECK(Matrix(by_id.input.middleCols(27, 4)) == adjacency);
  CHECK(by_id.input(2, 31) == doctest::Approx(20 / (29.0 / 3)));
  CHECK(by_id.input(1, 32) == 0);
  CHECK(by_id.input(2, 33) == doctest::Approx(3));  // all resident bytes of three groups
  CHECK(by_id.input(1, 35) == doctest::Approx(2.0 / 3));
  CHECK(by_id.input(1, 36) == doctest::Approx(0).epsilon(1e-3));

  const GroupSequence by_position = MakeGroupSequence(*problem, units, grouping, 4, {}, true);
  CHECK(by_position.groups == std::vector<int>{3, 0, 2});
  CHECK(by_position.input.row(0) == by_id.input.row(2));
  CHECK(by_position.allowed.row(2) == by_id.allowed.row(1));

  // Two units in one group: positions 0 and 2/3, mean 1/3, deviation 1/3; ops of two units.
  const GroupSequence two =
      MakeGroupSequence(*problem, units, std::vector<int>{1, 0, 1}, 2, {}, false);
  CHECK(two.input(1, 0) == doctest::Approx(1.0 / 3));
  CHECK(two.input(1, 3 + 24 + 2 + 4) == doctest::Approx(1.0 / 3));
  CHECK(two.input(1, 3 + 24 + 2 + 5) == doctest::Approx(1.0 / 3));
  CHECK(two.allowed.row(1) == Matrix::Ones(1, 2));
  const GroupSequence published =
      MakeGroupSequence(*problem, units, grouping, 4, {false, false, false}, false);
  CHECK(published.input == Matrix(by_id.input.leftCols(3 + 24 + 4)));
}

TEST_CASE("a unit that may not run on its group's device goes where it is fastest") {
  ProblemBuilder builder = Gpus(3);
  builder.Op("a", {kMaxNanos, 7, 5});
  builder.Op("b", {1, kMaxNanos, 1});
  builder.Op("c", {9, 9, 9});
  const auto problem = builder.Build(Grouping::Identity(3), ProblemChecks::kPlacementOnly);
  const std::vector<int> grouping{0, 0, 1};
  const auto placed = [&](std::vector<int> devices) {
    return PlaceUnits(*problem, grouping, devices).device;
  };
  CHECK(placed({0, 1}) == std::vector<DeviceIndex>{2, 0, 1});
  CHECK(placed({1, 2}) == std::vector<DeviceIndex>{1, 0, 2});
}

// On random problems: the same numbers from plain loops over the ops.
TEST_CASE("sums over random groupings") {
  Rng rng(3);
  for (int trial = 0; trial < 20; ++trial) {
    const auto problem = MixedProblem(rng, 1 + UniformInt(rng, 40), 2, 1000);
    const UnitFeatures units(*problem);
    const int num_groups = 1 + UniformInt(rng, problem->num_groups());
    std::vector<int> grouping(problem->num_groups());
    for (int& group : grouping) group = UniformInt(rng, num_groups);
    const GroupSequence sequence =
        MakeGroupSequence(*problem, units, grouping, num_groups, {}, trial % 2 == 0);
    CHECK(std::set<int>(sequence.groups.begin(), sequence.groups.end()) ==
          std::set<int>(grouping.begin(), grouping.end()));
    const int adjacency = static_cast<int>(units.kinds.size()) + 24;
    const Graph& graph = problem->graph();
    const auto group_of = [&](int op) { return grouping[problem->grouping().group_of(op)]; };
    std::set<std::pair<int, int>> reads;
    for (int v = 0; v < graph.num_ops(); ++v) {
      reads.emplace(group_of(v), group_of(v));
      for (int from : graph.predecessors(v)) reads.emplace(group_of(v), group_of(from));
    }
    for (std::size_t i = 0; i < sequence.groups.size(); ++i) {
      for (int other = 0; other < num_groups; ++other) {
        CHECK(sequence.input(i, adjacency + other) ==
              static_cast<float>(reads.count({sequence.groups[i], other})));
      }
      for (int d = 0; d < problem->num_devices(); ++d) {
        bool allowed = false;
        double cost = 0, all = 0;
        for (int v = 0; v < graph.num_ops(); ++v) {
          const int unit = problem->grouping().group_of(v);
          if (!problem->allowed(unit, d)) continue;
          all += static_cast<double>(problem->costs().at(v, d));
          if (group_of(v) != sequence.groups[i]) continue;
          allowed = true;
          cost += static_cast<double>(problem->costs().at(v, d));
        }
        CHECK((sequence.allowed(i, d) != 0) == allowed);
        const double mean = all / static_cast<double>(sequence.groups.size());
        CHECK(sequence.input(i, adjacency + num_groups + d) ==
              doctest::Approx(all > 0 ? cost / mean : 0).epsilon(1e-4));
      }
    }
  }
}

}  // namespace
