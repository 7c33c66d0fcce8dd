#include "experiments/table/row_values.h"

#include <cmath>

#include <doctest/doctest.h>

#include "framework/results/results_file.h"
#include "tests/experiments/table/result_runs.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

RowValues ValuesOf(const TableLayout& layout, const ResultRuns& runs) {
  std::vector<const ResultRun*> row;
  for (const ResultRun& run : runs.runs) row.push_back(&run);
  return {layout.columns, layout.order, layout.unit, "row", row};
}

TEST_CASE("the best known and the bound are of all runs of the row") {
  ResultRuns runs;
  AddRuns(runs, "g", "rl", {3, 2});
  AddRuns(runs, "g", "expert", {4});
  AddRuns(runs, "g", "single_gpu", {kOom});
  for (ResultRun& run : runs.runs) run.bound.value = 1'000'000'000;
  runs.runs[2].bound.value = 500'000'000;
  runs.runs.push_back(MakeRun("g", "rl", 2, 1));
  runs.runs.back().progress = RunProgress::kStopped;
  const RowValues values = ValuesOf(
      LayoutOf("columns: [{agent: rl}, {name: known, value: best_known}, {name: least, value: "
               "bound}, {name: of_expert, value: best_known, agent: expert}]"),
      runs);
  CHECK(values.column(1).value == doctest::Approx(2));
  CHECK(!IntervalOf(values.column(1)));
  CHECK(values.column(2).value == doctest::Approx(0.5));
  CHECK(values.column(3).value == doctest::Approx(4));
  CHECK(values.known_times() == std::vector<double>{2, 3, 4});
  CHECK(values.bound() == doctest::Approx(0.5));
}

TEST_CASE(
    "speed-ups are over the best single device, which is the same for all runs of a problem") {
  ResultRuns runs;
  AddRuns(runs, "g", "rl", {3, 2});
  AddRuns(runs, "g", "expert", {4});
  AddRuns(runs, "g", "metis", {kOom});
  for (ResultRun& run : runs.runs) run.best_single_device_ns = 6e9;
  AddRuns(runs, "g", "older", {1});  // its file does not say it
  const RowValues values = ValuesOf(
      LayoutOf("columns: [{agent: rl, value: speed_up}, {agent: expert, value: speed_up}, {agent: "
               "metis, value: speed_up}, {agent: older, value: speed_up}, {name: single, value: "
               "best_single_device}]"),
      runs);
  CHECK(values.column(0).value == doctest::Approx(2.5));  // of 6 / 3 and 6 / 2
  CHECK(values.column(1).value == doctest::Approx(1.5));
  CHECK(values.column(2).value == 0);
  CHECK_FALSE(values.column(3).run);
  CHECK(values.column(4).value == doctest::Approx(6));
}

TEST_CASE("what a run of another row found of the problem is known, but not the agent's") {
  ResultRuns runs;
  AddRuns(runs, "g", "rl", {3, 2});
  runs.runs[0].best_known_ns = 1.5e9;
  const RowValues values = ValuesOf(LayoutOf("columns: [{agent: rl}, {name: known, value: "
                                             "best_known}, {name: own, value: best_known, agent: "
                                             "rl}, {name: in_queue, value: best_known, where: "
                                             "{semantics: queue}}]"),
                                    runs);
  CHECK(values.column(0).value == doctest::Approx(2.5));
  CHECK(values.column(1).value == doctest::Approx(1.5));
  CHECK(values.column(2).value == doctest::Approx(2));
  CHECK(values.column(3).value == doctest::Approx(2));
}

TEST_CASE("the interval ends at samples number 0.025 N and 0.975 N") {
  Resampled number;
  number.seeds = {6, 6};
  for (int i = kTableResamples; i > 0; --i) number.samples.push_back(i);
  const auto interval = IntervalOf(number);
  REQUIRE(interval);
  CHECK_FALSE(interval->is_range);
  CHECK(interval->low == 250);
  CHECK(interval->high == 9750);
  number.samples[17] = std::nan("");
  CHECK_FALSE(IntervalOf(number));
}

TEST_CASE("below six seeds an interval is the range of the seeds, with its level") {
  const TableLayout layout = LayoutOf(
      "unit: ns\ncolumns: [{agent: rl}, {agent: other}, {name: both, formula: rl + other},\n"
      "  {name: twice, formula: 2 * other}]\n");
  const std::vector<double> seconds = {5e-9, 1e-9, 7e-9, 2e-9, 9e-9, 3e-9};
  for (const int n : {2, 3, 4, 5, 6}) {
    CAPTURE(n);
    ResultRuns runs;
    AddRuns(runs, "g", "rl", {seconds.begin(), seconds.begin() + n});
    AddRuns(runs, "g", "other", {1e-9, 2e-9, 3e-9, 4e-9, 5e-9, 6e-9, 7e-9});
    const RowValues values = ValuesOf(layout, runs);
    const auto interval = IntervalOf(values.column(0));
    REQUIRE(interval);
    CHECK(interval->seeds.least == n);
    CHECK(interval->is_range == (n < 6));
    if (n == 6) {
      CHECK(interval->level == 0.95);
      // The median of six draws is the least, 1, in 0.9 % of the resamples only: four or more of
      // them have to be it.
      CHECK(interval->low > 1);
      continue;
    }
    CHECK(interval->low == 1);
    CHECK(interval->high == *std::max_element(seconds.begin(), seconds.begin() + n) * 1e9);
    CHECK(interval->level == 1 - std::pow(2, 1 - n));
    // A formula has the fewest seeds of its columns, and no level that is known.
    const auto of_both = IntervalOf(values.column(2));
    CHECK(of_both->is_range);
    CHECK_FALSE(of_both->level);
    CHECK(ToString(of_both->seeds) == std::to_string(n) + " to 7 seeds");
    CHECK(IntervalOf(values.column(3))->level == 0.95);
  }
}

TEST_CASE("a plain bootstrap with the same generator gives the same samples") {
  for (const std::vector<double>& seconds :
       std::vector<std::vector<double>>{{4, 1.5, 8, 2}, {4, 1.5, 8, 2, 3}, {7, 1, 5, 2, 9, 3}}) {
    const int n = static_cast<int>(seconds.size());
    ResultRuns runs;
    AddRuns(runs, "g", "rl", seconds);
    const RowValues values = ValuesOf(LayoutOf("columns: [{agent: rl}]\nunit: ns"), runs);
    CHECK(values.column(0).samples.size() == kTableResamples);
    Rng rng = GeneratorFor("row\nrl");
    for (int b = 0; b < kTableResamples; ++b) {
      std::vector<double> draw(n);
      for (double& value : draw) value = seconds[UniformInt(rng, n)];
      std::sort(draw.begin(), draw.end());
      REQUIRE(values.column(0).samples[b] == (draw[(n - 1) / 2] + draw[n / 2]) / 2 * 1e9);
    }
  }
  CHECK(GeneratorFor("a")() != GeneratorFor("b")());  // so that agents are independent
}

TEST_CASE("one seed has no interval; formulas have that of their agents") {
  ResultRuns runs;
  AddRuns(runs, "g", "expert", {4.99});
  AddRuns(runs, "g", "rl", {4.04, 3.92, 4.5});
  const RowValues values =
      ValuesOf(LayoutOf("columns:\n  - {agent: expert}\n  - {agent: rl}\n"
                        "  - {name: twice, formula: 2 * expert}\n"
                        "  - {name: speedup, formula: expert / rl - 1, unit: percent}\n"
                        "  - {name: rest, formula: rl - rl}\n"
                        "  - {name: above, formula: speedup - 20, unit: ratio}\n"),
               runs);
  CHECK(values.column(0).value == doctest::Approx(4.99));
  CHECK_FALSE(IntervalOf(values.column(0)));
  CHECK(values.column(2).value == doctest::Approx(9.98));
  CHECK_FALSE(IntervalOf(values.column(2)));
  CHECK(values.column(3).value == doctest::Approx(100 * (4.99 / 4.04 - 1)));
  const auto interval = IntervalOf(values.column(3));
  REQUIRE(interval);
  CHECK(interval->low == doctest::Approx(100 * (4.99 / 4.5 - 1)));
  CHECK(interval->high == doctest::Approx(100 * (4.99 / 3.92 - 1)));
  CHECK(values.column(5).value == doctest::Approx(values.column(3).value - 20));
  // One agent is resampled once for all that uses it.
  for (const double sample : values.column(4).samples) REQUIRE(sample == 0);
}

// Three seeds of 4, 2 and 2.5 s over a bound of 2 s: gaps of 100, 0 and 25 %.
TEST_CASE("bound, gap, proven optimal, and regret under noise") {
  ResultRuns runs;
  AddRuns(runs, "g", "rl", {4, 2, 2.5});
  AddRuns(runs, "g", "oom", {kOom});
  for (ResultRun& run : runs.runs) run.bound = {2'000'000'000, "certain"};
  AddRuns(runs, "g", "unbounded", {3});
  for (ResultRun& run : runs.runs) run.noise_regret = run.agent == "rl" ? 0.125 : run.noise_regret;
  const RowValues values =
      ValuesOf(LayoutOf("unit: ms\ncolumns:\n"
                        "  - {name: bound, agent: rl, value: bound}\n"
                        "  - {name: gap, agent: rl, value: gap}\n"
                        "  - {name: optimal, agent: rl, value: optimal}\n"
                        "  - {name: regret, agent: rl, value: noise_regret}\n"
                        "  - {name: oom_gap, agent: oom, value: gap}\n"
                        "  - {name: oom_optimal, agent: oom, value: optimal}\n"
                        "  - {name: oom_regret, agent: oom, value: noise_regret}\n"
                        "  - {name: no_gap, agent: unbounded, value: gap}\n"
                        "  - {name: half, formula: gap / 2, unit: percent}\n"),
               runs);
  CHECK(values.column(0).value == doctest::Approx(2000));
  CHECK(values.column(1).value == doctest::Approx(25));
  CHECK(values.column(2).value == 0);  // of 0, 1 and 0
  CHECK(values.column(3).value == doctest::Approx(12.5));
  for (const int i : {0, 2, 3}) CHECK_FALSE(IntervalOf(values.column(i)));
  CHECK(IntervalOf(values.column(1))->high == doctest::Approx(100));
  CHECK(values.column(4).value == kOom);
  CHECK(values.column(5).value == 0);
  CHECK_FALSE(values.column(6).run);  // emplace stress has not seen it
  CHECK(values.column(6).missing == std::vector<std::string>{"oom"});
  CHECK(std::isnan(values.column(7).value));
  CHECK(values.column(8).value == doctest::Approx(1250));  // 25 / 2 as percent
}

TEST_CASE("OOM is infinite, and what has no run is missing") {
  ResultRuns runs;
  AddRuns(runs, "g", "gpu", {kOom});
  AddRuns(runs, "g", "rl", {4, kOom, 2});
  runs.runs.push_back(MakeRun("g", "late", 0, 1));
  runs.runs.back().progress = RunProgress::kStopped;
  const RowValues values = ValuesOf(
      LayoutOf("columns:\n  - {agent: gpu}\n  - {agent: rl}\n  - {agent: late}\n  - {agent: x}\n"
               "  - {name: best, formula: \"min(gpu, rl)\"}\n"
               "  - {name: ratio, formula: gpu / gpu, unit: ratio}\n"
               "  - {name: lacking, formula: rl + late + x + late}\n"),
      runs);
  CHECK(values.column(0).value == kOom);
  CHECK(values.num_finite(0) == 0);
  CHECK(values.column(1).value == doctest::Approx(4));
  CHECK(values.num_finite(1) == 2);
  CHECK(IntervalOf(values.column(1))->high == kOom);
  CHECK_FALSE(values.column(2).run);
  CHECK(values.column(2).missing == std::vector<std::string>{"late"});
  CHECK(values.runs(2).size() == 1);
  CHECK(values.column(3).missing == std::vector<std::string>{"x"});
  CHECK(values.column(4).value == doctest::Approx(4));
  CHECK(std::isnan(values.column(5).value));
  CHECK_FALSE(values.column(6).run);
  CHECK(values.column(6).missing == std::vector<std::string>{"late", "x"});
}

TEST_CASE("runs that differ in more than the seed are no sample") {
  const TableLayout layout = LayoutOf("columns: [{agent: rl}]");
  ResultRuns runs;
  AddRuns(runs, "g", "rl", {1, 2});
  const auto refusal = [&] { return MessageOf<InputError>([&] { ValuesOf(layout, runs); }); };
  runs.runs[1].keys["semantics"] = "stream";
  CheckHolds(refusal(),
             "row \"row\", column \"rl\": the runs differ in semantics (queue and stream): g rl 0 "
             "and g rl 1");
  const RowValues apart =
      ValuesOf(LayoutOf("columns: [{name: rl, agent: rl, where: {semantics: stream}}]"), runs);
  CHECK(apart.column(0).value == doctest::Approx(2));
  runs.runs[1].keys["semantics"] = "queue";
  runs.runs[0].settings = "hidden: 64";
  runs.runs[1].settings = "hidden: 128";
  CheckHolds(refusal(), "the runs differ in settings of the agent");
  runs.runs[1].settings = "";  // not begun: not known yet
  CHECK(refusal() == "(nothing was thrown)");
  runs.runs[1].seed = 0;
  CheckHolds(refusal(), "two runs have seed 0: g rl 0 and g rl 1");
}

TEST_CASE("other numbers of a run") {
  ResultRuns runs;
  AddRuns(runs, "g", "rl", {1});
  runs.runs[0].evaluations = 240;
  runs.runs[0].seconds = 12.5;
  runs.runs[0].hardware_seconds = 5400;
  runs.runs[0].ranks = 4;
  const RowValues values = ValuesOf(LayoutOf("unit: ms\ncolumns:\n  - {name: t, agent: rl}\n"
                                             "  - {name: n, agent: rl, value: evaluations}\n"
                                             "  - {name: s, agent: rl, value: seconds}\n"
                                             "  - {name: h, agent: rl, value: hardware_hours}\n"
                                             "  - {name: r, agent: rl, value: ranks}\n"),
                                    runs);
  CHECK(values.column(0).value == doctest::Approx(1000));
  CHECK(values.column(1).value == 240);
  CHECK(values.column(2).value == 12.5);
  CHECK(values.column(3).value == 1.5);
  CHECK(values.column(4).value == 4);
}

// Gives a run a file: an evaluation each half second, and an end half a second after the last.
// @param best  so far, per evaluation [ns]
void WriteCurve(ResultRun& run, const std::filesystem::path& path, std::vector<double> best) {
  run.file = path;
  run.group = "/agents/rl";
  run.evaluations = std::ssize(best);
  run.seconds = 0.5 * static_cast<double>(best.size() + 1);
  std::vector<std::int64_t> index, times, feasible;
  std::vector<double> seconds;
  for (size_t i = 0; i < best.size(); ++i) {
    index.push_back(static_cast<std::int64_t>(i));
    times.push_back(std::isnan(best[i]) ? 99 : static_cast<std::int64_t>(best[i]));
    feasible.push_back(!std::isnan(best[i]));
    seconds.push_back(0.5 * static_cast<double>(i + 1));
  }
  ResultsFile file(path);
  file.WriteTable("/agents/rl/evaluations",
                  {{"index", index},
                   {"wall_seconds", seconds},
                   {"step_time_ns", times},
                   {"feasible", feasible},
                   {"best_step_time_ns", best}});
  file.SetAttribute("/agents/rl", "steps_per_measurement", std::int64_t{3});
  file.Commit();
}

TEST_CASE("when a target is reached") {
  const TempDir folder;
  ResultRuns runs;
  // Best so far per evaluation [ns]; NaN until something fits.
  const std::vector<std::vector<double>> curves = {
      {std::nan(""), 40, 40, 30, 20}, {50, 50, 25, 25, 25}, {60, 60, 60, 60, 60}};
  for (size_t i = 0; i < curves.size(); ++i) {
    ResultRun run = MakeRun("g", "rl", i, curves[i].back() * 1e-9);
    WriteCurve(run, folder / (std::to_string(i) + ".h5"), curves[i]);
    runs.runs.push_back(run);
  }
  // On the hardware, 3 steps a measurement: the first placement does not fit and counts nothing,
  // the others take 40, 40, 30 and 20 ns, so that the bests are known after 120, 330 and 390 ns.
  const std::vector<BestSoFar> steps = ReadBestSoFar(runs.runs[0]);
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].hardware_seconds == doctest::Approx(120e-9));
  CHECK(steps[1].hardware_seconds == doctest::Approx(330e-9));
  CHECK(steps[2].hardware_seconds == doctest::Approx(390e-9));
  AddRuns(runs, "g", "gpu", {25e-9});
  WriteCurve(runs.runs.back(), folder / "gpu.h5", {25});
  AddRuns(runs, "g", "oom", {kOom});
  const RowValues values = ValuesOf(
      LayoutOf("unit: ns\ncolumns:\n  - {name: rl, agent: rl}\n  - {agent: gpu}\n  - {agent: oom}\n"
               "  - {name: to_25, agent: rl, value: evaluations_to, target: gpu}\n"
               "  - {name: to_20, agent: rl, value: evaluations_to, target: 20}\n"
               "  - {name: to_1, agent: rl, value: evaluations_to, target: 1}\n"
               "  - {name: to_own, agent: rl, value: evaluations_to, target: 1.0 * rl}\n"
               "  - {name: to_oom, agent: rl, value: evaluations_to, target: oom}\n"
               "  - {name: to_none, agent: rl, value: evaluations_to, target: 2 * none}\n"
               "  - {name: none, agent: none}\n"
               "  - {name: seconds, agent: rl, value: seconds_to, target: gpu}\n"
               "  - {name: e_25, agent: rl, value: expected_evaluations_to, target: gpu}\n"
               "  - {name: s_25, agent: rl, value: expected_seconds_to, target: gpu}\n"
               "  - {name: r_25, agent: rl, value: reached, target: gpu}\n"
               "  - {name: e_1, agent: rl, value: expected_evaluations_to, target: 1}\n"
               "  - {name: r_1, agent: rl, value: reached, target: 1}\n"
               "  - {name: e_oom, agent: rl, value: expected_evaluations_to, target: oom}\n"
               "  - {name: r_oom, agent: rl, value: reached, target: oom}\n"
               "  - {name: r_50, agent: rl, value: reached, target: 50}\n"
               "  - {name: e_gpu, agent: gpu, value: expected_evaluations_to, target: 25}\n"),
      runs);
  // At most 25: after 5, 3 and never.
  CHECK(values.column(3).value == 5);
  CHECK(values.num_finite(3) == 2);
  CHECK(IntervalOf(values.column(3))->low == 3);
  CHECK(IntervalOf(values.column(3))->high == kOom);
  CHECK(values.column(10).value == 2.5);  // of the fifth evaluation
  CHECK(values.num_finite(10) == 2);
  CHECK(values.column(4).value == kOom);
  CHECK(values.num_finite(4) == 1);
  CHECK(values.column(5).value == kOom);
  CHECK(values.num_finite(5) == 0);
  // Expected: after 5 and 3 evaluations, and 5 in vain, (5 + 3 + 5) / 2; of 2.5 s, 1.5 s and, in
  // vain, 3 s, 7 / 2.
  CHECK(values.column(11).value == 6.5);
  CHECK(values.num_finite(11) == 2);
  CHECK(values.column(12).value == 3.5);
  CHECK(values.column(13).value == doctest::Approx(200.0 / 3));
  CHECK(IntervalOf(values.column(11))->low == 3);  // three times the second seed
  CHECK(IntervalOf(values.column(11))->high == kOom);
  CHECK(IntervalOf(values.column(13))->low == 0);
  CHECK(IntervalOf(values.column(13))->high == doctest::Approx(100));
  CHECK(values.column(14).value == kOom);
  CHECK(values.column(15).value == 0);
  CHECK(std::isnan(values.column(16).value));
  CHECK(std::isnan(values.column(17).value));
  CHECK(values.column(18).value == doctest::Approx(200.0 / 3));
  CHECK(values.column(19).value == 1);  // without chance: one run, no interval
  CHECK_FALSE(IntervalOf(values.column(19)));
  // The median is 25, reached exactly by the seed that ends there.
  CHECK(values.column(6).value == 5);
  CHECK(std::isnan(values.column(7).value));
  CHECK_FALSE(values.column(8).run);
  CHECK(values.column(8).missing == std::vector<std::string>{"none"});
  // In a resample both the target and the seeds that chase it are those drawn.
  for (int b = 0; b < 200; ++b) {
    Rng rng = GeneratorFor("row\nrl");
    int draw[3] = {};
    for (int skipped = 0; skipped <= b; ++skipped) {
      for (int& seed : draw) seed = UniformInt(rng, 3);
    }
    std::vector<double> ends, counts;
    for (const int seed : draw) ends.push_back(curves[seed].back());
    std::sort(ends.begin(), ends.end());
    for (const int seed : draw) {
      double count = kOom;
      for (int i = 4; i >= 0; --i) {
        if (curves[seed][i] <= ends[1]) count = i + 1;
      }
      counts.push_back(count);
    }
    std::sort(counts.begin(), counts.end());
    REQUIRE(values.column(6).samples[b] == counts[1]);
  }
}

}  // namespace
