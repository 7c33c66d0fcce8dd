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

}  // namespace
