// Runs and sweeps of planned steps: the key `plan`.

#include <cstdint>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/graph/graph_io.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/program_files.h"
#include "tests/framework/plan/sharded_steps.h"
#include "tests/framework/plan/training_steps.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

struct PlanFiles {
  TempDir folder;
  PlanFiles() {
    WriteText(folder / "planned.yaml",
              "graph: gpt2_mini_torch\ncluster: 4xk80\n"
              "coarsen: [colocate, gradients, {merge_cheapest: {groups: 12}}]\n"
              "plan: {replicas: 2, micro_batches: 2}\n"
              "agents: [single_device, hill_climb]\n"
              "budget: {evaluations: 100, seconds: none}\n");
  }
  ProcessResult Emplace(const std::vector<std::string>& arguments) const {
    ProcessOptions options;
    options.folder = folder.path();
    return RunEmplace(arguments, options);
  }
};

TEST_CASE("agents place a planned step, and its results are read again with the plan") {
  const PlanFiles files;
  const ProcessResult run = files.Emplace({"run", "planned.yaml", "--quiet"});
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  {
    const ResultsReader reader(files.folder / "results/planned.h5");
    // 12 groups in each replica and an all-reduce for each bucket.
    const std::vector<std::string> devices = reader.Strings("/problem/device_names");
    CHECK(devices.back() == "network");
    CHECK(reader.Text("/config", "yaml").find("replicas: 2") != std::string::npos);
  }
  // Commands that read a run make its problem again.
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"stress", "results/planned.h5", "--draws", "2", "--steps", "0"},
        {"certify", "results/planned.h5", "--seconds", "0.1"},
        {"run", "planned.yaml", "--resume", "--quiet"}}) {
    const ProcessResult again = files.Emplace(command);
    CAPTURE(again.err);
    CHECK(again.exit_code == 0);
  }
  // Another plan is another problem.
  CheckRefused(files.Emplace({"run",
                              "planned.yaml",
                              "--resume",
                              "--set",
                              "plan.replicas=1",
                              "-o",
                              "results/planned.h5"}),
               2,
               {"was made with another config, see plan.replicas (2 there, 1 now)"});
}

TEST_CASE("a sweep varies the plan; plans that do not fit the cluster are refused with the place") {
  const PlanFiles files;
  WriteText(files.folder / "plans.yaml",
            "base:\n  graph: gpt2_mini_torch\n  cluster: 4xk80\n"
            "  coarsen: [colocate, gradients, {merge_cheapest: {groups: 12}}]\n"
            "  agents: [hill_climb]\n  budget: {evaluations: 50, seconds: none}\n"
            "grid:\n  plan.replicas: [1, 2]\n  plan.micro_batches: [1, 3]\n");
  const ProcessResult sweep = files.Emplace({"sweep", "plans.yaml", "--quiet"});
  CAPTURE(sweep.err);
  CHECK(sweep.exit_code == 0);
  std::set<std::int64_t> graphs;
  for (int run = 0; run < 4; ++run) {
    const ResultsReader reader(files.folder / fmt::format("results/plans/runs/{:04}.h5", run));
    graphs.insert(reader.Int("/problem", "id_graph"));
  }
  CHECK(graphs.size() == 4);
  CheckRefused(files.Emplace({"run", "planned.yaml", "--quiet", "--set", "plan.replicas=3"}),
               2,
               {"replicas: the 4 GPUs of cluster \"4xk80\" do not divide among 3 replicas; "
                "choices: 1, 2, 4"});
  CheckRefused(files.Emplace({"run", "planned.yaml", "--set", "plan.recompute=[nothing*]"}),
               2,
               {"recompute: pattern \"nothing*\" matches no forward op"});
  CheckRefused(files.Emplace({"run", "planned.yaml", "--set", "plan.replica=2"}),
               2,
               {"plan: unknown key \"replica\"; did you mean \"replicas\"?"});
}

TEST_CASE("agents place rank 0 of a graph of ranks on blocks of devices, also without a plan") {
  const PlanFiles files;
  WriteText(files.folder / "chain.json", FormatGraph(*Sharded(ChainStep({}), 2, "ag")));
  WriteText(files.folder / "c.yaml",
            "name: four\ndevice_kinds: {gpu: {class: gpu, peak: {f32: 1PFLOP/s}, "
            "memory_bandwidth: 1TB/s}}\ndevices:\n"
            "  - {name: \"gpu:0\", kind: gpu}\n  - {name: \"gpu:1\", kind: gpu}\n"
            "  - {name: \"gpu:2\", kind: gpu}\n  - {name: \"gpu:3\", kind: gpu}\n"
            "all_to_all: {latency: 0ns, bandwidth: 1GB/s}\n");
  for (const std::string plan : {"", "plan: {replicas: 2}\n"}) {
    CAPTURE(plan);
    WriteText(files.folder / "ranks.yaml",
              "graph: chain.json\ncluster: c.yaml\nagents: [single_device]\n" + plan);
    const ProcessResult run = files.Emplace({"run", "ranks.yaml", "--quiet", "--force"});
    CAPTURE(run.err);
    REQUIRE(run.exit_code == 0);
    const ResultsReader reader(files.folder / "results/ranks.h5");
    std::vector<std::string> devices = {"gpu:0", "gpu:2", "ranks:0"};
    if (!plan.empty()) devices.insert(devices.begin() + 2, "network");
    CHECK(reader.Strings("/problem/device_names") == devices);
  }
}

}  // namespace
