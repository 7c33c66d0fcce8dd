// Everything a user's files can get wrong ends in one message and exit code 2, and leaves no file.
// The tests of the readers have all messages; here is one of each sort, through the program.

#include <doctest/doctest.h>

#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// A graph, a cluster and a run config that are right.
struct BadInputFiles {
  TempDir folder;

  BadInputFiles() {
    WriteText(folder / "g.json", DiamondJson());
    WriteText(folder / "c.yaml", ClusterYaml());
    WriteText(folder / "run.yaml",
              "graph: g.json\ncluster: c.yaml\nagents: [heft]\nbudget: {evaluations: 50}\n");
  }
  // Replaces the first occurrence of a text.
  void Change(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = ReadText(folder / file);
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    WriteText(folder / file, text.replace(at, from.size(), to));
  }
  ProcessResult Run(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"run", "run.yaml", "-o", "out.h5", "--quiet"});
    const ProcessResult result = RunEmplace(more, {.folder = folder.path()});
    CHECK(!std::filesystem::exists(folder / "out.h5"));
    CHECK(!std::filesystem::exists(folder / "out.placement.json"));
    return result;
  }
};

struct WrongPlace {
  std::string file, from, to;
  std::vector<std::string> fragments;  // of the message
};

TEST_CASE("one place of a file is wrong") {
  const std::vector<WrongPlace> places = {
      {"g.json", "\"inputs\": []", "\"inputs\": [3]", {"g.json", "cycle", "\"a\""}},
      {"g.json", "\"g\": 10000", "\"g\": NaN", {"g.json:", "\"a\"", "NaN"}},
      {"g.json", "{", "graph: yes", {"g.json:1:1"}},
      {"g.json", "\"inputs\"", "\"device_kinds\": [\"tpu\"], \"inputs\"", {"\"a\"", "tpu"}},
      {"g.json",
       "\"inputs\"",
       "\"devices\": [\"cpu:0\", \"gpu:3\"], \"inputs\"",
       {"graph \"small\"", "\"a\"", "inline", "\"gpu:3\"", "did you mean \"gpu:0\"?"}},
      {"g.json",
       "\"inputs\"",
       "\"device_kinds\": [\"c\"], \"devices\": [\"gpu:?\"], \"inputs\"",
       {"\"a\"", "device_kinds [c] and devices [gpu:?]", "cpu:0 (c, cpu)"}},
      {"c.yaml", "1GB/s", "1000", {"c.yaml:9:", "bandwidth", "1000", "unit"}},
      {"c.yaml", "kind: g,", "kind: gg,", {"c.yaml:7:", "\"gg\"", "did you mean \"g\"?"}},
      {"c.yaml",
       "all_to_all: {latency: 5us, bandwidth: 1GB/s, gap: 0us}",
       "channels: [{name: w, latency: 0us, bandwidth: 1GB/s}]\n"
       "routes: [{from: \"gpu:0\", to: \"gpu:1\", via: [w]}]",
       {"no route from", "\"a\""}},
      {"run.yaml", "budget", "budgt", {"run.yaml:4:", "\"budgt\"", "did you mean \"budget\"?"}},
      {"run.yaml", "graph: g.json\n", "", {"run.yaml", "\"graph\"", "missing"}},
      {"run.yaml", "[heft]", "[helft]", {"run.yaml:3:", "unknown agent", "did you mean \"heft\"?"}},
      {"run.yaml", "[heft]", "[heft, heft]", {"run.yaml:3:", "heft", "twice", "label"}},
      {"run.yaml",
       "[heft]",
       "[{name: simulated_annealing, coolin: 1}]",
       {"run.yaml:3:", "\"coolin\"", "choices:"}},
      {"run.yaml",
       "[heft]",
       "[{name: single_device, device: tpu}]",
       {"run.yaml:3:", "device", "tpu"}}};
  for (const WrongPlace& place : places) {
    CAPTURE(place.to);
    const BadInputFiles files;
    files.Change(place.file, place.from, place.to);
    const ProcessResult run = files.Run();
    CheckRefused(run, 2, place.fragments);
    // A graph that is wrong by itself is wrong in the same words for `emplace graph validate`.
    const ProcessResult validate =
        RunEmplace({"graph", "validate", "g.json"}, {.folder = files.folder.path()});
    if (validate.exit_code != 0) CHECK(validate.err == run.err);
  }
}

TEST_CASE("one setting is wrong") {
  const BadInputFiles files;
  const auto refused = [&](const std::string& setting, std::vector<std::string> fragments) {
    CAPTURE(setting);
    CheckRefused(files.Run({"--set", setting}), 2, fragments);
  };
  refused("agents=[]", {"--set", "at least one agent"});
  refused("seeds=[]", {"--set", "at least one seed"});
  refused("budget={seconds: none}", {"--set", "at least one limit"});
  refused("coarsen=[colcate]", {"\"colcate\"", "did you mean \"colocate\"?"});
  refused("coarsen=[{scope: {groups: 3}}]", {"\"groups\"", "depth"});
  refused("semantics=fifo", {"--set", "fifo", "queue, stream"});
  refused("objective=tme", {"--set", "tme", "step_time, period"});
  refused("costs=table", {"--set", "unknown cost table"});
  refused("novalue", {"--set", "key=value", "novalue"});
  refused("graph=g", {"--set", "unknown graph \"g\""});
  WriteText(files.folder / "c.yaml",
            "name: c\ndevice_kinds: {c: {class: cpu}, g: {class: gpu}}\n"
            "devices: [{name: x, kind: c, memory: 1GiB}]\n");
  refused("agents=[single_gpu]", {"--set", "single_gpu", "gpu"});
}

TEST_CASE("an output that cannot be written is found before the search") {
  const BadInputFiles files;
  const ProcessOptions here{.folder = files.folder.path()};
  files.Change("run.yaml", "budget", "seeds: 0:1000\nbudget");  // a search that would take long
  for (const std::string output : {"no/such/folder/out.h5", "/proc/out.h5", "."}) {
    CheckRefused(RunEmplace({"run", "run.yaml", "-o", output, "--quiet"}, here), 1, {output});
  }
  CheckRefused(RunEmplace({"graph", "convert", "g.json", "no/such/x.json"}, here), 1, {"no/such"});
}

}  // namespace
