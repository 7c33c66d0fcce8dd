#include "experiments/run/search_run.h"

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

}  // namespace
