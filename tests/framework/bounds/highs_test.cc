#include "framework/bounds/highs.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "framework/bounds/lower_bound.h"
#include "framework/bounds/period_bound.h"
#include "framework/bounds/period_programme.h"
#include "tests/framework/bounds/random_choices.h"
#include "tests/support/layered_periods.h"
#include "tests/support/paths.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// Without the package highspy there is nothing to test; scripts/test installs it.
bool HighsIsThere() {
  if (std::getenv("EMPLACE_PYTHON") == nullptr) {
    MESSAGE("SKIPPED, NOT TESTED: no EMPLACE_PYTHON");
    return false;
  }
  const std::string why = WhyNoHighs();
  REQUIRE(why == "");
  return true;
}

TEST_CASE("HiGHS proves the least value of all choices") {
  if (!HighsIsThere()) return;
  Rng rng(4);
  int infeasible = 0;
  for (int trial = 0; trial < 12 * EMPLACE_TEST_SCALE; ++trial) {
    const RandomChoices random(rng);
    const double least = random.Least();
    infeasible += least == kNoLimit;
    for (const double cutoff : {1000.0, 8.0}) {
      HighsSearch search(random.model, random.choices, cutoff);
      double bound = -kNoLimit;
      std::vector<double> best;
      while (!search.ended()) {
        search.Poll(
            100,
            [&](double value) {
              CHECK(value > bound);
              bound = value;
            },
            [&](std::span<const double> solution) {
              best.assign(solution.begin(), solution.end());
            });
      }
      CHECK(search.failure() == "");
      CHECK(best.empty() == (least > cutoff));
      if (!best.empty()) CHECK(random.ValueOf(best) == doctest::Approx(least).epsilon(2e-6));
      if (least > cutoff) {
        CHECK(bound == cutoff);
      } else {
        CHECK(bound <= least);
        CHECK(bound == doctest::Approx(least).epsilon(2e-6));
      }
    }
  }
  CHECK(infeasible > 0);
}

TEST_CASE("HiGHS ends when the bound is within the gap") {
  if (!HighsIsThere()) return;
  using Clock = std::chrono::steady_clock;
  Rng rng(6);
  const auto problem = LayeredPeriod(rng, {.layers = 6, .num_devices = 4});
  const CompiledPeriod compiled(*problem);
  const PeriodProgramme programme(compiled, MostPeriod(compiled), {});
  const auto ends_within = [&](double gap, std::chrono::seconds time) {
    HighsSearch search(programme.model, programme.columns, kNoLimit, gap);
    const auto end = Clock::now() + time;
    while (!search.ended() && Clock::now() < end) search.Poll(100, [](double) {});
    return search.ended();
  };
  CHECK_FALSE(ends_within(0, std::chrono::seconds(3)));
  CHECK(ends_within(1000, std::chrono::seconds(60)));
}

TEST_CASE("HiGHS bounds the period by classes of devices") {
  if (!HighsIsThere()) return;
  Rng rng(9);
  const auto problem = LayeredPeriod(rng, {.layers = 12, .num_devices = 4});
  struct Proved {};
  const auto look = [](const LowerBound& bound) {
    if (bound.method == "classes") throw Proved();
  };
  CHECK_THROWS_AS(ProveBound(*problem, {.seconds = 60, .improved = look}), Proved);
}

TEST_CASE("a search of HiGHS can be left at any time") {
  if (!HighsIsThere()) return;
  Rng rng(5);
  for (int milliseconds : {0, 1, 300}) {
    HighsSearch search(RandomChoices(rng).model, {});
    search.Poll(milliseconds, [](double) {});
  }
}

TEST_CASE("a missing HiGHS is named") {
  const TempDir folder;
  SetHighsPython("no_such_python");
  CHECK(WhyNoHighs() == "no program \"no_such_python\"");
  SetHighsPython("/bin/false");
  CHECK(WhyNoHighs() == "its process ended without a result");
  const auto script = folder / "python";
  std::ofstream(script) << "#!/bin/sh\necho missing no package\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  SetHighsPython(script.string());
  CHECK(WhyNoHighs() == "no package");
  SetHighsPython("");  // as at the begin
}

}  // namespace
