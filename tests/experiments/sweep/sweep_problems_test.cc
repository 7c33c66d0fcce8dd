#include "experiments/sweep/sweep_problems.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "framework/base/error.h"
#include "tests/experiments/layered_graph.h"
#include "tests/experiments/program_files.h"
#include "tests/support/text.h"

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

TEST_CASE("an agent that refuses a problem ends the sweep, unless refusals are allowed") {
  const TempDir folder;
  WriteText(folder / "g.json", LayeredJson(12));
  WriteText(folder / "c.yaml", ClusterYaml());
  const auto check = [&](const std::string& more, const std::string& objectives) {
    WriteText(folder / "s.yaml",
              "base: {graph: g.json, cluster: c.yaml, agents: [random, period_multilevel]}\n"
              "grid: {objective: [" +
                  objectives + "]}\n" + more);
    const SweepPlan plan = ReadSweepPlan(folder / "s.yaml", {}, AllAgents());
    CheckAgents(plan, LoadSweepProblems(plan));
  };
  const std::string refusal = "the agent searches for the period only";
  const auto refused = [&](const std::string& more, const std::string& objectives) {
    return Contains(MessageOf<InputError>([&] { check(more, objectives); }), refusal);
  };
  CHECK(refused("", "period, step_time"));
  check("allow_refusals: true\n", "step_time, period");
  CHECK(refused("allow_refusals: true\n", "step_time"));
}

}  // namespace
