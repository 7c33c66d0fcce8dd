#include "experiments/sweep/sweep_problems.h"

#include <vector>

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "tests/experiments/layered_graph.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// Costs and intervals depend on the semantics.
TEST_CASE("configs that differ in budgets share a problem, those that differ in semantics do not") {
  const TempDir folder;
  WriteText(folder / "g.json", LayeredJson(12));
  WriteText(folder / "c.yaml", ClusterYaml());
  WriteText(folder / "s.yaml",
            "base: {graph: g.json, cluster: c.yaml, agents: [random]}\n"
            "grid: {semantics: [queue, stream], budget.evaluations: [5, 6]}\n");
  const SweepPlan plan = ReadSweepPlan(folder / "s.yaml", {}, AllAgents());
  const SweepProblems problems = LoadSweepProblems(plan);
  CHECK(problems.problems.size() == 2);
  CHECK(problems.of_config == std::vector{0, 0, 1, 1});
}

}  // namespace
