// The problems of configs/problems/ and their certificates (README.md there).

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "experiments/problem/load.h"
#include "experiments/run/run_config.h"
#include "framework/bounds/lower_bound.h"
#include "framework/config/config_node.h"
#include "simulator/simulator.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

const std::filesystem::path kProblems = SourceDir() / "configs" / "problems";

std::vector<std::filesystem::path> ProblemFiles(const std::string& extension) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kProblems)) {
    if (entry.path().filename().string().ends_with(extension)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct SmallProblem {
  std::shared_ptr<const Problem> problem;
  std::unique_ptr<Evaluator> simulator;
};

SmallProblem LoadSmallProblem(const std::filesystem::path& path) {
  const RunPlan plan = ReadRunPlan(path, {}, AllAgents());
  const auto problem = MakeProblem(LoadGraph(plan.graph),
                                   LoadCluster(plan.cluster),
                                   plan.passes,
                                   plan.objective,
                                   plan.config.simulate_groups,
                                   path.string())
                           .searched;
  return {problem, MakeSimulator(problem, plan.SimulatorFor(*problem))};
}

/// The least objective of all placements that fit, on two devices.
Nanos LeastOfAll(const SmallProblem& small) {
  Nanos least = kMaxNanos;
  const int groups = small.problem->num_groups();
  REQUIRE(small.problem->num_devices() == 2);
  std::vector<Placement> placements;
  for (std::uint32_t code = 0; code < 1u << groups; ++code) {
    Placement placement;
    for (int g = 0; g < groups; ++g) placement.device.push_back(code >> g & 1);
    placements.push_back(placement);
  }
  for (const Outcome& outcome : small.simulator->Evaluate(placements)) {
    if (outcome.feasible) least = std::min(least, outcome.step_time);
  }
  return least;
}

TEST_CASE("certificates tell the optimum") {
  int enumerated = 0;
  for (const auto& path : ProblemFiles(".certificate.yaml")) {
    CAPTURE(path.string());
    const ConfigNode certificate = ConfigNode::FromFile(path);
    certificate.RequireKnownKeys(std::vector<std::string>{
        "optimum_ns", "devices", "groups", "proven_by", "date", "seconds"});
    const std::string file = path.string();
    const SmallProblem small =
        LoadSmallProblem(file.substr(0, file.rfind(".certificate.yaml")) + ".yaml");
    const Problem& problem = *small.problem;
    const Nanos optimum = certificate.At("optimum_ns").AsInt();
    CHECK(certificate.At("groups").AsInt() == problem.num_groups());
    CHECK_FALSE(certificate.At("proven_by").AsString().empty());
    CHECK(certificate.At("date").AsString().size() == std::string("YYYY-MM-DD").size());
    CHECK(certificate.At("seconds").AsDouble() >= 0);

    Placement placement;
    for (const ConfigNode& device : certificate.At("devices").Elements()) {
      const int index = problem.cluster().FindDevice(device.AsString());
      REQUIRE(index >= 0);
      placement.device.push_back(static_cast<DeviceIndex>(index));
    }
    REQUIRE(static_cast<int>(placement.device.size()) == problem.num_groups());
    const Outcome outcome = small.simulator->Evaluate(placement);
    CHECK(outcome.feasible);
    CHECK(outcome.step_time == optimum);

    const LowerBound bound = ProveBound(problem);
    CHECK(bound.value <= optimum);
    if (certificate.At("proven_by").AsString() == "work") CHECK(bound.value == optimum);
    if (problem.num_groups() <= 12) {
      CHECK(LeastOfAll(small) == optimum);
      ++enumerated;
    }
  }
  CHECK(enumerated >= 3);
}

TEST_CASE("every problem can be run, and every planted one has a certificate") {
  int problems = 0;
  for (const auto& path : ProblemFiles(".yaml")) {
    const std::string name = path.filename().string();
    if (!ConfigNode::FromFile(path).Has("graph")) continue;
    CAPTURE(name);
    ++problems;
    const SmallProblem small = LoadSmallProblem(path);
    const bool planted = name.starts_with("planted_");
    CHECK(small.problem->num_groups() >= 12);
    if (!planted) CHECK(small.problem->num_groups() <= 24);
    if (planted)
      CHECK(std::filesystem::exists(kProblems / (path.stem().string() + ".certificate.yaml")));
  }
  CHECK(problems >= 12);
}

}  // namespace
