#include "experiments/table/table_claims.h"

#include <cmath>

#include <doctest/doctest.h>

#include "tests/experiments/table/result_runs.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// Three rows: rl wins in a and b, loses in c.
ResultRuns Runs() {
  ResultRuns runs;
  AddRuns(runs, "a", "rl", {1, 1, 1});
  AddRuns(runs, "a", "expert", {2});
  AddRuns(runs, "b", "rl", {1, 2, 4});
  AddRuns(runs, "b", "expert", {3});
  AddRuns(runs, "c", "rl", {9, 9, 9});
  AddRuns(runs, "c", "expert", {3});
  return runs;
}

ClaimResult Check(const ResultRuns& runs, const std::string& claim) {
  const TableLayout layout = LayoutOf(
      "rows: [graph]\ncolumns: [{agent: rl}, {agent: expert}]\nclaims: [{text: t, confidence: V, " +
      claim + "}]");
  return MakeResultTable(layout, runs).claims.at(0);
}

TEST_CASE("every, some, most") {
  const ClaimResult every = Check(Runs(), "holds: rl <= expert");
  CHECK(every.verdict == Verdict::kDoesNotHold);
  CHECK(every.scope == "every");
  CHECK(every.rows_held == 2);
  CHECK(every.share == 0);
  REQUIRE(every.rows.size() == 3);
  CHECK(every.rows[1].verdict == Verdict::kHolds);
  CHECK(every.rows[1].left == doctest::Approx(2));
  CHECK(every.rows[1].right == doctest::Approx(3));
  // rl's median of three draws of {1, 2, 4} is above 3 if two or three of them are the 4:
  // 7 / 27 of the resamples.
  CHECK(every.rows[1].share == doctest::Approx(20.0 / 27).epsilon(0.03));
  CHECK(every.rows[2].verdict == Verdict::kDoesNotHold);
  CHECK(every.rows[2].share == 0);

  const ClaimResult some = Check(Runs(), "holds: rl <= expert, in: some");
  CHECK(some.verdict == Verdict::kHolds);
  CHECK(some.share == 1);
  CHECK(some.seeds.least == 3);
  CHECK(some.seeds.most == 3);
  const ClaimResult most = Check(Runs(), "holds: rl <= expert, in: most");
  CHECK(most.verdict == Verdict::kHolds);
  CHECK(most.share == every.rows[1].share);
  const ClaimResult half = Check(Runs(), "holds: rl > expert, in: most, where: {graph: a}");
  CHECK(half.verdict == Verdict::kDoesNotHold);
  CHECK(half.rows.size() == 1);
  CHECK(Check(Runs(), "holds: expert / rl - 1 >= 0.9, where: {graph: a}").verdict ==
        Verdict::kHolds);
}

TEST_CASE("most is more than half") {
  ResultRuns runs = Runs();
  std::erase_if(runs.runs, [](const ResultRun& run) { return run.keys.at("graph") == "b"; });
  CHECK(Check(runs, "holds: rl < expert, in: most").verdict == Verdict::kDoesNotHold);
}

TEST_CASE("a row that has not run leaves the claim open") {
  ResultRuns runs = Runs();
  for (ResultRun& run : runs.runs) {
    if (run.keys["graph"] == "b" && run.agent == "rl") run.progress = RunProgress::kStopped;
  }
  const ClaimResult claim = Check(runs, "holds: rl <= expert, in: some");
  CHECK(claim.verdict == Verdict::kOpen);
  CHECK(claim.rows_held == 1);
  CHECK(std::isnan(claim.share));
  CHECK(claim.rows[1].verdict == Verdict::kOpen);
  CHECK(claim.rows[1].missing == std::vector<std::string>{"rl"});
  CHECK(std::isnan(claim.rows[1].left));
  CHECK(Check({}, "holds: rl <= expert").verdict == Verdict::kOpen);
}

TEST_CASE("OOM: finite beats infinite, two infinite ones show nothing") {
  ResultRuns runs;
  AddRuns(runs, "a", "rl", {1});
  AddRuns(runs, "a", "expert", {kOom});
  CHECK(Check(runs, "holds: rl < expert").verdict == Verdict::kHolds);
  runs.runs[0].best_ns = kOom;
  CHECK(Check(runs, "holds: rl <= expert").verdict == Verdict::kDoesNotHold);
  CHECK(Check(runs, "holds: rl / expert <= 1").verdict == Verdict::kDoesNotHold);
}

TEST_CASE("where: of rows that are made by keys, also what all of their runs have") {
  ResultRuns runs = Runs();
  for (ResultRun& run : runs.runs) {
    if (run.keys["graph"] == "c") run.keys["cluster"] = "4xk80";
  }
  const TableLayout layout = LayoutOf(
      "columns: [{agent: rl}, {agent: expert}]\nclaims:\n"
      "  - {text: t, confidence: V, holds: rl <= expert, where: {semantics: queue, cluster: "
      "2xk80}}\n"
      "  - {text: t, confidence: V, holds: rl <= expert, where: {semantics: stream}}\n");
  const ResultTable table = MakeResultTable(layout, runs);
  CHECK(table.claims[0].rows.size() == 2);
  CHECK(table.claims[0].verdict == Verdict::kHolds);
  CHECK(table.claims[1].rows.empty());
  CHECK(table.claims[1].verdict == Verdict::kOpen);
}

// rl has 2 where 1.5 is known and 0.5 cannot be undercut; the expert has 3.
ResultRuns PossibleRuns() {
  ResultRuns runs;
  AddRuns(runs, "a", "rl", {2, 2, 2});
  AddRuns(runs, "a", "expert", {3});
  AddRuns(runs, "a", "search", {1.5, 1.8});
  for (ResultRun& run : runs.runs) run.bound.value = 500'000'000;
  runs.runs[0].bound.value = 600'000'000;  // of another problem: the least bound holds for all
  return runs;
}

TEST_CASE("what the method could have reached") {
  const auto check = [](const std::string& holds) {
    return Check(PossibleRuns(), "holds: " + holds + ", of: rl");
  };
  // 1 - 2 / 3 = 0.33; best known 1 - 1.5 / 3 = 0.5; bound 1 - 0.5 / 3 = 0.83.
  const ClaimResult reached = check("1 - rl / expert >= 0.3");
  CHECK(reached.verdict == Verdict::kHolds);
  const ClaimResult not_reached = check("1 - rl / expert >= 0.45");
  CHECK(not_reached.possible == Possibility::kKnown);
  REQUIRE(not_reached.rows.size() == 1);
  CHECK(not_reached.rows[0].best_left == doctest::Approx(0.5));
  CHECK(not_reached.rows[0].best_right == doctest::Approx(0.45));
  CHECK(not_reached.rows[0].bound_left == doctest::Approx(1 - 0.5 / 3));
  CHECK(check("1 - rl / expert >= 0.6").possible == Possibility::kNotKnown);
  CHECK(check("1 - rl / expert >= 0.9").possible == Possibility::kExcluded);
  // Neither the best nor the bound is 1.8, but a known placement is.
  CHECK(check("abs(rl / 1.8 - 1) <= 0.01").possible == Possibility::kKnown);
  // A claim that names no method.
  CHECK(Check(PossibleRuns(), "holds: rl > expert").possible == Possibility::kUnknown);
}

TEST_CASE("what could have been reached, with the scope of the claim and derived columns") {
  ResultRuns runs = PossibleRuns();
  AddRuns(runs, "b", "rl", {2});
  AddRuns(runs, "b", "expert", {1});
  const TableLayout layout = LayoutOf(
      "rows: [graph]\ncolumns: [{agent: rl}, {agent: expert},\n"
      "  {name: gain, formula: 100 * (1 - rl / expert), unit: ratio},\n"
      "  {name: percent, formula: 1 - rl / expert, unit: percent}]\nclaims:\n"
      "  - {text: t, confidence: V, holds: gain >= 40, of: rl, in: some}\n"
      "  - {text: t, confidence: V, holds: percent >= 40, of: rl, in: every}\n");
  const ResultTable table = MakeResultTable(layout, runs);
  CHECK(table.claims[0].possible == Possibility::kKnown);
  CHECK(table.claims[0].rows[0].best_left == doctest::Approx(50));
  // In b the best known is the expert itself: 0 %. No bound: what is known does not exclude it.
  CHECK(table.claims[1].possible == Possibility::kNotKnown);
  CHECK(table.claims[1].rows[1].best_left == doctest::Approx(0));
  CHECK(table.claims[1].rows[1].possible == Possibility::kNotKnown);
}

}  // namespace
