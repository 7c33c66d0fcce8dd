// Intervals of simulated step times from cost files.

#include "experiments/problem/step_interval.h"

#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace emplace;

namespace {

// Log ratios unit, 2 unit, 3 unit, ...
void AddSteps(CostTable& table, const std::string& graph, int count, double unit = 0.01) {
  for (int i = 1; i <= count; ++i) {
    table.held_out.push_back(
        {graph, fmt::format("random {}", i), 100, 100 * std::exp(unit * i), 3});
  }
}

TEST_CASE("the graph's own held-out steps decide if they are enough") {
  CostTable table;
  AddSteps(table, "g", 9);
  AddSteps(table, "h", 9, 0.1);
  // 5 +- 4.5 units (prediction_interval_test.cc).
  const StepInterval own = FindInterval(&table, "g", Semantics::kStream);
  CHECK(own.interval.low == doctest::Approx(std::exp(0.005)));
  CHECK(own.interval.high == doctest::Approx(std::exp(0.095)));
  CHECK(own.source == "9 held-out placements of g");
  CHECK(own.resolved == doctest::Approx(std::expm1(0.063)));  // prediction_interval_test.cc
  CHECK(FindInterval(&table, "h", Semantics::kStream).interval.high ==
        doctest::Approx(std::exp(0.95)));

  const StepInterval other = FindInterval(&table, "x", Semantics::kStream);
  CHECK(other.interval.held_out == 18);
  CHECK(std::isinf(other.resolved));  // of two graphs no two placements are compared
  CHECK(other.interval.high > own.interval.high);
  CHECK(other.source == "18 held-out placements of other graphs");

  table.held_out.erase(table.held_out.begin());
  const StepInterval few = FindInterval(&table, "g", Semantics::kStream);
  CHECK(few.interval.held_out == 17);
  CHECK(few.source == "17 held-out placements of this and other graphs");
  CHECK(few.resolved < own.resolved);  // of the eight of g, which are 0.07 apart at most
}

TEST_CASE("each semantics has its own interval") {
  CostTable table;
  AddSteps(table, "g", 9);
  const auto low = [&](Semantics semantics) {
    return FindInterval(&table, "g", semantics).interval.low;
  };
  CHECK(!FindInterval(&table, "g", Semantics::kQueue).interval.is_bounded());
  CHECK(FindInterval(&table, "g", Semantics::kInterference).source ==
        "the held-out placements of the costs are not simulated in interference semantics");
  const double as_executed = low(Semantics::kStream);
  // With neighbours the first number is that of interference semantics.
  for (HeldOutStep& step : table.held_out) step.stream_ns = 50, step.queue_ns = 25;
  CHECK(low(Semantics::kInterference) == as_executed);
  CHECK(low(Semantics::kStream) == doctest::Approx(2 * as_executed));
  CHECK(low(Semantics::kQueue) == doctest::Approx(4 * as_executed));
}

TEST_CASE("no interval, and why") {
  CHECK(!FindInterval(nullptr, "g", Semantics::kStream).interval.is_bounded());
  CHECK(FindInterval(nullptr, "g", Semantics::kStream).source == "no measured costs");
  CostTable table;
  CHECK(FindInterval(&table, "g", Semantics::kStream).source ==
        "the costs have no held-out placements");
  AddSteps(table, "g", 8);
  const StepInterval few = FindInterval(&table, "g", Semantics::kStream);
  CHECK(!few.interval.is_bounded());
  CHECK(few.interval.held_out == 8);
  CHECK(few.source == "8 held-out placements of g");
  CHECK(!FindInterval(&table, "x", Semantics::kStream).interval.is_bounded());
}

TEST_CASE("intervals as text") {
  CHECK(FormatRatios({.low = 0.968, .high = 1.0414}) == "-3.2 % .. +4.1 %");
  CHECK(FormatRatios({}) == "-");
  CHECK(FormatInterval({11.9e6, 12.9e6}) == "[11.90 ms .. 12.90 ms]");
}

}  // namespace
