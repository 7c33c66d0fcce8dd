#include "agents/hybrid/elite_distributions.h"

#include <sstream>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Four ops of equal cost on three devices that may be of one kind; the last one has no choice.
std::shared_ptr<const Problem> FourOps(bool one_kind) {
  ProblemBuilder builder;
  for (const char* name : {"gpu:0", "gpu:1", "gpu:2"}) builder.Device(name);
  builder.AllToAll(1, kGigabytePerSecond);
  for (const char* name : {"a", "b", "c"}) builder.Op(name, {10, 10, 10});
  builder.Op("d", {kMaxNanos, kMaxNanos, 10});
  const auto problem = builder.Build();
  return one_kind ? WithEqualKinds(*problem) : problem;
}

std::vector<const Placement*> To(const std::vector<Placement>& placements) {
  std::vector<const Placement*> all;
  for (const Placement& placement : placements) all.push_back(&placement);
  return all;
}

TEST_CASE("the best of three elites counts three times, the next twice, the worst once") {
  const auto problem = FourOps(false);
  EliteDistributions distributions(*problem, {.epsilon = 0.3});
  const std::vector<Placement> elites = {{{0, 0, 1, 2}}, {{0, 1, 1, 2}}, {{2, 1, 1, 2}}};
  distributions.Begin(To(elites));
  // Shares: a 5/6 on 0 and 1/6 on 2; b 3/6 on 0 and 3/6 on 1; c 1 on 1. Then 0.7 of them + 0.1.
  Matrix p = distributions.Probabilities();
  CHECK(p(0, 0) == doctest::Approx(0.7 * 5 / 6 + 0.1));
  CHECK(p(0, 1) == doctest::Approx(0.1));
  CHECK(p(0, 2) == doctest::Approx(0.7 / 6 + 0.1));
  CHECK(p(1, 0) == doctest::Approx(0.45));
  CHECK(p(1, 1) == doctest::Approx(0.45));
  CHECK(p(2, 1) == doctest::Approx(0.8));
  CHECK(p(3, 0) == 0);
  CHECK(p(3, 2) == 1);
  CHECK(distributions.Mode().device[0] == 0);
  CHECK(distributions.Mode().device[2] == 1);

  // A quarter of the way to {1, 1, 1}.
  distributions.Learn(To({{{1, 1, 1, 2}}}), 0.25);
  p = distributions.Probabilities();
  CHECK(p(0, 1) == doctest::Approx(0.7 * (0.25 + 0.75 * 0.1) + 0.1));
  CHECK(p(2, 1) == doctest::Approx(0.7 * (0.25 + 0.75 * 0.8) + 0.1));
}

TEST_CASE("elites that differ by the names of equal devices agree once they are aligned") {
  const std::vector<Placement> elites = {{{0, 0, 1, 2}}, {{1, 1, 0, 2}}};
  const auto share_on_first = [&](bool one_kind, bool align) {
    const auto problem = FourOps(one_kind);
    EliteDistributions distributions(*problem, {.align = align});
    distributions.Begin(To(elites));
    return distributions.Probabilities()(0, 0);
  };
  CHECK(share_on_first(true, true) == doctest::Approx(1));
  CHECK(share_on_first(true, false) == doctest::Approx(2.0 / 3));
  CHECK(share_on_first(false, true) == doctest::Approx(2.0 / 3));
}

TEST_CASE("elites are aligned with the most likely placement, whichever is the best now") {
  const auto problem = FourOps(true);
  EliteDistributions distributions(*problem, {});
  distributions.Begin(To({{{0, 0, 1, 2}}}));
  distributions.Learn(To({{{1, 1, 0, 2}}}), 0.5);
  CHECK(distributions.Probabilities()(0, 0) == doctest::Approx(1));
}

}  // namespace
