#include "experiments/run/run_problem.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include "agents/registry.h"
#include "experiments/report/report_runs.h"
#include "experiments/run/run_execution.h"
#include "experiments/run/run_resume.h"
#include "framework/base/error.h"
#include "framework/search/state.h"
#include "tests/experiments/layered_graph.h"
#include "tests/experiments/program_files.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

// A run and its results.
struct MadeRun {
  RunPlan plan;
  LoadedProblem problem;
  fs::path results;

  ProblemId id() const { return IdOf(plan, problem); }
};

// A run, and for each part of a problem one that differs from it in this part alone.
struct RunsOfParts {
  TempDir folder;
  MadeRun first;
  std::vector<MadeRun> others;  // by part

  RunsOfParts() {
    WriteText(folder / "run.yaml",
              "graph: g.json\ncluster: c.yaml\nsemantics: stream\nagents: [random]\n"
              "budget: {evaluations: 3}\n");
    const std::string graph = LayeredJson(20), cluster = ClusterYaml();
    first = Make("first", graph, cluster, {});
    const auto differ = [&](const std::string& graph,
                            const std::string& cluster,
                            const std::vector<std::string>& settings) {
      others.push_back(Make(std::to_string(others.size()), graph, cluster, settings));
    };
    differ(Replaced(graph, "\"op7\"", "\"op7x\""), cluster, {});
    differ(graph, cluster, {"coarsen=[{merge_cheapest: {groups: 10}}]"});
    differ(graph, Replaced(cluster, "latency: 5us", "latency: 6us"), {});
    differ(Replaced(graph, "\"g\": ", "\"g\": 9"), cluster, {});
    differ(graph, cluster, {"objective=period"});
    differ(graph, cluster, {"count_gaps=true"});
    differ(graph, cluster, {"priority=upward_rank"});
  }

  // The parts in which a comparison tells the first run from another.
  std::string Seen(const std::function<bool(const MadeRun&)>& differs) const {
    std::vector<std::string_view> parts;
    for (const ProblemPart part : kAllParts) {
      if (differs(others[static_cast<size_t>(part)])) parts.push_back(ToString(part));
    }
    return fmt::format("{}", fmt::join(parts, " "));
  }

 private:
  static std::string Replaced(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  }
  MadeRun Make(const std::string& name,
               const std::string& graph,
               const std::string& cluster,
               const std::vector<std::string>& settings) const {
    WriteText(folder / "g.json", graph);
    WriteText(folder / "c.yaml", cluster);
    const RunPlan plan = ReadRunPlan(folder / "run.yaml", settings, AllAgents());
    Run run = PrepareRun(plan, LoadProblem(plan));
    const fs::path results = folder / (name + ".h5");
    ExecuteRun(run, {.output = results, .quiet = true});
    return {plan, std::move(run.problem), results};
  }
};

template <class Compare>
bool Refuses(const Compare& compare) {
  try {
    compare();
    return false;
  } catch (const InputError&) {
    return true;
  }
}

TEST_CASE("which comparison counts which parts of a problem") {
  const RunsOfParts runs;
  const MadeRun& first = runs.first;
  for (const ProblemPart part : kAllParts) {
    const MadeRun& other = runs.others[static_cast<size_t>(part)];
    CHECK(Differing(first.id(), other.id()) == std::vector{part});
    CHECK(ReadProblemId(ResultsReader(other.results)) == other.id());
  }
  const std::string all = "graph groups cluster costs objective semantics order";
  // Bounds and best step times in tables, and what `emplace certify` and `stress` take together.
  CHECK(runs.Seen([&](const MadeRun& other) {
    return RunsByProblem(ReadResultRuns({first.results, other.results})).size() == 2;
  }) == all);
  CHECK(runs.Seen([&](const MadeRun& other) {
    return GroupByProblem(ReadResultRuns({first.results, other.results})).size() == 2;
  }) == all);
  CHECK(runs.Seen([&](const MadeRun& other) {
    return Refuses([&] { ReadEarlierSearches(first.results, other.plan, other.problem); });
  }) == all);
  // The files of a run that `simulate` and `stress` read again, and those for a proof.
  CHECK(runs.Seen([&](const MadeRun& other) {
    return Refuses([&] { RequireSameFiles(first.results.string(), *other.problem.exact); });
  }) == "graph cluster costs");
  CHECK(runs.Seen([&](const MadeRun& other) {
    return Refuses(
        [&] { RequireSameFiles(first.results.string(), *other.problem.exact, kPartsOfProblem); });
  }) == "graph groups cluster costs objective");
  CHECK(runs.Seen([&](const MadeRun& other) {
    std::stringstream state;
    StateVisitor(static_cast<std::ostream&>(state)).Begin("random", *first.problem.searched);
    return Refuses([&] {
      StateVisitor(static_cast<std::istream&>(state)).Begin("random", *other.problem.searched);
    });
  }) == "graph groups cluster costs objective");
}

TEST_CASE("a refusal names the parts that differ") {
  const RunsOfParts runs;
  const auto refusal = [&](ProblemPart part) {
    const LoadedProblem& problem = runs.others[static_cast<size_t>(part)].problem;
    return MessageOf<InputError>(
        [&] { RequireSameFiles(runs.first.results.string(), *problem.exact, kPartsOfProblem); });
  };
  const std::string was = runs.first.results.string() + ": was made with another version of ",
                    advice = "; name the right files with --graph, --cluster and --costs";
  CHECK(refusal(ProblemPart::kGraph) == was + "graph \"small\"" + advice);
  CHECK(refusal(ProblemPart::kGroups) == was + "the groups" + advice);
  CHECK(refusal(ProblemPart::kCluster) == was + "cluster \"inline\"" + advice);
  CHECK(refusal(ProblemPart::kCosts) == was + "the costs" + advice);
}

}  // namespace
