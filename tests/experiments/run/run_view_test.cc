#include <map>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/base/json.h"
#include "tests/experiments/run_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("people's table") {
  const RunFiles files;
  const ProcessResult result = files.Run({"--quiet"});
  CHECK(result.exit_code == 0);
  CHECK(result.err == "");
  for (const char* part : {"graph    small: 60 ops, 60 groups",
                           "cluster  inline: cpu:0, gpu:0, gpu:1",
                           "queue semantics",
                           "bound    ",
                           "critical path",
                           ", gap ",
                           "agent",
                           "speed-up",
                           "gap",
                           "cpu:0 / gpu:0 / gpu:1",
                           "1.00x",
                           "measured 100.0 %",
                           "on hardware",
                           "\nrandom ",
                           "medians of 2 seeds; agents that do not use the seed run once\n",
                           // 300 placements of random and of hill_climb with each seed.
                           "total    1203 evaluations, ",
                           "on hardware, with 11 steps each: ",
                           "results/small.h5"}) {
    CAPTURE(part);
    CHECK(result.out.find(part) != std::string::npos);
  }
  const ProcessResult loud = files.Run({"--force"});
  CHECK(loud.err.find("hill_climb.seed1") != std::string::npos);
}

TEST_CASE("people's table fits $COLUMNS, unless --wide is given") {
  const RunFiles files;
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--quiet", "--set", "agents=[simulated_annealing, heft]"});
    const ProcessResult result = files.Run(more, {.environment = {{"COLUMNS", "80"}}});
    REQUIRE(result.exit_code == 0);
    return result.out;
  };
  std::istringstream lines(run({}));
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
  }
  const std::string narrow = run({"-o", "narrow.h5"});
  for (const char* head : {"agent ", "step time", "speed-up", "gap", "evaluations", "seconds\n"}) {
    CAPTURE(head);
    CHECK(narrow.find(head) != std::string::npos);
  }
  CHECK(narrow.find("--wide adds") != std::string::npos);
  CHECK(narrow.find(" / ") == std::string::npos);  // no peaks
  const std::string wide = run({"-o", "wide.h5", "--wide"});
  CHECK(wide.find("--wide adds") == std::string::npos);
  CHECK(wide.find(" on cpu:0 / gpu:0 / gpu:1 ") != std::string::npos);
  CHECK(wide.find("range over seeds") != std::string::npos);
}

TEST_CASE("the best row is bold on a terminal, and nowhere by NO_COLOR or TERM=dumb") {
  const RunFiles files;
  const auto bold = [&](std::map<std::string, std::string> environment) {
    environment.emplace("TERM", "xterm");
    const std::string command =
        (BinaryDir() / "emplace").string() + " run small.yaml --quiet --force --set agents=[heft]";
    const ProcessResult result =
        RunProcess({"/usr/bin/script", "--quiet", "--return", "--command", command, "/dev/null"},
                   {.folder = files.folder.path(), .environment = environment});
    CAPTURE(result.out);
    CHECK(result.exit_code == 0);
    CHECK(result.out.find("heft ") != std::string::npos);
    return result.out.find("\x1b[1mheft ") != std::string::npos;
  };
  CHECK(bold({}));
  CHECK(bold({{"NO_COLOR", ""}}));
  CHECK_FALSE(bold({{"NO_COLOR", "1"}}));
  CHECK_FALSE(bold({{"TERM", "dumb"}}));
  CHECK(files.Run({"--quiet"}, {.environment = {{"TERM", "xterm"}}}).out.find('\x1b') ==
        std::string::npos);  // not a terminal
}

TEST_CASE("what does not fit is shown with the bytes that are missing") {
  const RunFiles files("10kB");
  const ProcessResult result = files.Run({"--set", "agents=[single_gpu, single_cpu]"});
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("OOM (missing ") != std::string::npos);
  CHECK(result.out.find("on gpu:0)") != std::string::npos);
  CHECK(result.out.find("\nsingle_gpu        OOM ") != std::string::npos);
  CHECK(result.out.find("\nsingle_gpu: OOM (missing ") != std::string::npos);
  const Json table =
      Json::parse(files.Run({"--set", "agents=[single_gpu, single_cpu]", "--json", "--force"}).out);
  CHECK(table["best_single_device"]["device"] == "cpu:0");  // 8 GiB
  CHECK(FindAgent(table, "single_cpu")->at("speed_up") == 1.0);
  CHECK(FindAgent(table, "single_gpu")->at("step_time_ns")["median"].is_null());
  CHECK(table["agents"][0]["agent"] == "single_cpu");
}

TEST_CASE("the speed-up is over the best single device, not over the first GPU") {
  const RunFiles files;
  WriteText(files.folder / "mixed.yaml",
            "name: mixed\ndevices:\n"
            "  - {name: \"cpu:0\", kind: haswell_18c, memory: 64GiB}\n"
            "  - {name: \"gpu:0\", kind: k40, memory: 11GiB}\n"
            "  - {name: \"gpu:1\", kind: k40, memory: 11GiB}\n"
            "  - {name: \"gpu:2\", kind: a100, memory: 40GiB}\n"
            "all_to_all: {latency: 25us, bandwidth: 6GB/s, gap: 0us}\n");
  std::vector<std::string> how = {
      "--set", "graph=gpt2_mini_torch", "--set", "cluster=./mixed.yaml"};
  how.insert(how.end(),
             {"--set",
              "agents=[single_gpu, {name: single_device, label: a100, device: \"gpu:2\"}]",
              "--json",
              "-o",
              "mixed.h5"});
  const ProcessResult result = files.Run(how);
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const Json table = Json::parse(result.out);
  const Json& a100 = *FindAgent(table, "a100");
  CHECK(a100["speed_up"] == 1.0);
  CHECK(FindAgent(table, "single_gpu")->at("speed_up") < 1.0);
  CHECK(table["best_single_device"]["device"] == "gpu:2");
  CHECK(table["best_single_device"]["step_time_ns"] == a100["step_time_ns"]["median"]);
  CHECK(result.err.find(" on gpu:2, the best single device that fits\n") != std::string::npos);
}

TEST_CASE("machines of CPUs alone have speed-ups") {
  const RunFiles files;
  WriteText(files.folder / "cpus.yaml",
            "name: cpus\ndevice_kinds: {c: {class: cpu}}\ndevices:\n"
            "  - {name: \"cpu:0\", kind: c, memory: 8GiB}\n"
            "  - {name: \"cpu:1\", kind: c, memory: 8GiB}\n"
            "all_to_all: {latency: 5us, bandwidth: 1GB/s, gap: 0us}\n");
  const ProcessResult result =
      files.Run({"--set", "cluster=./cpus.yaml", "--set", "agents=[single_cpu, heft]", "--json"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const Json table = Json::parse(result.out);
  CHECK(table["best_single_device"]["device"] == "cpu:0");
  CHECK(FindAgent(table, "single_cpu")->at("speed_up") == 1.0);
}

TEST_CASE(
    "a run with simulate_groups says that it is an approximation and what the placement really "
    "takes") {
  const RunFiles files;
  const ProcessResult result =
      files.Run({"--set", "simulate_groups=true", "--set", "coarsen=[single_consumer]"});
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("groups contracted (an approximation)") != std::string::npos);
  CHECK(result.out.find("for the same placement, simulated op by op") != std::string::npos);
}

}  // namespace
