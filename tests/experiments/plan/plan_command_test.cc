// `emplace plan`: its output, its files and its refusals.

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/base/file.h"
#include "framework/base/json.h"
#include "framework/graph/graph_io.h"
#include "tests/experiments/program_files.h"
#include "tests/framework/plan/sharded_steps.h"
#include "tests/framework/plan/training_steps.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

/// A placement of the chain on the cluster c.yaml.
std::string ChainPlacement(const std::string& devices) {
  return R"({"format": "emplace-placement", "version": 1, "graph": "chain", "cluster": "four",
             "devices": {)" +
         devices + "}}";
}

struct PlanFiles {
  TempDir folder;

  PlanFiles() {
    for (const int size : {1, 2}) Write("b" + std::to_string(size) + ".json", size);
    WriteText(folder / "none.json", FormatGraph(ChainStep({.layers = 4})));
    WriteText(folder / "plan.yaml", "replicas: 2\nmicro_batches: 3\nrecompute: [f1]\n");
    WriteText(folder / "c.yaml",
              "name: four\ndevice_kinds:\n  gpu: {class: gpu, peak: {f32: 1PFLOP/s}, "
              "memory_bandwidth: 1TB/s}\ndevices:\n"
              "  - {name: \"gpu:0\", kind: gpu, memory: 1MiB}\n"
              "  - {name: \"gpu:1\", kind: gpu, memory: 1MiB}\n"
              "  - {name: \"gpu:2\", kind: gpu, memory: 1MiB}\n"
              "  - {name: \"gpu:3\", kind: gpu, memory: 1MiB}\n"
              "all_to_all: {latency: 10ns, bandwidth: 1GB/s, gap: 0us}\n");
  }
  void Write(const std::string& name, int size) const {
    const Graph step = ChainStep({.layers = 4,
                                  .forward = 300.0 * size,
                                  .backward = 500.0 * size,
                                  .update = 200,
                                  .weights = 4000,
                                  .activation = 40 * size});
    std::vector<Tensor> tensors(step.tensors().begin(), step.tensors().end());
    for (Tensor& tensor : tensors) tensor.producer = -1;
    const Graph with_source("chain",
                            std::move(tensors),
                            {step.ops().begin(), step.ops().end()},
                            "{\"batch\":" + std::to_string(size) + "}");
    WriteText(folder / name, FormatGraph(with_source));
  }
  ProcessResult Run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "plan");
    return RunEmplace(arguments, {.folder = folder.path()});
  }
  ProcessResult Plan(std::vector<std::string> more, const std::string& graph = "b1.json") const {
    std::vector<std::string> arguments = {graph, "--cluster", "c.yaml", "--plan", "plan.yaml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
  ProcessResult Search(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {
        "b1.json", "b2.json", "--cluster", "c.yaml", "--batch", "8", "--layers", "f*"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
  /// Simulates what was written to a folder.
  Json Simulated(const std::string& written) const {
    const ProcessResult result = RunEmplace({"simulate",
                                             "--graph",
                                             written + "/graph.json.gz",
                                             "--cluster",
                                             written + "/cluster.yaml",
                                             "--placement",
                                             written + "/placement.json.gz"},
                                            {.folder = folder.path()});
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    return Json::parse(result.out);
  }
};

TEST_CASE("a graph of ranks runs on blocks of devices, and the written files are ordinary ones") {
  const PlanFiles files;
  const auto sharded = Sharded(ChainStep({.layers = 4}), 2, "ag");
  WriteText(files.folder / "two.json", FormatGraph(*sharded));
  for (const std::string semantics : {"stream", "queue"}) {
    const ProcessResult result =
        files.Plan({"--semantics", semantics, "--write", "out", "--json"}, "two.json");
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    const Json plan = Json::parse(result.out);
    CHECK(plan["cluster"] == "four in blocks of 2");
    CHECK(plan["ranks"] == 2);
    CHECK(plan["stages"] == 1);
    CHECK(plan["devices"].contains("gpu:2"));
    CHECK(!plan["devices"].contains("gpu:1"));
    CHECK(files.Simulated("out")["step_time_ns"] == plan["step_time_ns"]);
  }
  WriteText(files.folder / "three.json", FormatGraph(*Sharded(ChainStep({}), 3, "ag")));
  const ProcessResult refused = files.Plan({}, "three.json");
  CHECK(refused.exit_code == 2);
  CHECK(refused.err ==
        "emplace: chain: its 3 ranks do not divide the 4 GPUs of cluster \"four\"; choices: 1, 2, "
        "4\n");
}

TEST_CASE("one plan: emplace simulate of the written files gives the same") {
  const PlanFiles files;
  for (const std::string semantics : {"stream", "queue"}) {
    CAPTURE(semantics);
    for (const std::string schedule : {"gpipe", "1f1b"}) {
      const ProcessResult result = files.Plan(
          {"--semantics", semantics, "--schedule", schedule, "--write", "out", "--json"});
      CAPTURE(result.err);
      REQUIRE(result.exit_code == 0);
      CHECK(result.err == "");
      const Json plan = Json::parse(result.out);
      CHECK(plan["replicas"] == 2);
      CHECK(plan["stages"] == 2);
      CHECK(plan["micro_batches"] == 3);
      CHECK(plan["feasible"] == true);
      // Without files, one of the two replicas is simulated.
      const auto alone = files.Plan({"--semantics", semantics, "--schedule", schedule, "--json"});
      CHECK(alone.out == result.out);
      const Json simulated = files.Simulated("out");
      CHECK(simulated["step_time_ns"] == plan["step_time_ns"]);
      CHECK(simulated["simulated"]["semantics"] == semantics);
      for (const char* device : {"gpu:0", "gpu:3"}) {
        CHECK(simulated["devices"][device] == plan["devices"][device]);
      }
      CHECK(Contains(ReadFile(files.folder / "out/timeline.svg"),
                     "chain on four: 2 replicas, 2 stages, 3 micro-batches, " + schedule));
    }
  }
  const ProcessResult period = files.Plan({"--objective", "period", "--write", "out", "--json"});
  REQUIRE(period.exit_code == 0);
  const Json plan = Json::parse(period.out), simulated = files.Simulated("out");
  CHECK(plan["objective"] == "period");
  CHECK(simulated["simulated"]["objective"] == "period");
  CHECK(simulated["step_time_ns"] == plan["step_time_ns"]);
  CHECK(Contains(files.Plan({"--objective", "period"}).out, "\nperiod "));
  const std::string text = files.Plan({}).out;
  CHECK(Contains(text, "chain on four: 2 replicas, 2 stages, 3 micro-batches, 1f1b, stream"));
  CHECK(Contains(text, "bubble"));
}

TEST_CASE("one plan: interleaved") {
  const PlanFiles files;
  WriteText(files.folder / "plan.yaml", "replicas: 2\nmicro_batches: 4\n");
  const std::vector<std::string> options = {"--schedule", "interleaved"};
  for (const std::string semantics : {"stream", "queue"}) {
    const ProcessResult result = files.Plan(
        {"--schedule", "interleaved", "--semantics", semantics, "--write", "out", "--json"});
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    const Json plan = Json::parse(result.out);
    CHECK(plan["stages"] == 2);
    CHECK(plan["schedule"] == "interleaved");
    CHECK(plan["virtual_stages"] == 2);
    CHECK(files.Simulated("out")["step_time_ns"] == plan["step_time_ns"]);
    CHECK(Contains(ReadFile(files.folder / "out/timeline.svg"),
                   "2 replicas, 2 stages, 4 micro-batches, interleaved x 2; step time"));
  }
  CheckRefused(files.Plan({"--schedule", "interleaved", "--virtual-stages", "0"}),
               2,
               {"--virtual-stages", "0"});
  CheckRefused(
      files.Plan({"--schedule", "interleaved", "--virtual-stages", "3"}),
      2,
      {"--virtual-stages: got 3, expected at most 2, as 2 stages share 4 layers (merged ops)"});
  CheckRefused(files.Plan({"--virtual-stages", "2"}),
               2,
               {"--virtual-stages: got 2, and a device has one with 1f1b"});
  CheckRefused(files.Search({"--virtual-stages", "2"}), 2, {"--virtual-stages: applies to --plan"});
  WriteText(files.folder / "plan.yaml", "replicas: 2\nmicro_batches: 3\n");
  CheckRefused(files.Plan(options),
               2,
               {"plan.yaml:2:", "micro_batches: got 3, expected a multiple of the 2 stages"});
  WriteText(files.folder / "plan.yaml", "replicas: 4\nmicro_batches: 2\n");
  CheckRefused(files.Plan(options), 2, {"--schedule: interleaved needs several stages"});
}

TEST_CASE("one plan: a placement of the first replica is mirrored") {
  const PlanFiles files;
  std::string devices;
  const Graph step = ChainStep({.layers = 4});
  for (const Op& op : step.ops()) {
    devices += (devices.empty() ? "\"" : ",\"") + op.name +
               "\":\"gpu:" + (op.name.back() == '3' ? "0" : "1") + "\"";
  }
  WriteText(files.folder / "p.json", ChainPlacement(devices));
  const ProcessResult result = files.Plan({"--placement", "p.json", "--json"});
  REQUIRE(result.exit_code == 0);
  const Json plan = Json::parse(result.out);
  CHECK(plan["devices"]["gpu:0"]["busy_ns"] == plan["devices"]["gpu:2"]["busy_ns"]);
  CHECK(plan["devices"]["gpu:1"]["busy_ns"] == plan["devices"]["gpu:3"]["busy_ns"]);
  CHECK(plan["devices"]["gpu:0"]["busy_ns"] < plan["devices"]["gpu:1"]["busy_ns"]);
  const std::size_t at = devices.find("gpu:1");
  WriteText(files.folder / "p.json", ChainPlacement(devices.replace(at, 5, "gpu:2")));
  CheckRefused(files.Plan({"--placement", "p.json"}), 2, {"p.json", "gpu:2"});
}

TEST_CASE("a search: ops of the best pipeline are moved one by one") {
  // A batch of 4 has one replica on 3 devices, and 4 equal layers are no 3 equal stages.
  const PlanFiles files;
  std::string cluster = ReadFile(files.folder / "c.yaml");
  const std::string last = "  - {name: \"gpu:3\", kind: gpu, memory: 1MiB}\n";
  cluster.replace(cluster.find(last), last.size(), "");
  const std::string slow = "bandwidth: 1GB/s";  // weights of 4 kB would take 4 us
  WriteText(files.folder / "three.yaml",
            cluster.replace(cluster.find(slow), slow.size(), "bandwidth: 1TB/s"));
  const ProcessResult result = files.Run({"b1.json",
                                          "--cluster",
                                          "three.yaml",
                                          "--batch",
                                          "4",
                                          "--layers",
                                          "f*",
                                          "-o",
                                          "best",
                                          "--json"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const Json json = Json::parse(result.out);
  REQUIRE(json["moved_ops"].is_object());
  CHECK(json["moved_ops"]["ops"] > 0);
  CHECK(json["moved_ops"]["step_time_ns"] < json["plans"][0]["step_time_ns"]);
  CHECK(files.Simulated("best")["step_time_ns"] == json["plans"][0]["step_time_ns"]);
  CHECK(files.Simulated("best/moved")["step_time_ns"] == json["moved_ops"]["step_time_ns"]);
}

TEST_CASE("what is refused") {
  const PlanFiles files;
  CheckRefused(files.Run({"b1.json", "--cluster", "c.yaml"}), 2, {"--batch or --plan"});
  CheckRefused(files.Run({"b1.json", "--batch", "8"}), 2, {"--cluster"});
  CheckRefused(files.Plan({"--batch", "8"}), 2, {"--batch", "--plan"});
  CheckRefused(files.Plan({"--schedule", "dualpipe"}), 2, {"dualpipe", "gpipe, 1f1b"});
  WriteText(files.folder / "plan.yaml", "replicas: 3\n");
  CheckRefused(files.Plan({}), 2, {"plan.yaml:1:", "3 replicas", "choices: 1, 2, 4"});
  WriteText(files.folder / "plan.yaml", "recompute: [\"g*\"]\n");
  CheckRefused(files.Plan({}), 2, {"\"g*\"", "matches no forward op"});
  WriteText(files.folder / "plan.yaml", "replica: 2\n");
  CheckRefused(files.Plan({}), 2, {"plan.yaml:1:1", "replica"});

  CheckRefused(files.Search({"none.json"}), 2, {"none.json: source.batch is missing"});
  CheckRefused(files.Search({"b1.json"}), 2, {"b1.json: has the batch of 1"});
  CheckRefused(files.Search({"--objective", "tempo"}), 2, {"--objective", "step_time", "period"});
  CheckRefused(files.Search({"--write", "out"}), 2, {"--write", "-o"});
  CheckRefused(files.Run({"b2.json", "--cluster", "c.yaml", "--batch", "7"}),
               2,
               {"b2.json: its batch of 2 does not divide --batch 7"});
  CheckRefused(files.Run({"b1.json", "--cluster", "c.yaml", "--batch", "4", "--layers", "g*"}),
               2,
               {"layers \"g*\" match no block", "choices: \"f0\""});
}

TEST_CASE("a search: its table, its best plan, and the same again") {
  const PlanFiles files;
  const ProcessResult result = files.Search({"-o", "best"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.err == "");
  CHECK(files.Search({}).out == result.out);
  for (const char* part :
       {"data parallel", "one pipeline", "bound over all plans", "gap", "4 layers"}) {
    CAPTURE(part);
    CHECK(Contains(result.out, part));
  }
  const Json json = Json::parse(files.Search({"--json"}).out);
  CHECK(json["complete"] == true);
  const Json& best = json["plans"][0];
  CHECK(json["bound_ns"] <= best["step_time_ns"]);
  CHECK(files.Simulated("best")["step_time_ns"] == best["step_time_ns"]);
  CHECK(best["step_time_ns"] <= json["usual"]["data parallel"]["step_time_ns"]);
  CHECK(best["step_time_ns"] <= json["usual"]["one pipeline"]["step_time_ns"]);
  // The written plan can be read again.
  CHECK(
      files
          .Run(
              {best["graph"].get<std::string>(), "--cluster", "c.yaml", "--plan", "best/plan.yaml"})
          .exit_code == 0);
  const ProcessResult memory = files.Search({"--memory-only"});
  CHECK(memory.exit_code == 0);
  CHECK(Contains(memory.out, "degrees fit"));
}

}  // namespace
