#include "agents/shared/part_draws.h"

#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <doctest/doctest.h>

#include "agents/shared/merged_groups.h"
#include "framework/base/error.h"
#include "tests/support/chains.h"
#include "tests/support/states.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr int kGroups = 32, kDevices = 3;

/// There are partitions into 2 and 8 parts.
std::shared_ptr<const Problem> SmallChain() {
  return Chain(kGroups, kDevices);
}

int NumParts(const PartDraws& draws) {
  return static_cast<int>(std::set<int>(draws.part().begin(), draws.part().end()).size());
}

TEST_CASE("the first updates draw parts from coarse to fine, later ones with a probability") {
  const auto problem = SmallChain();
  PartDraws draws({.first = 2, .share = 0.2, .probability = 0}, *problem, kGroups);
  Rng rng(1);
  draws.Restart(20, true);
  std::vector<int> parts;
  for (int update = 0; update < 6; ++update) {
    draws.Begin(update, 2, rng);
    parts.push_back(NumParts(draws));
  }
  CHECK(parts == std::vector<int>{2, 2, 8, 8, 0, 0});

  draws.Restart(20, false);  // the policy was pulled to a start
  draws.Begin(0, 2, rng);
  CHECK(draws.part().empty());

  PartDraws later({.first = 2, .share = 0, .probability = 0.5}, *problem, kGroups);
  later.Restart(1000, true);
  std::array<int, 9> count{};
  for (int update = 0; update < 1000; ++update) {
    later.Begin(update, 2, rng);
    ++count[NumParts(later)];
  }
  // about four standard deviations
  CHECK(std::abs(count[0] - 500) < 65);
  CHECK(std::abs(count[2] - 250) < 55);
  CHECK(count[0] + count[2] + count[8] == 1000);
}

TEST_CASE("partitions of which most placements do not fit are left for finer ones") {
  const auto problem = SmallChain();
  PartDraws draws({.first = 2, .share = 0.2, .probability = 1}, *problem, kGroups);
  Rng rng(1);
  draws.Restart(20, true);
  draws.Begin(0, 2, rng);
  CHECK(NumParts(draws) == 2);
  draws.End(0.5);
  draws.Begin(1, 2, rng);
  CHECK(NumParts(draws) == 2);
  draws.End(0.4);
  for (int update = 1; update < 20; ++update) {
    draws.Begin(update, 2, rng);
    CHECK(NumParts(draws) == 8);
    draws.End(0);  // the finest partition stays
  }
}

TEST_CASE("with few groups, or without parts, all draws are independent") {
  const auto problem = SmallChain();
  Rng rng(1), same(1);
  const auto has_parts = [&](int first, int num_groups) {
    PartDraws draws({.first = first, .share = 1, .probability = 1}, *problem, num_groups);
    draws.Restart(10, true);
    draws.Begin(0, 1, rng);
    return !draws.part().empty();
  };
  CHECK_FALSE(has_parts(0, kGroups));
  CHECK_FALSE(has_parts(17, kGroups));
  CHECK_FALSE(has_parts(2, kGroups - 1));  // of a policy with fewer groups than the problem
  CHECK(rng == same);
  CHECK(has_parts(16, kGroups));
}

TEST_CASE("parts are those of MergedGroups; groups of a part with equal distributions agree") {
  const auto problem = SmallChain();
  PartDraws draws({.first = 2, .share = 1}, *problem, kGroups);
  draws.Restart(2, true);
  Rng rng(3);
  draws.Begin(1, 2, rng);
  const std::vector<int> part(draws.part().begin(), draws.part().end());
  CHECK(part == MergedGroups(*problem, 8));
  Matrix log_probabilities(2, kDevices);
  log_probabilities.rowwise() = Eigen::RowVector3f(0.2F, 0.3F, 0.5F).array().log().matrix();
  std::set<std::vector<int>> chosen;
  for (int group = 0; group < kGroups; ++group) {
    const std::vector<int> of_group =
        draws.Draw(std::vector{0, 1}, std::vector(2, part[group]), log_probabilities);
    for (int other = 0; other < group; ++other) {
      if (part[other] != part[group]) continue;
      CHECK(draws.Draw(std::vector{0, 1}, std::vector(2, part[other]), log_probabilities) ==
            of_group);
    }
    chosen.insert(of_group);
  }
  CHECK(chosen.size() > 1);  // parts and rows differ
}

TEST_CASE("each group draws from its own distribution") {
  const auto problem = SmallChain();
  PartDraws draws({.first = 2, .share = 1}, *problem, kGroups);
  draws.Restart(1, true);
  constexpr int kDraws = 3000;
  Matrix log_probabilities(2, kDevices);
  log_probabilities << std::log(0.2F), std::log(0.3F), std::log(0.5F), std::log(0.9F),
      std::log(0.1F), -std::numeric_limits<float>::infinity();
  Rng rng(5);
  std::array<std::array<int, kDevices>, 2> count{};
  for (int i = 0; i < kDraws; ++i) {
    draws.Begin(0, 1, rng);
    const std::vector<int> devices =
        draws.Draw(std::vector{0, 0}, std::vector{1, 1}, log_probabilities);
    for (int group = 0; group < 2; ++group) ++count[group][devices[group]];
  }
  for (int group = 0; group < 2; ++group) {
    for (int d = 0; d < kDevices; ++d) {
      const double p = std::exp(log_probabilities(group, d));
      CAPTURE(p);
      // four standard deviations of a share of kDraws
      CHECK(std::abs(count[group][d] / double{kDraws} - p) <= 4 * std::sqrt(p * (1 - p) / kDraws));
    }
  }
  log_probabilities.setConstant(-std::numeric_limits<float>::infinity());
  CHECK_THROWS_AS(draws.Draw(std::vector{0, 0}, std::vector{0, 1}, log_probabilities), RunError);
}

TEST_CASE("a state holds the number of first updates and the coarsest partition") {
  const auto problem = SmallChain();
  const PartDrawConfig config = {.first = 2, .share = 0.5, .probability = 0};
  PartDraws draws(config, *problem, kGroups), read(config, *problem, kGroups);
  draws.Restart(10, true);
  Rng rng(1);
  draws.Begin(0, 1, rng);
  draws.End(0);
  ReadState(WrittenState([&](StateVisitor& v) { draws.VisitState(v); }),
            [&](StateVisitor& v) { read.VisitState(v); });
  read.Begin(0, 1, rng);
  CHECK(NumParts(read) == 8);
  read.Begin(5, 1, rng);
  CHECK(read.part().empty());
}

}  // namespace
