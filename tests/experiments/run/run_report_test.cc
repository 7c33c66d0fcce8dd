// The end of `emplace run` with costs that have held-out placements.

#include "experiments/run/run_report.h"

#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/cost/cost_table.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/program_files.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("the best has an interval; overlapping ones call no agent equal") {
  const TempDir folder;
  WriteText(folder / "g.json", DiamondJson());
  WriteText(folder / "c.yaml", ClusterYaml());
  WriteText(folder / "run.yaml",
            "graph: g.json\ncluster: c.yaml\ncosts: costs.json\nsemantics: stream\n"
            "agents: [heft, {name: contiguous, devices: all}]\n");
  const auto run = [&](double unit, int count = 9) {
    // Log ratios unit, 2 unit ... 9 unit: measured times are longer throughout.
    CostTable table;
    table.machine = "elsewhere";
    for (const char* kind : {"c", "g"}) table.kinds.emplace_back().kind.name = kind;
    const std::string graph = nlohmann::json::parse(DiamondJson())["name"];
    for (int i = 1; i <= count; ++i) {
      table.held_out.push_back(
          {graph, fmt::format("random {}", i), 1000, 1000 * std::exp(unit * i), 3});
    }
    WriteText(folder / "costs.json", FormatCostTable(table));
    const ProcessResult result =
        RunEmplace({"run", "run.yaml", "-o", "r.h5", "--quiet"}, {.folder = folder.path()});
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    CHECK(Contains(result.out, "interval [") == (count == 9));
    CHECK(Contains(result.out, "from 9 held-out placements of ") == (count == 9));
    CHECK(Contains(result.out, "resolves ") ==
          ResultsReader(folder / "r.h5").HasAttribute("/problem", "resolved_difference"));
    CHECK(!Contains(result.out, "equal"));
    std::filesystem::remove(folder / "r.h5");
    return result.out;
  };
  // 6.3 units of 1 % (prediction_interval_test.cc): e^0.063 - 1.
  const std::string narrow = run(0.01);
  CHECK(
      Contains(narrow, "\nresolves differences above 6.5 % (right for 95 % of held-out pairs); "));
  // Of 100 %: whoever is within that is named with its difference.
  const std::string wide = run(1);
  CHECK(Contains(wide, "closer to the best: contiguous (+"));
  // Five have no interval, and ten pairs: 11 * 0.9 is rank 9.9, between 0.03 and 0.04.
  CHECK(Contains(run(0.01, 5), "\nresolves differences above 4.0 % "));
  CHECK(!Contains(run(0.01, 4), "resolves "));
}

}  // namespace
