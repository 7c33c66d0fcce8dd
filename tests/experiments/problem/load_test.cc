#include "experiments/problem/load.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/json.h"
#include "framework/cost/cost_table.h"
#include "tests/experiments/hdf5_text.h"
#include "tests/experiments/program_files.h"
#include "tests/support/text.h"
#include "tests/support/words.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// DiamondJson() without its costs...
std::string BareDiamondJson() {
  Json graph = Json::parse(DiamondJson());
  for (Json& op : graph["ops"]) op.erase("cost_ns");
  return graph.dump();
}

// ... and a table that has them by signature: a and d are told from b and c by what they read.
CostTable DiamondTable() {
  const auto op = [](const std::string& signature, double nanos) {
    OpMeasurement measured{.signature = signature, .kind = "k"};
    measured.isolated = Timing{nanos, nanos, nanos, 10};
    return measured;
  };
  const auto kind = [&](const std::string& name, DeviceClass device_class, double a, double b) {
    KindCosts costs;
    costs.kind = {.name = name, .device_class = device_class};
    costs.ops = {op("k() -> ?[1000000B] {} 0 FLOP, 1000000 B", a),
                 op("k(?[1000000B] x2) -> ?[1000000B] {} 0 FLOP, 3000000 B", a),
                 op("k(?[1000000B]) -> ?[1000000B] {} 0 FLOP, 2000000 B", b)};
    return costs;
  };
  CostTable table;
  table.machine = "invented";
  table.kinds = {kind("g", DeviceClass::kGpu, 10000, 2000000),
                 kind("c", DeviceClass::kCpu, 50000, 8000000)};
  return table;
}

struct LoadFiles {
  TempDir folder;

  explicit LoadFiles(const CostTable& table = DiamondTable()) {
    WriteText(folder / "costed.json", DiamondJson());
    WriteText(folder / "bare.json", BareDiamondJson());
    WriteText(folder / "c.yaml", ClusterYaml());
    WriteText(folder / "p.json",
              PlacementJson(R"("a": "gpu:0", "b": "gpu:0", "c": "gpu:1", "d": "gpu:0")"));
    WriteText(folder / "table.json", FormatCostTable(table));
  }
  ProcessResult Simulate(const std::string& graph, const std::string& costs) const {
    std::vector<std::string> arguments = Words("simulate --cluster c.yaml --placement p.json");
    arguments.insert(arguments.end(), {"--graph", graph, "--costs", costs});
    return RunEmplace(arguments, {.folder = folder.path()});
  }
  ProcessResult Run(const std::string& costs, std::vector<std::string> more = {}) const {
    std::filesystem::create_directories(folder / "config");
    WriteText(folder / "config/run.yaml",
              "graph: ../bare.json\ncluster: ../c.yaml\ncosts: " + costs +
                  "\nagents: [single_gpu, heft]\nbudget: {evaluations: 10}\n");
    std::vector<std::string> arguments = {"run", "config/run.yaml", "-o", "out.h5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunEmplace(arguments, {.folder = folder.path()});
  }
};

// What `emplace simulate` says, but for the costs' name.
Json NumbersOf(const ProcessResult& result) {
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  Json json = Json::parse(result.out);
  json["simulated"].erase("costs");
  return json;
}

TEST_CASE("the kinds of a cluster file name fits of the menu") {
  const TempDir folder;
  WriteText(folder / "c.yaml",
            "name: c\n"
            "device_kinds:\n"
            "  own: {class: gpu, peak: {f32: 10TFLOP/s}, memory_bandwidth: 300GB/s, "
            "multiprocessors: 40, power: 100, fitted: nvidia_f32}\n"
            "devices: [{name: d, kind: own}]\n");
  CHECK(LoadCluster(folder / "c.yaml")->kind_of(0).fitted.at(0).name == "nvidia_f32");
}

TEST_CASE("the cluster of an instance is in its graph file") {
  const TempDir folder;
  const std::string begin =
      R"({"format": "emplace-graph", "version": 1, "name": "g", "instance": )";
  const std::string end = R"(, "tensors": [], "ops": []})";
  WriteText(folder / "i.json",
            begin +
                R"({"cluster": {"name": "two", "device_kinds": {"timed": {"class": "gpu"}},
                    "devices": [{"name": "a", "kind": "timed", "memory": "4GiB"},
                                {"name": "b", "kind": "timed"}],
                    "all_to_all": {"bandwidth": "1GB/s"}}})" +
                end);
  const auto cluster = LoadCluster(folder / "i.json");
  CHECK(cluster->name() == "two");
  CHECK(cluster->DeviceNames() == std::vector<std::string>{"a", "b"});
  CHECK(cluster->device(0).memory == std::int64_t{4} << 30);

  const auto error_of = [&](const std::string& instance) {
    WriteText(folder / "j.json", begin + instance + end);
    return MessageOf<InputError>([&] { LoadCluster(folder / "j.json"); });
  };
  for (const char* none : {"{}", "7", R"({"cluster": "two"})"}) {
    CHECK(error_of(none) == (folder / "j.json").string() +
                                ": has no cluster under the key \"instance\"; expected a cluster "
                                "file (.yaml), or a graph file that is an instance");
  }
  CHECK(Contains(error_of(R"({"cluster": {"name": "x", "devises": []}})"),
                 "j.json: instance:1:13: unknown key \"devises\""));
}

TEST_CASE("costs out of a table are those of a graph that brings them") {
  const LoadFiles files;
  const auto cluster = LoadCluster(files.folder / "c.yaml");
  const auto table = LoadCosts(files.folder / "table.json");
  const auto costs_of = [&](const char* graph, const CostTable* costs, bool simulate_groups) {
    return MakeProblem(LoadGraph(files.folder / graph),
                       cluster,
                       ParsePasses(ConfigNode::FromString("[colocate]", "test")),
                       Objective::kStepTime,
                       simulate_groups,
                       "here",
                       costs)
        .searched->costs();
  };
  for (const bool simulate_groups : {false, true}) {
    const Costs own = costs_of("costed.json", nullptr, simulate_groups);
    const Costs tabled = costs_of("bare.json", table.get(), simulate_groups);
    CHECK(own.time == tabled.time);
    CHECK(own.source == tabled.source);
    CHECK(own.source[0] == CostSource::kMeasured);
  }
  CHECK(MessageOf<InputError>([&] {
          costs_of("bare.json", nullptr, false);
        }).find("has no cost_ns") != std::string::npos);
}

TEST_CASE("simulate and run take a table of costs") {
  const LoadFiles files;
  const ProcessResult own = files.Simulate("costed.json", "none");
  REQUIRE(own.exit_code == 0);
  const ProcessResult tabled = files.Simulate("bare.json", "table.json");
  REQUIRE(tabled.exit_code == 0);
  CHECK(NumbersOf(tabled) == NumbersOf(own));
  CHECK(tabled.err == "");
  CheckRefused(files.Simulate("bare.json", "none"), 2, {"bare.json", "has no cost_ns"});

  // Beside the config, not where the program runs.
  std::filesystem::create_directories(files.folder / "config");
  std::filesystem::rename(files.folder / "table.json", files.folder / "config/mine.json");
  const ProcessResult run = files.Run("mine.json");
  REQUIRE(run.exit_code == 0);
  CHECK(run.out.find("op costs from: measured 100.0 %") != std::string::npos);
  const auto lines = Hdf5Text(files.folder / "out.h5", "/agents/heft");
  const auto has = [&](const std::string& text) {
    return std::ranges::any_of(
        lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  CHECK(has("cost_source_measured: 1"));
  CHECK(has("cost_source_neighbour: 0"));
  CheckRefused(files.Run("none.json"), 2, {"none.json"});
  CheckRefused(files.Run("nono"), 2, {"run.yaml:3:8", "unknown cost table \"nono\""});
  CheckRefused(files.Run("mine.json", {"--set", "costs=../bare.json"}),
               2,
               {"bare.json", "format", "emplace-graph", "emplace-costs"});
}

TEST_CASE("shares tell how much was fitted") {
  CostTable table = DiamondTable();
  for (KindCosts& kind : table.kinds) {
    kind.ops.erase(kind.ops.begin());  // a and d (10 us each on g) by a fit, b and c timed
    kind.ops.erase(kind.ops.begin());
    kind.by_op["k"] = {.overhead_ns = 500'000, .samples = 9, .error = 0.1};
  }
  const LoadFiles files(table);
  const ProcessResult run = files.Run("../table.json", {"--set", "agents=[single_gpu]"});
  REQUIRE(run.exit_code == 0);
  // 2 * 2 ms of 2 * 2 ms + 2 * 0.5 ms.
  CHECK(run.out.find("op costs from: measured 80.0 %, neighbour 20.0 %") != std::string::npos);
}

TEST_CASE("a table of another machine is refused, one that was cut off warned of") {
  CostTable table = DiamondTable();
  table.complete = false;
  const ProcessResult result = LoadFiles(table).Simulate("bare.json", "table.json");
  CHECK(result.exit_code == 0);
  CHECK(result.err.find("warning: table.json: the profile was interrupted") != std::string::npos);
  for (KindCosts& kind : table.kinds) kind.kind.name += "2";
  const LoadFiles files(table);
  for (const ProcessResult& refused :
       {files.Simulate("bare.json", "table.json"), files.Run("../table.json")}) {
    CHECK(refused.exit_code == 2);
    CHECK(refused.err.find("bare.json with costs") != std::string::npos);
    CHECK(refused.err.find("machine \"invented\" has device kinds [g2, c2]") != std::string::npos);
  }
}

TEST_CASE("tables in the configs folder are on a menu") {
  const LoadFiles files;
  std::filesystem::create_directories(files.folder / "costs");
  std::filesystem::rename(files.folder / "table.json", files.folder / "costs/box.json");
  const ProcessOptions options{.folder = files.folder.path(),
                               .environment = {{"EMPLACE_CONFIGS", files.folder.path()}}};
  CHECK(RunEmplace({"list", "costs"}, options).out == "box  invented\n");
  const ProcessResult result = RunEmplace(
      Words("simulate --graph ./bare.json --cluster ./c.yaml --placement p.json --costs box"),
      options);
  CHECK(result.exit_code == 0);
  CHECK(NumbersOf(result) == NumbersOf(files.Simulate("costed.json", "none")));
}

}  // namespace
