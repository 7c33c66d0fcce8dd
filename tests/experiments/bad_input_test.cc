// Everything a user's files can get wrong ends in one message and exit code 2, and leaves no file.

#include <cstdint>
#include <random>

#include <doctest/doctest.h>

#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

const char* const kTensors = R"({"id": 0, "bytes": 8}, {"id": 1, "bytes": 8})";

std::string OpText(const std::string& fields) {
  return "{" + fields + R"(, "cost_ns": {"g": 100, "c": 200}})";
}

const std::string kFirst =
    OpText(R"("id": 0, "name": "a", "kind": "k", "inputs": [], "outputs": [0])");

// `emplace graph validate` and `emplace run` refuse the graph with the same message.
void CheckGraphRefused(const std::string& graph, const std::vector<std::string>& fragments) {
  const TempDir folder;
  WriteText(folder / "bad.json", graph);
  WriteText(folder / "c.yaml", ClusterYaml());
  WriteText(folder / "run.yaml", "graph: bad.json\ncluster: c.yaml\nagents: [heft]\n");
  const ProcessOptions here{.folder = folder.path()};
  const ProcessResult validate = RunEmplace({"graph", "validate", "bad.json"}, here);
  CheckRefused(validate, 2, {"bad.json"});
  CheckRefused(validate, 2, fragments);
  const ProcessResult run = RunEmplace({"run", "run.yaml", "-o", "out.h5"}, here);
  CHECK(run.err == validate.err);
  CHECK(run.exit_code == 2);
  CHECK(!std::filesystem::exists(folder / "out.h5"));
}

TEST_CASE("graphs") {
  SUBCASE("cycle") {
    CheckGraphRefused(
        GraphJson(
            kTensors,
            OpText(R"("id": 0, "name": "a", "kind": "k", "inputs": [1], "outputs": [0])") + "," +
                OpText(R"("id": 1, "name": "b", "kind": "k", "inputs": [0], "outputs": [1])")),
        {"cycle", "\"a\"", "\"b\""});
  }
  SUBCASE("dangling tensor id") {
    CheckGraphRefused(
        GraphJson(
            kTensors,
            kFirst + "," +
                OpText(R"("id": 1, "name": "b", "kind": "k", "inputs": [7], "outputs": [1])")),
        {"\"b\"", "inputs", "7"});
  }
  SUBCASE("duplicate id") {
    CheckGraphRefused(
        GraphJson(
            kTensors,
            kFirst + "," +
                OpText(R"("id": 0, "name": "b", "kind": "k", "inputs": [0], "outputs": [1])")),
        {"id", "\"b\""});
  }
  SUBCASE("duplicate name") {
    CheckGraphRefused(
        GraphJson(
            kTensors,
            kFirst + "," +
                OpText(R"("id": 1, "name": "a", "kind": "k", "inputs": [0], "outputs": [1])")),
        {"name", "\"a\""});
  }
  SUBCASE("two producers") {
    CheckGraphRefused(
        GraphJson(kTensors,
                  kFirst + "," +
                      OpText(R"("id": 1, "name": "b", "kind": "k", "inputs": [], "outputs": [0])")),
        {"\"a\"", "\"b\"", "produce"});
  }
  SUBCASE("negative number") {
    CheckGraphRefused(GraphJson(R"({"id": 0, "bytes": -8}, {"id": 1, "bytes": 8})", kFirst),
                      {"bytes", "-8"});
  }
  SUBCASE("NaN") {
    CheckGraphRefused(
        GraphJson(
            kTensors,
            OpText(
                R"("id": 0, "name": "a", "kind": "k", "inputs": [], "outputs": [0], "flops": NaN)")),
        {"NaN"});
  }
  SUBCASE("a number beyond every format") {
    CheckGraphRefused(
        GraphJson(
            kTensors,
            OpText(
                R"("id": 0, "name": "a", "kind": "k", "inputs": [], "outputs": [0], "flops": 1e999)")),
        {"\"a\"", "flops", "out of range"});
  }
  SUBCASE("a missing required key") {
    CheckGraphRefused(
        GraphJson(kTensors, OpText(R"("id": 0, "name": "a", "inputs": [], "outputs": [0])")),
        {"kind", "\"a\""});
  }
  SUBCASE("an unknown version") {
    CheckGraphRefused(
        R"({"format": "emplace-graph", "version": 2, "name": "n", "tensors": [], "ops": []})",
        {"version", "2"});
  }
  SUBCASE("no JSON at all") {
    CheckGraphRefused("graph: yes\n", {"bad.json"});
  }
  SUBCASE("nothing at all") {
    CheckGraphRefused("", {"bad.json"});
  }
}

TEST_CASE("a gzip stream that breaks off") {
  const TempDir folder;
  const std::string whole = ReadText(SourceDir() / "configs/graphs/inception_v3.json.gz");
  REQUIRE(whole.size() > 1000);
  WriteText(folder / "half.json.gz", whole.substr(0, whole.size() / 2));
  CheckRefused(RunEmplace({"graph", "info", "half.json.gz"}, {.folder = folder.path()}),
               2,
               {"half.json.gz", "truncated"});
}

TEST_CASE("a hundred megabytes of garbage") {
  const TempDir folder;
  std::mt19937_64 engine(7);
  std::string garbage(100'000'000, '\0');
  for (size_t i = 0; i + 8 <= garbage.size(); i += 8) {
    const std::uint64_t word = engine();
    std::copy_n(reinterpret_cast<const char*>(&word), 8, garbage.data() + i);
  }
  WriteText(folder / "garbage.json", garbage);
  CheckRefused(RunEmplace({"graph", "validate", "garbage.json"}, {.folder = folder.path()}),
               2,
               {"garbage.json"});
  // Hopeless brackets: a reader that recurses or keeps a tree would die of them.
  WriteText(folder / "brackets.json", std::string(100'000'000, '['));
  CheckRefused(RunEmplace({"graph", "validate", "brackets.json"}, {.folder = folder.path()}),
               2,
               {"brackets.json"});
  WriteText(folder / "garbage.yaml", garbage.substr(0, 1'000'000));
  CheckRefused(RunEmplace({"run", "garbage.yaml"}, {.folder = folder.path()}), 2, {"garbage.yaml"});
}

// A good graph with a bad cluster or run config.
struct BadInputFiles {
  TempDir folder;
  std::string run = "graph: g.json\ncluster: c.yaml\nagents: [heft]\nbudget: {evaluations: 50}\n";

  explicit BadInputFiles(const std::string& cluster = ClusterYaml(),
                         const std::string& graph = DiamondJson()) {
    WriteText(folder / "g.json", graph);
    WriteText(folder / "c.yaml", cluster);
  }
  ProcessResult Run(std::vector<std::string> more = {}) const {
    WriteText(folder / "run.yaml", run);
    std::vector<std::string> arguments = {"run", "run.yaml", "-o", "out.h5", "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = RunEmplace(arguments, {.folder = folder.path()});
    CHECK(!std::filesystem::exists(folder / "out.h5"));
    CHECK(!std::filesystem::exists(folder / "out.placement.json"));
    return result;
  }
};

TEST_CASE("clusters") {
  const auto replaced = [](const std::string& from, const std::string& to) {
    std::string yaml = ClusterYaml();
    const size_t at = yaml.find(from);
    REQUIRE(at != std::string::npos);
    return yaml.replace(at, from.size(), to);
  };
  SUBCASE("missing unit") {
    CheckRefused(BadInputFiles(replaced("1GB/s", "1000")).Run(),
                 2,
                 {"c.yaml:9:", "bandwidth", "1000", "unit"});
  }
  SUBCASE("negative time") {
    CheckRefused(BadInputFiles(replaced("latency: 5us", "latency: -5us")).Run(),
                 2,
                 {"c.yaml:9:", "latency", "-5us"});
  }
  SUBCASE("unknown device in a route") {
    CheckRefused(
        BadInputFiles(ClusterYaml() + "channels: [{name: w, latency: 0us, bandwidth: 1GB/s}]\n"
                                      "routes: [{from: \"gpu:0\", to: \"gpu:9\", via: [w]}]\n")
            .Run(),
        2,
        {"c.yaml:11:", "gpu:9", "choices: cpu:0, gpu:0, gpu:1"});
  }
  SUBCASE("unknown kind") {
    CheckRefused(BadInputFiles(replaced("kind: g", "kind: gg")).Run(),
                 2,
                 {"c.yaml:7:", "\"gg\"", "did you mean \"g\"?"});
  }
  SUBCASE("no route between two devices that may need it") {
    CheckRefused(
        BadInputFiles(
            "name: oneway\n"
            "device_kinds: {g: {class: gpu}}\n"
            "devices: [{name: x, kind: g, memory: 1GiB}, {name: y, kind: g, memory: 1GiB}]\n"
            "channels: [{name: wire, latency: 0us, bandwidth: 1GB/s}]\n"
            "routes: [{from: x, to: y, via: [wire]}]\n")
            .Run(),
        2,
        {"no route from \"y\" to \"x\"", "\"a\""});
  }
  SUBCASE("an op allowed on no device") {
    const std::string graph = GraphJson(
        R"({"id": 0, "bytes": 8})",
        R"({"id": 0, "name": "a", "kind": "k", "inputs": [], "outputs": [0], "device_kinds": ["tpu"]})");
    CheckRefused(BadInputFiles(ClusterYaml(), graph).Run(), 2, {"\"a\"", "tpu"});
  }
  SUBCASE("parameters that fit nowhere") {
    const std::string graph =
        GraphJson(R"({"id": 0, "name": "w", "bytes": 99000000000, "role": "parameter"})",
                  R"({"id": 0, "name": "a", "kind": "parameter", "inputs": [], "outputs": [0]})");
    CheckRefused(
        BadInputFiles(ClusterYaml(), graph).Run(), 2, {"\"w\"", "fits nowhere", "99000000000"});
  }
}

TEST_CASE("run configs") {
  BadInputFiles files;
  SUBCASE("unknown key") {
    files.run += "budgt: 3\n";
    CheckRefused(files.Run(), 2, {"run.yaml:5:", "\"budgt\"", "did you mean \"budget\"?"});
  }
  SUBCASE("missing key") {
    files.run = "cluster: c.yaml\nagents: [heft]\n";
    CheckRefused(files.Run(), 2, {"run.yaml", "\"graph\"", "missing"});
  }
  SUBCASE("unknown agent") {
    files.run = "graph: g.json\ncluster: c.yaml\nagents:\n  - heft\n  - helft\n";
    CheckRefused(
        files.Run(), 2, {"run.yaml:5:", "unknown agent \"helft\"", "did you mean \"heft\"?"});
  }
  SUBCASE("unknown setting of an agent") {
    files.run =
        "graph: g.json\ncluster: c.yaml\nagents:\n  - {name: simulated_annealing, coolin: 1}\n";
    CheckRefused(files.Run(), 2, {"run.yaml:4:", "\"coolin\"", "choices:"});
  }
  SUBCASE("a device that the cluster does not have") {
    files.run = "graph: g.json\ncluster: c.yaml\nagents:\n  - {name: single_device, device: tpu}\n";
    CheckRefused(files.Run(), 2, {"run.yaml:4:", "device", "tpu"});
    const BadInputFiles no_gpu(
        "name: c\ndevice_kinds: {c: {class: cpu}, g: {class: gpu}}\n"
        "devices: [{name: x, kind: c, memory: 1GiB}]\n");
    CheckRefused(no_gpu.Run({"--set", "agents=[single_gpu]"}), 2, {"--set", "single_gpu", "gpu"});
  }
  SUBCASE("an agent listed twice without labels") {
    files.run = "graph: g.json\ncluster: c.yaml\nagents: [heft, heft]\n";
    CheckRefused(files.Run(), 2, {"run.yaml:3:", "heft", "twice", "label"});
  }
  SUBCASE("no agents, no seeds, no limits") {
    CheckRefused(files.Run({"--set", "agents=[]"}), 2, {"--set", "at least one agent"});
    CheckRefused(files.Run({"--set", "seeds=[]"}), 2, {"--set", "at least one seed"});
    CheckRefused(files.Run({"--set", "budget={seconds: 0}"}), 2, {"--set", "at least one limit"});
    CheckRefused(files.Run({"--set", "seeds=-1"}), 2, {"--set", "-1"});
  }
  SUBCASE("coarsening") {
    CheckRefused(files.Run({"--set", "coarsen=[colcate]"}),
                 2,
                 {"\"colcate\"", "did you mean \"colocate\"?"});
    CheckRefused(
        files.Run({"--set", "coarsen=[{cheapest: {groups: 0}}]"}), 2, {"groups", "at least 1"});
    CheckRefused(
        files.Run({"--set", "coarsen=[{scope: {groups: 3}}]"}), 2, {"\"groups\"", "depth"});
  }
  SUBCASE("a measurement of no steps") {
    files.run += "steps_per_measurement: 0\n";
    CheckRefused(
        files.Run(), 2, {"run.yaml:5:", "steps_per_measurement", "number of at least 1, got 0"});
  }
  SUBCASE("choices") {
    CheckRefused(files.Run({"--set", "semantics=fifo"}), 2, {"--set", "fifo", "queue, stream"});
    CheckRefused(files.Run({"--set", "objective=tme"}), 2, {"--set", "tme", "step_time, period"});
    CheckRefused(files.Run({"--set", "costs=table"}), 2, {"--set", "unknown cost table"});
    CheckRefused(files.Run({"--set", "novalue"}), 2, {"--set", "key=value", "novalue"});
    CheckRefused(files.Run({"--set", "graph=g"}), 2, {"--set", "unknown graph \"g\""});
  }
}

TEST_CASE("an output that cannot be written is found before the search") {
  const BadInputFiles files;
  const auto refused = [&](const std::string& output, std::vector<std::string> fragments) {
    WriteText(files.folder / "run.yaml",
              files.run + "seeds: 0:1000\n");  // a search that would take long
    const ProcessResult result =
        RunEmplace({"run", "run.yaml", "-o", output, "--quiet"}, {.folder = files.folder.path()});
    CheckRefused(result, 1, fragments);
  };
  refused("no/such/folder/out.h5", {"no/such/folder"});
  refused("/proc/out.h5", {"/proc"});
  refused(files.folder.path().string(), {files.folder.path().string()});
  const ProcessResult convert =
      RunEmplace({"graph", "convert", "g.json", "no/such/x.json"}, {.folder = files.folder.path()});
  CheckRefused(convert, 1, {"no/such"});
}

}  // namespace
