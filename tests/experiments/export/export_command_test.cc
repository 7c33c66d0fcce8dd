// `emplace export` of a small run and of placement files, and what it refuses.

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/base/json.h"
#include "framework/graph/graph_io.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/export/export_graph.h"
#include "tests/experiments/program_files.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

struct ExportFiles {
  TempDir folder;

  ExportFiles() {
    WriteText(folder / "g.json", DiamondJson());
    WriteText(folder / "net.json", FormatGraph(*ModuleGraph(SmallNet())));
    WriteText(folder / "c.yaml", ClusterYaml());
    WriteText(folder / "p.json",
              PlacementJson(R"("a": "gpu:0", "b": "gpu:0", "c": "gpu:1", "d": "gpu:0")"));
  }
  ProcessResult Run(const std::vector<std::string>& arguments) const {
    return RunEmplace(arguments, {.folder = folder.path()});
  }
  ProcessResult Export(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "export");
    return Run(arguments);
  }
  ProcessResult ExportPlacement(const std::string& graph,
                                const std::string& target,
                                std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"p.json", "--graph", graph, "--cluster", "c.yaml", "--to", target});
    return Export(more);
  }
};

TEST_CASE("TensorFlow's device strings of a placement, and the simulated time") {
  const ExportFiles files;
  const ProcessResult result =
      files.ExportPlacement("g.json", "tensorflow", {"--device-map", "gpu:1=/device:GPU:5"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(Json::parse(result.out).dump() ==
        R"({"a":"/job:localhost/replica:0/task:0/device:GPU:0",)"
        R"("b":"/job:localhost/replica:0/task:0/device:GPU:0","c":"/device:GPU:5",)"
        R"("d":"/job:localhost/replica:0/task:0/device:GPU:0"})");
  // 4030 us as simulate_command_test.cc calculates it.
  CHECK(result.err ==
        "placement        p.json of graph \"small\" on cluster \"inline\"\n"
        "as placed        4.030 ms\n"
        "as exported      4.030 ms\n");
}

TEST_CASE("a device_map tells its conflicts and what they cost") {
  const ExportFiles files;
  Json devices;
  const auto graph = ModuleGraph(SmallNet());
  for (const Op& op : graph->ops()) devices[op.name] = "gpu:0";
  devices["block.fc/mm"] = "gpu:1";
  WriteText(files.folder / "p.json",
            Json{{"format", "emplace-placement"}, {"version", 1}, {"devices", devices}}.dump());
  const ProcessResult result = files.ExportPlacement("net.json", "huggingface", {"-o", "map.json"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.out == "");
  CHECK(Json::parse(ReadText(files.folder / "map.json")).dump() ==
        R"({"emb":0,"pos":0,"block":1,"scale":0,"tower":0,"head":0})");
  // In the placement: arange 1, both embeddings 10 + 10 and add 5 on gpu:0; the sum (8 B in 5008
  // ns) goes to gpu:1, mm 100, and back 5008; block/add 7, tower 20 + 30 + 3, mul 4, head 200, loss
  // 2 + 1, backward 300 + 6, update 8 ns: 26 + 5008 + 100 + 5008 + 581 = 10723. The weight on gpu:0
  // goes to gpu:1 at the start, and arrives before the sum, but takes the channel until 8 ns: no
  // wait. As exported: the sum goes there (5008), 100, 7, and back to the tower, 5008: the same
  // time.
  CHECK(Contains(result.err, "  block: gpu:0 6.5 % (2 ops), gpu:1 93.5 % (1 ops) -> gpu:1\n"));
  CHECK(Contains(result.err, "as placed        10.72 us\nas exported      10.72 us\n"));
}

TEST_CASE("two devices of one name are told") {
  const ExportFiles files;
  const ProcessResult result = files.ExportPlacement(
      "g.json", "tensorflow", {"--device-map", "gpu:1=/device:GPU:0,gpu:0=/device:GPU:0"});
  CHECK(result.exit_code == 0);
  CHECK(Contains(result.err,
                 "emplace: warning: devices \"gpu:0\" and \"gpu:1\" are both exported as "
                 "\"/device:GPU:0\", but the simulation had two devices\n"));
}

TEST_CASE("a placement that does not fit is exported and said so") {
  const ExportFiles files;
  WriteText(files.folder / "c.yaml", ClusterYaml("2500000B"));
  const ProcessResult result = files.ExportPlacement("g.json", "json");
  CHECK(result.exit_code == 0);
  CHECK(Contains(result.err, "does not fit (488.28 KiB missing on gpu:0)"));
}

TEST_CASE("the best placement of a run, or that of an agent") {
  const ExportFiles files;
  WriteText(files.folder / "run.yaml",
            "graph: g.json\ncluster: c.yaml\nagents: [single_cpu, single_gpu, random]\n"
            "seeds: [0, 1]\nbudget: {evaluations: 5}\n");
  REQUIRE(files.Run({"run", "run.yaml", "-o", "r.h5", "--quiet"}).exit_code == 0);
  const ResultsReader reader(files.folder / "r.h5");
  const std::vector<std::string> names = reader.Strings("/problem/device_names");
  const auto exported = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"r.h5", "--to", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = files.Export(arguments);
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    return Json::parse(result.out);
  };
  const Json cpu = exported({"--agent", "single_cpu"});
  CHECK(cpu["graph"] == "small");
  CHECK(cpu["devices"].dump() == R"({"a":"cpu:0","b":"cpu:0","c":"cpu:0","d":"cpu:0"})");

  std::int64_t least = INT64_MAX, least_random = INT64_MAX;
  std::string best, best_random;
  for (const std::string& label : reader.Children("/agents")) {
    const std::int64_t time = reader.Int("/agents/" + label + "/best/outcome", "step_time_ns");
    if (time < least) least = time, best = label;
    if (label.starts_with("random") && time < least_random)
      least_random = time, best_random = label;
  }
  const auto placed_by = [&](const std::string& label) {
    Json devices;
    const auto placement = reader.Ints("/agents/" + label + "/best/placement");
    for (size_t v = 0; v < placement.size(); ++v) {
      devices[reader.Strings("/problem/op_names")[v]] = names[placement[v]];
    }
    return devices;
  };
  CHECK(best != "single_cpu");
  CHECK(exported({})["devices"] == placed_by(best));
  CHECK(exported({"--agent", "random.seed1"})["devices"] == placed_by("random.seed1"));
  CHECK(exported({"--agent", "random"})["devices"] == placed_by(best_random));

  // What comes out goes in again, and costs what the run found.
  REQUIRE(files.Export({"r.h5", "--to", "json", "-o", "q.json"}).exit_code == 0);
  const ProcessResult again =
      files.Run({"simulate", "--graph", "g.json", "--cluster", "c.yaml", "--placement", "q.json"});
  CHECK(Json::parse(again.out)["step_time_ns"] == least);

  const auto refused = [&](const std::vector<std::string>& more,
                           const std::vector<std::string>& fragments) {
    std::vector<std::string> arguments = {"r.h5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    CheckRefused(files.Export(arguments), 2, fragments);
  };
  refused({"--to", "json", "--agent", "rando"},
          {"r.h5: --agent", "\"rando\"", "choices: ", "single_cpu"});
  refused({"--to", "huggingface"}, {"graph \"small\"", "attributes.module", "import --from torch"});
  refused({"--to", "json", "--graph", "net.json"}, {"r.h5", "\"small\"", "\"net\""});
  std::filesystem::remove(files.folder / "g.json");
  refused({"--to", "json"}, {"r.h5", "g.json", "does not exist any more", "--graph"});
}

TEST_CASE("what an export refuses") {
  const ExportFiles files;
  const auto refused = [&](const std::vector<std::string>& arguments,
                           const std::vector<std::string>& fragments) {
    CheckRefused(files.Export(arguments), 2, fragments);
  };
  refused({"p.json", "--to", "json"}, {"p.json", "--graph is missing"});
  refused({"p.json", "--graph", "g.json", "--to", "json"}, {"--cluster is missing"});
  refused({"none.h5", "--to", "json"}, {"none.h5"});
  refused({"c.yaml", "--to", "json"}, {"c.yaml", "not a results file of emplace"});
  refused({"p.json"}, {"--to"});
  CheckRefused(files.ExportPlacement("g.json", "torch"),
               2,
               {"--to", "\"torch\"", "json, tensorflow, huggingface"});
  CheckRefused(files.ExportPlacement("g.json", "json", {"--agent", "etf"}),
               2,
               {"p.json", "--agent etf", "does not apply"});
  CheckRefused(files.ExportPlacement("g.json", "json", {"--device-map", "gpu:0=1"}),
               2,
               {"--device-map does not apply"});
  CheckRefused(
      files.ExportPlacement("g.json", "tensorflow", {"--device-map", "gpu:9=/device:GPU:1"}),
      2,
      {"--device-map", "\"gpu:9\"", "gpu:1"});
  CheckRefused(files.ExportPlacement("net.json", "json"), 2, {"p.json", "\"a\""});
  CheckRefused(files.ExportPlacement("g.json", "json", {"--semantics", "x"}),
               2,
               {"--semantics", "queue, stream"});
  CheckRefused(
      files.ExportPlacement("g.json", "json", {"-o", "no/where.json"}), 1, {"no/where.json"});

  std::string torch = DiamondJson();
  torch.insert(torch.find("\"tensors\""), R"("source": {"framework": "torch 2.14"}, )");
  WriteText(files.folder / "torch.json", torch);
  CheckRefused(files.ExportPlacement("torch.json", "tensorflow"),
               2,
               {"graph \"small\"", "torch 2.14", "choices: huggingface, json"});
  std::string labelled = DiamondJson();
  for (const char* op : {R"("name": "a")", R"("name": "c")"}) {
    labelled.insert(labelled.find(op), R"("colocate": "w", )");
  }
  WriteText(files.folder / "labelled.json", labelled);
  CheckRefused(files.ExportPlacement("labelled.json", "json"),
               2,
               {"p.json", "\"a\" (on gpu:0) and \"c\" (on gpu:1)", "\"w\"", "share a device"});
}

TEST_CASE("an issue order goes along with the placement and its simulated time") {
  const ExportFiles files;
  WriteText(files.folder / "p.json",
            R"({"format": "emplace-placement", "version": 1, "issue_order": ["a", "c", "b", "d"],
                "devices": {"a": "gpu:0", "b": "gpu:0", "c": "gpu:1", "d": "gpu:0"}})");
  const auto order_of = [](const ProcessResult& result) {
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    return Json::parse(result.out)["issue_order"].dump();
  };
  const ProcessResult stream = files.ExportPlacement("g.json", "json", {"--semantics", "stream"});
  CHECK(order_of(stream) == R"(["a","c","b","d"])");
  CHECK(order_of(files.ExportPlacement("g.json", "json")) == R"(["a","c","b","d"])");

  WriteText(files.folder / "run.yaml",
            "graph: g.json\ncluster: c.yaml\nagents: [single_gpu]\nsemantics: stream\n"
            "priority: given\nissue_order: p.json\nbudget: {evaluations: 5}\n");
  REQUIRE(files.Run({"run", "run.yaml", "-o", "r.h5", "--quiet"}).exit_code == 0);
  CHECK(order_of(files.Export({"r.h5", "--to", "json"})) == R"(["a","c","b","d"])");
  const ResultsReader reader(files.folder / "r.h5");
  CHECK(reader.Text("/problem", "priority") == "given");
  CHECK(reader.Ints("/problem/issue_order") == std::vector<std::int64_t>{0, 2, 1, 3});
}

}  // namespace
