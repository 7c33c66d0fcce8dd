#include "experiments/run/search_run.h"

#include <istream>
#include <memory>
#include <ostream>
#include <vector>

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "experiments/load.h"
#include "simulator/gpu_simulator.h"
#include "tests/experiments/layered_graph.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("a search on a GPU finds what it finds without, or says why there is none") {
  const TempDir folder;
  WriteText(folder / "g.json", LayeredJson(20));
  WriteText(folder / "c.yaml", ClusterYaml());
  const auto problem = MakeProblem(LoadGraph(folder / "g.json"),
                                   LoadCluster(folder / "c.yaml"),
                                   {},
                                   Objective::kStepTime,
                                   false,
                                   "test")
                           .searched;
  AgentSpec spec;
  spec.label = "random";
  spec.entry = &AllAgents().Find("random", "test");
  const SimulatorOptions stream{.semantics = Semantics::kStream};
  const Budget budget{.evaluations = 50};
  const SearchResult without = RunSearch(problem, stream, spec, 1, budget);
  REQUIRE(without.best);
  const SearchResult on_gpu = RunSearch(problem, stream, spec, 1, budget, nullptr, {}, 0);
  const std::string reason = WhyNoGpu(0);
  if (!reason.empty()) {
    CHECK(on_gpu.status == SearchStatus::kFailed);
    CHECK(on_gpu.error == reason);
    CHECK(!on_gpu.best);
    return;
  }
  REQUIRE(on_gpu.best);
  CHECK(on_gpu.best->placement == without.best->placement);
  CHECK(on_gpu.best->outcome.step_time == without.best->outcome.step_time);
}

// Proves 10 ns more in each step.
class Prover final : public Agent {
 public:
  explicit Prover(const AgentContext& context) : num_groups_(context.problem->num_groups()) {}
  void Step(Evaluator& evaluator) override {
    evaluator.Evaluate(Placement{std::vector<DeviceIndex>(num_groups_, 1)});
    bound_ += 10;
  }
  Nanos bound() const override { return bound_; }
  void Save(std::ostream& out) const override { out << bound_; }
  void Load(std::istream& in) override { in >> bound_; }

 private:
  int num_groups_;
  Nanos bound_ = 0;
};

TEST_CASE("what an agent proves is part of the result, and survives a checkpoint") {
  const TempDir folder;
  WriteText(folder / "g.json", LayeredJson(5));
  WriteText(folder / "c.yaml", ClusterYaml());
  const auto problem = MakeProblem(LoadGraph(folder / "g.json"),
                                   LoadCluster(folder / "c.yaml"),
                                   {},
                                   Objective::kStepTime,
                                   false,
                                   "test")
                           .searched;
  AgentEntry entry;
  entry.name = "prover";
  entry.make = [](const AgentContext& context, const ConfigNode&) {
    return std::make_unique<Prover>(context);
  };
  const AgentSpec spec{.label = "mine", .entry = &entry, .settings = {}};
  const SearchResult whole = RunSearch(problem, {}, spec, 0, {.steps = 3});
  CHECK(whole.error == "");
  CHECK(whole.bound == 30);
  CHECK(FittingTime(whole) == whole.best->outcome.step_time);
  SearchResult earlier = whole;
  earlier.checkpoint = "30";
  CHECK(RunSearch(problem, {}, spec, 0, {.steps = 3}, &earlier).bound == 30);  // nothing left to do
  CHECK(RunSearch(problem, {}, spec, 0, {.steps = 5}, &earlier).bound == 50);
  // A step that the budget cuts off has proven nothing.
  CHECK(RunSearch(problem, {}, spec, 0, {.evaluations = 2}).bound == 20);
  CHECK(RunSearch(problem, {}, spec, 0, {.evaluations = 0}).bound == 0);
}

TEST_CASE("the time of a result that fits") {
  SearchResult result;
  CHECK_FALSE(FittingTime(result));
  result.best.emplace();
  result.best->outcome.step_time = 7;
  CHECK(FittingTime(result) == 7);
  result.best->outcome.feasible = false;
  CHECK_FALSE(FittingTime(result));
}

}  // namespace
