// Figures of verifications by hand, from invented measurements.

#include "experiments/machine/verification.h"

#include <cmath>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "experiments/machine/fidelity_report.h"
#include "experiments/machine/fidelity_svg.h"
#include "profilers/statistics/sampling.h"
#include "tests/support/problems.h"
#include "tests/support/text.h"
#include "tests/support/words.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// a (40 ns) and b (60 ns) feed c (100 ns); tensors of 50 B over channels of 1 B/ns.
std::shared_ptr<const Problem> MakeFork() {
  ProblemBuilder b;
  b.Device("d0");
  b.Device("d1");
  b.kind(0).launch = b.kind(1).launch = 10;
  b.AllToAll(0, kGigabytePerSecond);
  b.Op("a", {40}, {}, 50);
  b.Op("b", {60}, {}, 50);
  b.Op("c", {100}, {0, 1});
  return b.Build();
}

// Simulated as it is, measured as told.
VerifiedPlacement Verified(const std::shared_ptr<const Problem>& problem,
                           const std::string& label,
                           std::vector<DeviceIndex> device_of_op,
                           Nanos measured,
                           std::vector<Nanos> busy) {
  VerifiedPlacement placement;
  placement.candidate = {label, Placement{std::move(device_of_op)}, std::nullopt};
  placement.simulated = MakeSimulator(problem, {.semantics = Semantics::kStream})
                            ->Evaluate(placement.candidate.placement);
  const auto median = static_cast<double>(measured);
  placement.measured.step_times = {measured, measured, measured};
  placement.measured.step = {median, median, median, 3};
  placement.measured.busy = std::move(busy);
  for (const DeviceOutcome& device : placement.simulated.devices) {
    placement.measured.peak.push_back(device.peak);
    placement.measured.arena.push_back(2 * device.peak);
  }
  placement.shares[0] = 1;
  return placement;
}

Verification MakeVerification() {
  Verification v;
  v.problem = MakeFork();
  v.rounds = 3;
  // All on d0: starts at 10, 40 + 60 + 100 = 210. Measured 200 with 100 busy: half of simulated.
  v.placements.push_back(Verified(v.problem, "one", {0, 0, 0}, 200, {100, 0}));
  // c on d1: b ends at 110; a's copy 50-100, b's 110-160, c ends at 260.
  v.placements.push_back(Verified(v.problem, "<two>", {0, 0, 1}, 325, {100, 100}));
  return v;
}

TEST_CASE("errors of step and busy times, peaks, arenas, by hand") {
  Verification v = MakeVerification();
  REQUIRE(v.placements[0].simulated.step_time == 210);
  REQUIRE(v.placements[1].simulated.step_time == 260);
  v.placements[1].measured.peak[1] += 1;
  v.placements[0].measured.proxy_share = 0.5;
  const VerificationSummary s = Summarize(v);
  // |210 - 200| / 200 = 5 %; |260 - 325| / 325 = 20 %.
  CHECK(s.mape == doctest::Approx(0.125));
  CHECK(s.max_error == doctest::Approx(0.2));
  REQUIRE(s.fidelity.has_value());
  CHECK(s.fidelity->mape == doctest::Approx(0.125));
  CHECK(s.fidelity->kendall_tau == doctest::Approx(1));
  // d0: |200 - 100| / 100 and |100 - 100| / 100; d1 only in the second: |100 - 100| / 100.
  CHECK(s.busy_error[0] == doctest::Approx(0.5));
  CHECK(s.busy_error[1] == doctest::Approx(0));
  CHECK(s.equal_peaks == 1);
  // Busy: 100 of 300 ns of ops, half of them stand-ins.
  CHECK(s.proxy_share == doctest::Approx(1. / 6));
  CHECK(s.busy_ratio == doctest::Approx(300. / 400));
  CHECK(s.shares[0] == doctest::Approx(1));
  CHECK(s.warnings.empty());
}

TEST_CASE("a device that never works has no busy error; one placement has no order") {
  Verification v = MakeVerification();
  v.placements.pop_back();
  const VerificationSummary s = Summarize(v);
  CHECK(!s.fidelity.has_value());
  CHECK(s.mape == doctest::Approx(0.05));
  CHECK(std::isnan(s.busy_error[1]));
  CHECK(s.arena_overhead == doctest::Approx(1));
  CHECK(Contains(FormatSummary(s, v), "d1 -"));
}

TEST_CASE("moving clocks, drift and slow ops are warnings") {
  Verification v = MakeVerification();
  v.clocks_before = {{"d0", 2000, {}}, {"d1", 1000, {}}, {"d2", 0, {}}};
  v.clocks_after = {{"d0", 1880, {}}, {"d1", 1040, {}}, {"d2", 500, {}}};
  v.reference_drift = -0.07;
  for (VerifiedPlacement& placement : v.placements) {
    for (Nanos& busy : placement.measured.busy) busy *= 2;
  }
  const VerificationSummary s = Summarize(v);
  CHECK(s.clock_change == doctest::Approx(-0.06));
  REQUIRE(s.warnings.size() == 3);
  CHECK(Contains(s.warnings[0], "1.50 times"));
  CHECK(Contains(s.warnings[1], "d0 changed from 2000 to 1880 MHz"));
  CHECK(Contains(s.warnings[2], "\"one\" changed by -7.0 % from the"));
  for (const std::string& warning : s.warnings) CHECK(Contains(FormatSummary(s, v), warning));
}

TEST_CASE("ablations simulate the same placements with less of the model") {
  const Verification v = MakeVerification();
  ProblemBuilder isolated;  // the same ops at half their cost
  isolated.Device("d0");
  isolated.Device("d1");
  isolated.kind(0).launch = isolated.kind(1).launch = 10;
  isolated.AllToAll(0, kGigabytePerSecond);
  isolated.Op("a", {20}, {}, 50);
  isolated.Op("b", {30}, {}, 50);
  isolated.Op("c", {50}, {0, 1});
  const std::vector<Ablation> ablations = Ablate(v, {.isolated = isolated.Build()});
  REQUIRE(ablations.size() == 3);
  // Without the launch of 10 ns: 200 (0 %) and 250 (75 / 325).
  CHECK(ablations[0].name == "no host cost");
  CHECK(ablations[0].fidelity.mape == doctest::Approx(75. / 325 / 2));
  // b's copy never waits for a's here: as the full model.
  CHECK(ablations[1].name == "no channel contention");
  CHECK(ablations[1].fidelity.mape == doctest::Approx(0.125));
  // 10 + 100 = 110 (45 %); a ends 30, its copy 80; b ends 60, its copy waits until 80, 130; c 180.
  CHECK(ablations[2].name == "isolated op costs");
  CHECK(ablations[2].fidelity.mape == doctest::Approx((90. / 200 + 145. / 325) / 2));
  CHECK(Ablate(v, {}).size() == 2);
}

TEST_CASE("intervals: in the table, in the figures, and why there are none") {
  Verification v = MakeVerification();
  VerificationSummary s = Summarize(v);
  CHECK(!s.intervals.has_value());
  CHECK(Contains(FormatSummary(s, v),
                 "interval         none: no placements were held out; expected at least 9"));
  CHECK(!Contains(FormatVerification(v, s), "90 % interval"));

  v.interval = {
      {.level = 0.9, .held_out = 9, .low = 1 / 1.125, .high = 1.125, .held_out_coverage = 0.75},
      "9 held-out placements of these rounds"};
  s = Summarize(v);
  REQUIRE(s.intervals.has_value());
  // [186.7, 236.3] holds 200; [231.1, 292.5] does not hold 325, and overlaps it.
  CHECK(s.intervals->covered == 1);
  const std::string table = FormatVerification(v, s);
  CHECK(Contains(table, "90 % interval"));
  CHECK(Contains(table, "[187 ns .. 236 ns]"));
  const std::string summary = FormatSummary(s, v);
  CHECK(Contains(
      summary,
      "interval         90 % of measured times differ from simulated ones by -11.1 % .. +12.5 %, "
      "according to 9 held-out placements of these rounds (of which it covers 75.0 %)"));
  CHECK(Contains(summary, "coverage         1 of 2 placements (50.0 %); 50.0 % of their single"));
  CHECK(!Contains(summary + table, "equal"));  // overlapping intervals say nothing of that

  v.interval.interval.low = 1 / 1.0625;
  v.interval.interval.high = 1.0625;  // [197.6, 223.1] and [244.7, 276.3]
  const GraphFidelity graph{v, Summarize(v), {}};
  const std::string markdown = FormatFidelityMarkdown(std::span(&graph, 1));
  CHECK(Contains(markdown, "| 90 % interval | covers | differing pairs in order |"));
  CHECK(Contains(markdown, "| -5.9 % .. +6.2 % | 50.0 % | - |"));
}

// Steps of ten rounds, on a machine that is slower in the second half by `drift`.
Verification MeasureTenRounds(double drift = 0) {
  Verification v = MakeVerification();
  v.rounds = 10;
  for (VerifiedPlacement& placement : v.placements) {
    const auto time = static_cast<double>(placement.measured.step_times[0]);
    std::vector<double> times;
    placement.measured.step_times.clear();
    for (int round = 0; round < 10; ++round) {
      times.push_back(std::round(time * (round < 5 ? 1 : 1 + drift)));
      placement.measured.step_times.push_back(static_cast<Nanos>(times.back()));
    }
    placement.measured.step = Summarize(times);
  }
  return v;
}

TEST_CASE("paired steps decide which placements differ") {
  // 200 and 325 ns, later 340 and 553: the medians' intervals overlap, all ratios are 1.625
  // or 1.626.
  Verification v = MeasureTenRounds(0.7);
  CHECK(v.placements[0].measured.step.high > v.placements[1].measured.step.low);
  // Nor do the intervals of the simulated times tell 210 and 260 apart.
  v.interval = {{.held_out = 9, .low = 0.7, .high = 1.4}, "9 held-out placements"};
  VerificationSummary s = Summarize(v);
  REQUIRE(s.pairs.has_value());
  CHECK(s.pairs->differing == 1);
  CHECK(s.pairs->in_order == 1);
  CHECK(s.pairs->to_fastest[1].low == doctest::Approx(1.625));
  const std::string summary = FormatSummary(s, v);
  CHECK(Contains(summary,
                 "fastest          \"one\"; not distinguishable from it in 10 rounds: none"));
  CHECK(Contains(summary, "pairs            1 of 1 differ (the 95 % interval"));
  CHECK(Contains(FormatVerification(v, s), "+62.6 % [+62.5 .. +62.6 %]"));
  CHECK(ToJson(v, s)["pairs"]["differing"] == 1);
  CHECK(ToJson(v, s)["placements"][1]["to_fastest"]["differs"] == true);

  // Now a few percent apart, in either direction.
  for (int round = 0; round < 10; ++round) {
    v.placements[1].measured.step_times[round] =
        v.placements[0].measured.step_times[round] + (round % 2 == 0 ? 3 : -2);
  }
  v.placements[1].measured.step.median = v.placements[0].measured.step.median + 1;
  s = Summarize(v);
  CHECK(s.pairs->differing == 0);
  CHECK(Contains(FormatSummary(s, v), "not distinguishable from it in 10 rounds: \"<two>\""));
  CHECK(Contains(FormatVerification(v, s), ", not distinguishable"));
  // Three rounds are too few.
  const Verification few = MakeVerification();
  CHECK(Contains(FormatSummary(Summarize(few), few),
                 "3 rounds are too few to distinguish placements; expected at least 6"));
}

TEST_CASE("the verdict: a sentence, before all figures") {
  const auto verdict = [](const Verification& v) {
    const VerificationSummary s = Summarize(v);
    CHECK(FormatSummary(s, v).starts_with("verdict          " + v.problem->graph().name() + ": " +
                                          s.verdict + "\n"));
    CHECK(ToJson(v, s)["verdict"] == s.verdict);
    return s.verdict;
  };
  // Medians of the halves 28 % apart, of the median between them: 0.28 / 1.14 = 25 %.
  CHECK(
      verdict(MeasureTenRounds(0.28)) ==
      "too noisy to judge: repeats differ by 25 %; stop other programs on this machine and measure "
      "again");
  // Both halves have the median of all, but steps are a fifth off it: 1.4826 * 20 % = 29.7 %.
  Verification uneven = MeasureTenRounds();
  for (VerifiedPlacement& placement : uneven.placements) {
    const Nanos time = placement.measured.step_times[0] / 5 * 5;
    placement.measured.step.median = static_cast<double>(time);
    for (int round = 0; round < 10; ++round) {
      placement.measured.step_times[round] = time + time / 5 * (round % 5 % 3 - 1);
    }
  }
  CHECK(verdict(uneven).starts_with("too noisy to judge: repeats differ by 30 %; "));
  Verification v = MeasureTenRounds();
  for (VerifiedPlacement& placement : v.placements) placement.measured.busy = {175, 0};
  v.reference_drift = 0.14;
  CHECK(
      verdict(v).starts_with("too noisy to judge: the step time of \"one\" changed by +14 % from"));
  v.reference_drift = 0;
  // Two placements, +5 and -20 % off, the same order as measured.
  CHECK(verdict(v) ==
        "errors 12.5 % (simulated times are 7.5 % too short), 100 % of clear pairs in order: 2 "
        "placements are too few to know which differences are reliable; expected at least 5");
  // Eight: simulated are 210 and 260, measured 200 and 250: 5 and 4 % too long. Log ratios differ
  // by ln(1.05 / 1.04) = 0.0096 in most pairs, so 1 % and more is resolved.
  v.placements[1] = Verified(v.problem, "two", {0, 0, 1}, 250, {175, 0});
  while (v.placements.size() < 8) v.placements.push_back(v.placements[v.placements.size() % 2]);
  for (VerifiedPlacement& placement : v.placements) {
    placement.measured.step_times.assign(10, std::llround(placement.measured.step.median));
    placement.measured.busy = {200, 0};
  }
  CHECK(verdict(v) ==
        "errors 4.5 %, 100 % of clear pairs in order: reliable for differences above 1 %");
  // Half of the second kind now take 350: the same simulated time for 250 and 350.
  for (const int i : {1, 3}) {
    v.placements[i].measured.step.median = 350;
    v.placements[i].measured.step_times.assign(10, 350);
  }
  CHECK(verdict(v).starts_with("not reliable: errors 9.9 %"));
  CHECK(
      Contains(verdict(v),
               "placements whose simulated times differ by up to 42 % may be in the wrong order"));
  // Ops take twice their costs.
  for (VerifiedPlacement& placement : v.placements) placement.measured.busy = {400, 0};
  CHECK(
      verdict(v).starts_with("the costs do not fit this machine: ops took 2.00 times their costs"));
  v.calibration.emplace_back();  // the costs are of these rounds: it is the model that is wrong
  CHECK(verdict(v).starts_with("not reliable: errors 9.9 %"));
  // One round says nothing of noise; one placement nothing of the order.
  Verification once = MakeVerification();
  for (VerifiedPlacement& placement : once.placements) placement.measured.step_times.resize(1);
  CHECK(verdict(once).starts_with("too few rounds to judge: "));
  once.placements.pop_back();
  once.placements[0].measured.busy = {200, 0};
  CHECK(verdict(once) == "error 5.0 %: one placement does not show whether several are in order");
}

TEST_CASE("warnings of the caller are warnings of the figures") {
  Verification v = MakeVerification();
  v.warnings = {"costs.json: measured on another machine"};
  const VerificationSummary s = Summarize(v);
  REQUIRE(s.warnings.size() == 1);
  CHECK(
      Contains(FormatSummary(s, v), "warning          costs.json: measured on another machine\n"));
}

TEST_CASE("residuals: with the traits of the simulated placements, graphs pooled") {
  Verification v = MakeVerification();
  v.placements.push_back(Verified(v.problem, "three", {0, 1, 0}, 220, {100, 0}));
  SimulateAgain(v, v.problem);
  const std::vector<ResidualPoint> points = ResidualPoints(v);
  REQUIRE(points.size() == 3);
  CHECK(points[1].simulated == 260);
  CHECK(points[1].measured == 325);
  const auto trait = [&](int i, StepTrait which) {
    return points[i].traits[static_cast<size_t>(which)];
  };
  CHECK(trait(0, StepTrait::kCrossingBytes) == 0);
  CHECK(trait(1, StepTrait::kCrossingBytes) == 100);
  CHECK(trait(1, StepTrait::kStepTime) == 260);
  CHECK(trait(2, StepTrait::kCrossings) == 1);
  CHECK(trait(2, StepTrait::kOverlap) > 0);
  CHECK(v.placements[1].simulated.start.empty());

  const VerificationSummary s = Summarize(v);
  REQUIRE(s.residuals.has_value());
  CHECK(s.residuals->placements == 3);
  const GraphFidelity graph{v, s, {}};
  const std::vector<GraphFidelity> two = {graph, graph};
  const auto pooled = PooledResiduals(two);
  REQUIRE(pooled.has_value());
  CHECK(pooled->graphs == 2);
  CHECK(pooled->placements == 6);
  for (int t = 0; t < kNumStepTraits; ++t) {
    CHECK(pooled->traits[t].pearson == doctest::Approx(s.residuals->traits[t].pearson));
  }
  const std::string text = FormatFidelityMarkdown(two);
  CHECK(Contains(text, "correlation of the errors of 6 placements of 2 graphs with"));
  CHECK(Contains(text, "us per MB"));
}

TEST_CASE("residuals: the verdict names what is systematic") {
  ResidualReport report{.graphs = 1, .placements = 30, .shuffles = 1000, .largest_above = 0.981};
  for (int t = 0; t < kNumStepTraits; ++t) {
    report.traits[t] = {StepTrait{std::uint8_t(t)}, 0.1, 0.2, 0.5, 0.9, 0};
  }
  CHECK(Contains(FormatResidualMarkdown(report), "Nothing systematic: "));
  report.traits[0] = {StepTrait::kCrossingBytes, 0.6, 0.5, 0.999, 0.95, 0.13};
  report.traits[2] = {StepTrait::kOverlap, std::nan(""), std::nan(""), std::nan(""), 0.96, 5e5};
  const std::string text = FormatResidualMarkdown(report);
  CHECK(
      Contains(text, "Systematic: the correlations with crossing bytes, overlap exceed those of"));
  CHECK(Contains(text, "exceeds that of 98.1 %"));
  CHECK(Contains(text, "+0.600"));
  CHECK(Contains(text, "+130.0 us per MB"));
  CHECK(Contains(text, "+0.50 ms from none to all"));
}

TEST_CASE("costs are of another machine if cpu or gpu say so") {
  const std::map<std::string, std::string> here = {{"cpu", "A"}, {"gpu", "B"}, {"driver", "1"}};
  CHECK(CompareMachines(here, here, "costs.json").empty());
  CHECK(CompareMachines({{"cpu", "A"}, {"driver", "2"}}, here, "costs.json").empty());
  const auto warnings = CompareMachines({{"cpu", "A"}, {"gpu", "C"}}, here, "costs.json");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] ==
        "costs.json: measured on another machine: its gpu is \"C\", this machine's is \"B\"");
  CHECK(
      CompareMachines({{"drift", "phase \"ops\", attempt 3 of 3: +20 %"}}, here, "costs.json") ==
      std::vector<std::string>{
          "costs.json: measured while the machine drifted: phase \"ops\", attempt 3 of 3: +20 %"});
}

TEST_CASE("tables: best measured first, a row for all graphs, figures that do not exist") {
  GraphFidelity graph{MakeVerification(), {}, {}};
  std::swap(graph.verification.placements[0], graph.verification.placements[1]);
  graph.summary = Summarize(graph.verification);
  graph.ablations = Ablate(graph.verification, {});
  const std::string text = FormatVerification(graph.verification, graph.summary);
  CHECK(text.find("one") < text.find("<two>"));
  CHECK(Contains(text, "+5.00 %"));
  CHECK(Contains(text, "-20.00 %"));
  CHECK(FormatShare(std::nan("")) == "-");
  CHECK(FormatShare(0.12345, 1) == "12.3 %");

  const std::vector<GraphFidelity> one = {graph}, two = {graph, graph};
  CHECK(!Contains(FormatFidelityMarkdown(one), "| all |"));
  const std::string all = FormatFidelityMarkdown(two);
  CHECK(Contains(all, "| all | 4 |"));
  CHECK(Contains(all, "| 12.50 % / 1.000 |"));
  CHECK(Contains(all, "no channel contention"));
}

TEST_CASE(
    "the picture has a point per placement; both axes are the same: linear within a factor of ten, "
    "else logarithmic") {
  GraphFidelity graph{MakeVerification(), {}, {}};
  // 200 and 325 ns measured, 210 and 260 simulated: room of 5 %, ticks 50 ns apart.
  const std::string near = FormatScatterSvg(std::span(&graph, 1));
  CHECK(near == FormatScatterSvg(std::span(&graph, 1)));
  CHECK(Occurrences(near, "<title>") == 2);
  CHECK(Contains(near, "&lt;two&gt;"));
  CHECK(Contains(near, ">250 ns</text>"));
  graph.verification.placements[0].measured.step.median = 20;
  const std::string far = FormatScatterSvg(std::span(&graph, 1));
  CHECK(!Contains(far, ">250 ns</text>"));
  for (const std::string& svg : {near, far}) {  // each tick stands on both axes
    CHECK(!Contains(svg, "nan"));
    CHECK(Occurrences(svg, "ns</text>") % 2 == 0);
    CHECK(Occurrences(svg, ">200 ns</text>") == 2);
  }
}

TEST_CASE("the picture of errors: a point per placement and panel, zero in it") {
  GraphFidelity graph{MakeVerification(), {}, {}};
  SimulateAgain(graph.verification, graph.verification.problem);
  const std::string svg = FormatErrorSvg(std::span(&graph, 1));
  CHECK(svg == FormatErrorSvg(std::span(&graph, 1)));
  CHECK(Occurrences(svg, "<title>") == 2 * 2);
  CHECK(Contains(svg, ">0 %</text>"));
  CHECK(Contains(svg, "stroke=\"#444\"/><text"));
  CHECK(Contains(svg, "&lt;two&gt;"));
  CHECK(!Contains(svg, "nan"));
  // No placement crosses or overlaps: an axis still has a width.
  for (VerifiedPlacement& placement : graph.verification.placements) placement.traits = {};
  CHECK(!Contains(FormatErrorSvg(std::span(&graph, 1)), "nan"));
  CHECK(!Contains(FormatErrorSvg(std::span(&graph, 1)), "inf"));
}

TEST_CASE("placements are simulated in the issue order in which they were executed") {
  Verification v = MakeVerification();
  v.issue_order = {1, 0, 2};
  SimulateAgain(v, v.problem);
  // All on d0: as before. c on d1: b 10-70, its copy 70-120; a 70-110, its copy 120-170; c ends
  // at 270 (by id at 260).
  CHECK(v.placements[0].simulated.step_time == 210);
  CHECK(v.placements[1].simulated.step_time == 270);
  // Without the launch: 200 (0 %) and 260 (65 / 325).
  CHECK(Ablate(v, {})[0].fidelity.mape == doctest::Approx(65. / 325 / 2));
}

}  // namespace
