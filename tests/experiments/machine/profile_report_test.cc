#include "experiments/machine/profile_report.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/cost/op_kind.h"
#include "framework/cost/op_signature.h"
#include "tests/experiments/machine/measured_machine.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// Every aten.relu takes 100 ns, as a stand-in; every aten.mm 300 ns alone and 200 ns in steps.
CostTable MakeTable(const Graph& graph) {
  CostTable table;
  table.machine = "here";
  KindCosts kind;
  kind.kind.name = "core";
  for (int v = 0; v < graph.num_ops(); ++v) {
    OpMeasurement op{.signature = OpSignature(graph, v),
                     .kind = graph.op(v).kind,
                     .op_class = ClassifyOp(graph.op(v).kind)};
    if (kind.Find(op.signature) != nullptr) continue;
    if (op.kind == "aten.relu") {
      op.isolated = Timing{100, 99, 101, 10};
      op.is_proxy = true;
    } else if (op.kind == "aten.mm") {
      op.isolated = Timing{300, 299, 301, 10};
      op.in_situ = Timing{200, 199, 201, 10};
    } else {
      continue;
    }
    kind.ops.push_back(std::move(op));
    std::sort(kind.ops.begin(), kind.ops.end(), [](const auto& a, const auto& b) {
      return a.signature < b.signature;
    });
  }
  kind.by_class["matmul"] = {.samples = 9, .error = 0.082, .error_p90 = 0.2};
  table.kinds.push_back(std::move(kind));
  table.links.push_back({"a", "b", "host", {{1, {}}, {2, {}}}, {{0, 1500, 2e9}}, 0.125});
  table.link_contention = {{"a->b", "b->a", 1.5}, {"b->a", "a->b", 1.01}};
  table.interference = {{"core:0 load", "core:1 load", 1.875, 1.75, 2.0},
                        {"core:0 matmul", "core:1 copy", 1.25, 1.125, 1.375, 1.3125}};
  table.dispatch.push_back({"core", 1.8, 20, 30, 40, 525});
  table.warnings = {"clocks moved"};
  return table;
}

TEST_CASE("a report adds up what the ops of a graph take") {
  const auto graph = std::make_shared<const Graph>(Perceptron().Build());
  const std::vector<std::shared_ptr<const Graph>> graphs = {graph};
  const CostTable table = MakeTable(*graph);
  // 9 products of 200 ns (3 forward, 6 backward), 3 relus of 100 ns: 2,100 ns, 300 of them
  // stand-ins, 14.3 %.
  const auto json = ProfileReportJson(table, graphs, 12.5);
  REQUIRE(json["graphs"].size() == 1);
  CHECK(json["graphs"][0]["measured_ops"] == 12);
  CHECK(json["graphs"][0]["total_ns"] == 2100);
  CHECK(json["graphs"][0]["proxy_ns"] == 300);
  CHECK(json["graphs"][0]["proxies"]["aten.relu"] == 300);
  CHECK(json["graphs"][0]["largest_ops"][0]["total_ns"] == 200);
  // The fit of products is good: 1,800 ns. Relus have none.
  CHECK(json["graphs"][0]["fit_error"] == 0.082);
  CHECK(json["graphs"][0]["well_fitted_ns"] == 1800);
  CHECK(json["kinds"][0]["in_situ"] == 9);
  CHECK(json["kinds"][0]["isolated"] == 12);
  CHECK(json["kinds"][0]["by_class"]["matmul"]["error"] == 0.082);

  const std::string text = FormatProfileReport(table, graphs, 12.5);
  for (const char* part : {"machine  here",
                           "seconds  12.5",
                           "perceptron on core: 2.100 us of ops in a step",
                           "real kernels 85.7 %, stand-ins 14.3 % (aten.relu 14.3 %)",
                           "8.2 %",
                           "estimated from the other measurements instead: an error of at most 8.2 "
                           "% for half of the time, at most 15 % for 85.7 %\n",
                           "a->b",
                           "1.75 .. 2.00",
                           "core:0 matmul",
                           "1.31",
                           "1.500 us",
                           "2.00 GB/s",
                           "12.5 %",
                           "a->b takes 1.50 times as long while b->a runs",
                           "525.0 ns",
                           "warning  clocks moved"}) {
    CAPTURE(part);
    CHECK(Contains(text, part));
  }
  CHECK(!Contains(text, "1.01"));  // noise
  CHECK(text.starts_with("verdict  not judged: "));
  CHECK(text.find("warning") < text.find("machine"));
  CHECK(!Contains(text, "(noise)"));
}

TEST_CASE("nothing is faster beside others: that is noise, and not told as a factor") {
  CostTable table;
  table.machine = "here";
  table.interference = {{"core:0 reduction", "core:1 pooling", 0.60, 0.55, 0.66, 1.02},
                        {"core:0 load", "core:1 load", 1.875, 1.75, 2.0}};
  const std::string text = FormatProfileReport(table, {}, 1);
  CHECK(!Contains(text, "0.60"));
  CHECK(!Contains(text, "0.55"));
  CHECK(Contains(text, "1.00 (noise)"));
  CHECK(Contains(text, "noise: measured up to 40 % faster than alone"));
  const auto json = ProfileReportJson(table, {}, 1);
  CHECK(json["interference"][0]["factor"] == 0.60);  // as in the cost file
  CHECK(json["interference"][0]["noise"] == true);
  CHECK(json["interference"][1]["noise"] == false);
}

TEST_CASE("the verdict of a profile") {
  CostTable table;
  table.machine = "here";
  const auto verdict = [&] {
    const std::string text = FormatProfileReport(table, {}, 1);
    const std::string found = ProfileReportJson(table, {}, 1)["verdict"];
    CHECK(text.starts_with("verdict  " + found + "\n"));
    return found;
  };
  CHECK(verdict() ==
        "not judged: no placements were held out of the calibration; `emplace validate` executes "
        "some");
  // 100, 110 ... 150 simulated, all measured 2 % longer: every pair is in order.
  for (int i = 0; i < 6; ++i) {
    table.held_out.push_back({"g", std::to_string(i), 100. + 10 * i, 102. + 10.2 * i, 3});
  }
  CHECK(verdict() ==
        "errors 2.0 %, 100 % of clear pairs in order: reliable for differences above 1 %");
  // Of h one of six takes half as long again: log ratios 0 and ln 1.5, 5 of 15 pairs. 16 * 0.9 is
  // rank 14.4.
  for (int i = 0; i < 6; ++i) {
    table.held_out.push_back(
        {"h", std::to_string(i), 100. + 10 * i, (i == 0 ? 150. : 100. + 10 * i), 3});
  }
  CHECK(verdict().starts_with("not reliable: errors 5.6 %"));
  CHECK(Contains(verdict(),
                 "placements whose simulated times differ by up to 50 % may be in the wrong order "
                 "(the worst of 2 graphs, h)"));
  // Timings of one op between 60 and 140: half of the interval is 40 % of the median.
  table.kinds.emplace_back();
  table.kinds[0].ops.push_back({.signature = "op", .isolated = Timing{100, 60, 140, 3}});
  CHECK(verdict().starts_with("too noisy to judge: the timings of an op differ by 40 % of it"));
  table.properties["drift"] =
      "phase \"ops\", attempt 3 of 3: the reference product on core:0 takes long";
  CHECK(verdict().starts_with(
      "too noisy to judge: phase \"ops\", attempt 3 of 3: the reference product"));
}

TEST_CASE("a report tells what fits are worth for the time of a graph") {
  const auto graph = std::make_shared<const Graph>(Perceptron().Build());
  const std::vector<std::shared_ptr<const Graph>> graphs = {graph};
  CostTable table = MakeTable(*graph);
  // The fit of the kind comes before that of the class: 1,800 ns are off by 40 %, 300 ns by 1 %.
  table.kinds[0].by_op["aten.mm"] = {.error = 0.4};
  table.kinds[0].by_class["elementwise"] = {.error = 0.01};
  CHECK(Contains(FormatProfileReport(table, graphs, 1),
                 "an error of at most 40.0 % for half of the time, at most 15 % for 14.3 %"));
  table.kinds[0].by_op.clear();
  table.kinds[0].by_class.clear();
  CHECK(Contains(FormatProfileReport(table, graphs, 1),
                 "estimated from the other measurements instead: no fit for half of the time, at "
                 "most 15 % for 0.0 %"));
  CHECK(ProfileReportJson(table, graphs, 1)["graphs"][0]["fit_error"].dump() == "null");
}

TEST_CASE("a report tells how far off held-out placements are") {
  CostTable table;
  table.machine = "here";
  for (int i = 1; i <= 9; ++i) table.held_out.push_back({"g", std::to_string(i), 100, 125, 3});
  table.held_out.push_back({"h", "1", 110, 100, 3});
  const std::string text = FormatProfileReport(table, {}, 1);
  CHECK(Contains(text, "held-out steps"));
  CHECK(Contains(text, "20.0 %"));  // 100 / 125 - 1
  CHECK(Contains(text, "+25.0 % .. +25.0 %"));
  const auto json = ProfileReportJson(table, {}, 1);
  REQUIRE(json["held_out"].size() == 2);
  CHECK(json["held_out"][0]["graph"] == "g");
  CHECK(json["held_out"][0]["placements"] == 9);
  CHECK(json["held_out"][0]["mape"].get<double>() == doctest::Approx(0.2));
  CHECK(json["held_out"][0]["low_ratio"].get<double>() == doctest::Approx(1.25));
  CHECK(json["held_out"][0]["high_ratio"].get<double>() == doctest::Approx(1.25));
  CHECK(json["held_out"][1]["high_ratio"] == nullptr);
  table.held_out.clear();
  CHECK(!Contains(FormatProfileReport(table, {}, 1), "held-out"));
}

TEST_CASE("a profile without graphs and without links still has a report") {
  CostTable table;
  table.machine = "here";
  table.kinds.emplace_back();
  table.kinds[0].kind.name = "core";
  const std::string text = FormatProfileReport(table, {}, 1);
  CHECK(Contains(text, "core"));
  CHECK(!Contains(text, "link"));
  CHECK(!Contains(text, "dispatch"));
}

}  // namespace
