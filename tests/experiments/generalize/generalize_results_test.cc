#include "experiments/generalize/generalize_results.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("the best known of a graph is that of whichever method") {
  const std::vector<Test> tests = {{.graph = 0, .method = 0, .best_step_time = 5},
                                   {.graph = 0, .method = 1, .best_step_time = kNan},
                                   {.graph = 0, .method = 2, .best_step_time = 3},
                                   {.graph = 2, .method = 0, .best_step_time = kNan}};
  const std::vector<double> best = BestKnown(tests, 3);
  REQUIRE(best.size() == 3);
  CHECK(best[0] == 3);
  CHECK(std::isnan(best[1]));
  CHECK(std::isnan(best[2]));
}

TEST_CASE("the table by hand") {
  GeneralizePlan plan;
  for (const char* label : {"good", "poor", "idle"}) {
    plan.test.emplace_back();
    plan.test.back().agent.label = label;
  }
  FamilyPlan family;
  family.config.name = "fam";
  FamilyResults results;
  results.graphs = {"g0", "g1"};
  // Best known: 100 and 200. good: final 1.1 and 1.2, best 1 and 1; poor: 1.5 and does not fit.
  results.tests = {{0, 0, 0, 110, 100, 4, 1.0},
                   {1, 0, 0, 240, 200, 6, 2.0},
                   {0, 1, 0, 150, 150, 1, 0.5},
                   {1, 1, 0, kNan, kNan, 1, 0.5}};
  results.failures = {"idle on graph \"g0\": broke"};
  CHECK(FormatFamily(plan, family, results) ==
        "fam   final 10 %  median   90 %  best 10 %  median   90 %  evaluations  seconds\n"
        "good       1.110   1.150  1.190      1.000   1.000  1.000            5     1.50\n"
        "poor         OOM     OOM    OOM        OOM     OOM    OOM            1     0.50\n"
        "failed: idle on graph \"g0\": broke\n");
}

}  // namespace
