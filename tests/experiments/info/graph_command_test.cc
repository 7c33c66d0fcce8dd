#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "experiments/info/graph_info.h"
#include "framework/base/json.h"
#include "tests/experiments/program_files.h"
#include "tests/support/words.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// w (parameter 2x3 f32) -> mul -> gradient -> update, which writes w in place.
Graph TrainingStep() {
  return Graph("step",
               {Tensor{.name = "w",
                       .shape = {2, 3},
                       .dtype = "f32",
                       .bytes = 24,
                       .role = TensorRole::kParameter},
                Tensor{.name = "y", .bytes = 10},
                Tensor{.name = "dw", .bytes = 24, .role = TensorRole::kGradient},
                Tensor{.name = "w2",
                       .shape = {2, 3},
                       .dtype = "f32",
                       .bytes = 24,
                       .role = TensorRole::kParameter,
                       .alias_of = 0},
                Tensor{.name = "b", .dtype = "f32", .bytes = 4, .role = TensorRole::kParameter}},
               {Op{.name = "w", .kind = "parameter", .outputs = {0, 4}, .colocate = "w"},
                Op{.name = "mul", .kind = "MatMul", .inputs = {0}, .outputs = {1}, .flops = 100},
                Op{.name = "dmul",
                   .kind = "MatMul",
                   .inputs = {1},
                   .outputs = {2},
                   .flops = 200,
                   .phase = Phase::kBackward},
                Op{.name = "up",
                   .kind = "Apply",
                   .inputs = {0, 2},
                   .outputs = {3},
                   .flops = 6,
                   .phase = Phase::kUpdate,
                   .colocate = "w"}});
}

TEST_CASE("the numbers of a graph by hand") {
  const GraphInfo info = DescribeGraph(TrainingStep());
  CHECK(info.ops_by_phase == std::array<std::int64_t, 3>{2, 1, 1});
  CHECK(info.flops_by_phase == std::array<double, 3>{100, 200, 6});
  CHECK(info.bytes_by_role[static_cast<int>(TensorRole::kParameter)] == 28);  // w2 is w's memory
  CHECK(info.bytes_by_role[static_cast<int>(TensorRole::kGradient)] == 24);
  CHECK(info.parameters == 7);  // 2 * 3 and a scalar
  CHECK(info.parameter_tensors == 2);
  CHECK(info.groups == 3);  // w with its update
  CHECK(info.depth == 4);
  CHECK(info.dependencies == 4);
  REQUIRE(info.kinds.size() == 3);
  CHECK(info.kinds[0].kind == "MatMul");
  CHECK(info.kinds[0].ops == 2);
  CHECK(info.kinds[0].flops == 300);
}

TEST_CASE("info, validate, convert and coarsen from the command line") {
  const TempDir folder;
  const ProcessOptions here{.folder = folder.path()};
  WriteText(folder / "g.json", DiamondJson());
  const Json info = Json::parse(RunEmplace({"graph", "info", "g.json", "--json"}, here).out);
  CHECK(info["ops"] == 4);
  CHECK(info["depth"] == 3);
  CHECK(info["phases"]["forward"]["ops"] == 4);
  const ProcessResult text = RunEmplace({"graph", "info", "g.json"}, here);
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("longest chain 3") != std::string::npos);

  const ProcessResult valid = RunEmplace({"graph", "validate", "g.json"}, here);
  CHECK(valid.exit_code == 0);
  CHECK(valid.out == "small: valid, 4 ops, 4 tensors\n");
  CHECK(valid.err == "");

  CHECK(RunEmplace({"graph", "convert", "g.json", "h.json.gz"}, here).exit_code == 0);
  CHECK(ReadText(folder / "h.json.gz").substr(0, 2) == "\x1f\x8b");
  CHECK(RunEmplace({"graph", "convert", "h.json.gz", "i.json"}, here).exit_code == 0);
  CHECK(RunEmplace({"graph", "convert", "g.json", "j.json"}, here).exit_code == 0);
  CHECK(ReadText(folder / "i.json") == ReadText(folder / "j.json"));
  CHECK(RunEmplace({"graph", "convert", "g.json", "g.dot"}, here).exit_code == 0);
  CHECK(ReadText(folder / "g.dot").find("digraph") != std::string::npos);
  CheckRefused(RunEmplace({"graph", "convert", "g.json", "g.png"}, here),
               2,
               {"g.png", ".json, .json.gz, .dot"});

  CHECK(RunEmplace(Words("graph convert gpt2_mini_torch t.dot --cluster 2xk80"), here).exit_code ==
        0);
  CHECK(ReadText(folder / "t.dot").find(" [Weight=") != std::string::npos);
  CheckRefused(RunEmplace(Words("graph convert gpt2_mini_torch t.json --cluster 2xk80"), here),
               2,
               {"convert --cluster: the format of \"t.json\" is unknown; choices: .dot"});

  const ProcessResult coarsen = RunEmplace(
      {"graph", "coarsen", "g.json", "--pass", "colocate", "--pass", "heavy_edge: {groups: 2}"},
      here);
  CHECK(coarsen.exit_code == 0);
  CHECK(coarsen.out.find("(single ops)") != std::string::npos);
  CHECK(coarsen.out.find("heavy_edge") != std::string::npos);
  CHECK(RunEmplace(Words("graph coarsen gpt2_mini_torch --pass single_consumer -o t.json "
                         "--dot t.dot"),
                   here)
            .exit_code == 0);
  CHECK(std::filesystem::exists(folder / "t.dot"));
  const ProcessResult groups = RunEmplace({"graph", "validate", "--strict", "t.json"}, here);
  CHECK(groups.exit_code == 0);  // an op may stand for a product and its weights
  CHECK(groups.err == "");
}

TEST_CASE("likely mistakes are warnings, and refused with --strict") {
  const TempDir folder;
  const ProcessOptions here{.folder = folder.path()};
  const Json shared = Json::parse(ReadText(SourceDir() / "tests" / "golden" / "graph_doubts.json"));
  Json graph = shared["graph"];
  WriteText(folder / "good.json", graph.dump());
  graph["tensors"][0]["dtype"] = "torch.float32";  // an alias is no mistake
  graph["ops"][1].erase("flops");
  graph["ops"][2].erase("flops");
  graph["ops"][5]["device_kinds"] = {"GPU", "cpu"};
  WriteText(folder / "bad.json", graph.dump());
  WriteText(folder / "p.json",
            R"({"format": "emplace-placement", "version": 1, "graph": "two_layers",
                "cluster": "2xk80", "devices": {"w": "gpu:0", "layer/matmul": "gpu:0",
                "gradients/layer/matmul": "gpu:0", "update": "gpu:0", "filter": "gpu:0",
                "conv": "cpu:0"}})");
  const std::string no_flops =
      "emplace: warning: bad.json: ops[1] \"layer/matmul\": flops: got 0, so only the bytes of "
      "this MatMul have a cost; expected about 40960 for [32, 64] x [64, 10] (and 1 more)\n";
  const std::string no_kind =
      "bad.json: ops[5] \"conv\": device_kinds: no device is of the class or kind \"GPU\"; did you "
      "mean \"gpu\"?\n";

  graph = shared["graph"];
  graph["ops"][5]["devices"] = {"gpu:*", "gpu0"};
  WriteText(folder / "far.json", graph.dump());
  CHECK(RunEmplace({"graph", "validate", "far.json", "--strict"}, here).exit_code == 0);
  const ProcessResult far =
      RunEmplace({"graph", "validate", "far.json", "--cluster", "2xk80", "--strict"}, here);
  CHECK(far.exit_code == 2);
  CHECK(
      far.err.starts_with("emplace: warning: far.json: ops[5] \"conv\": devices: no device "
                          "matches \"gpu0\"; did you mean \"gpu:0\"?\n"));

  const ProcessResult good = RunEmplace({"graph", "validate", "good.json", "--strict"}, here);
  CHECK(good.exit_code == 0);
  CHECK(good.err == "");
  const ProcessResult warned = RunEmplace({"graph", "validate", "bad.json"}, here);
  CHECK(warned.exit_code == 0);
  CHECK(warned.out == "two_layers: valid, 6 ops, 9 tensors\n");
  CHECK(warned.err == no_flops + "emplace: warning: " + no_kind);
  const ProcessResult strict = RunEmplace({"graph", "validate", "bad.json", "--strict"}, here);
  CHECK(strict.exit_code == 2);
  CHECK(strict.out == "");
  CHECK(strict.err ==
        no_flops + "emplace: bad.json: --strict refuses the graph for the warning above\n");

  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"run", "r.yaml", "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunEmplace(arguments, here);
  };
  WriteText(folder / "r.yaml", "graph: bad.json\ncluster: 2xk80\nagents: [heft]\n");
  const ProcessResult searched = run({});
  CHECK(searched.exit_code == 0);
  CHECK(searched.err.starts_with(no_flops));
  CHECK(searched.err.find(no_kind) != std::string::npos);
  const ProcessResult refused = run({"--strict"});
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.ends_with("--strict refuses the graph for the warning above\n"));
  const ProcessResult simulated = RunEmplace(
      {"simulate", "--graph", "./bad.json", "--cluster", "2xk80", "--placement", "p.json"}, here);
  CHECK(simulated.exit_code == 0);
  CHECK(std::count(simulated.err.begin(), simulated.err.end(), '\n') == 2);
  CHECK(simulated.err.find("device_kinds: no device is of") != std::string::npos);
}

TEST_CASE("instances are converted to a graph and a cluster that can be simulated") {
  const TempDir folder;
  const ProcessOptions here{.folder = folder.path()};
  WriteText(folder / "fork.dot",
            "digraph fork { TargetSystem=\"Homogeneous-2\" \"Total schedule length\"=11\n"
            "a [Weight=5, Start=0, Processor=0] b [Weight=6, Start=5, Processor=0]\n"
            "c [Weight=3, Start=7, Processor=1] a -> b [Weight=2] a -> c [Weight=2] }\n");
  const ProcessResult dot = RunEmplace({"graph", "convert", "fork.dot", "f.json.gz"}, here);
  CHECK(dot.out ==
        "fork: 3 ops, 2 devices; optimum 11000 ns if messages never waited\n"
        "wrote f.json.gz, f.cluster.yaml, f.placement.json\n");
  const std::vector<std::string> simulate = Words(
      "simulate --graph ./f.json.gz --cluster ./f.cluster.yaml --placement f.placement.json "
      "--semantics stream");
  CHECK(Json::parse(RunEmplace(simulate, here).out)["step_time_ns"] == 11000);

  WriteText(folder / "two.txt", "2\n0 0 0\n1 20 1 0\n2 3 1 0\n3 0 2 1 2\n");
  const ProcessResult stg = RunEmplace(
      {"graph", "convert", "two.txt", "g.json", "--from", "stg", "--devices", "3"}, here);
  CHECK(stg.out == "two: 4 ops, 3 devices\nwrote g.json, g.cluster.yaml\n");
  WriteText(
      folder / "run.yaml",
      "graph: ./g.json\ncluster: ./g.cluster.yaml\nagents: [heft]\nbudget: {evaluations: 1}\n");
  CHECK(RunEmplace({"run", "run.yaml"}, here).exit_code == 0);
}

TEST_CASE("a max-load instance is converted to a problem of the period") {
  const TempDir folder;
  const ProcessOptions here{.folder = folder.path()};
  // a on an accelerator 2 s, b 3 s, 1 s between them: together 5 s, apart 4 s at most.
  WriteText(folder / "load.json", R"({"maxSizePerFPGA": 100, "maxFPGAs": 2, "maxCPUs": 0,
    "nodes": [{"id": 0, "name": "a", "supportedOnFpga": 1, "cpuLatency": 4, "fpgaLatency": 2},
              {"id": 1, "name": "b", "supportedOnFpga": 1, "cpuLatency": 4, "fpgaLatency": 3}],
    "edges": [{"sourceId": 0, "destId": 1, "cost": 1}]})");
  const ProcessResult converted =
      RunEmplace({"graph", "convert", "load.json", "g.json", "--from", "max_load"}, here);
  CAPTURE(converted.err);
  CHECK(converted.out == "load: 2 ops, 2 devices\nwrote g.json, g.cluster.yaml\n");
  WriteText(folder / "run.yaml",
            "graph: ./g.json\ncluster: ./g.cluster.yaml\nobjective: period\nagents: [max_load_dp]\n"
            "budget: {seconds: 5}\n");
  const ProcessResult run = RunEmplace({"run", "./run.yaml", "--json", "-o", "r.h5"}, here);
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(Json::parse(run.out)["agents"][0]["step_time_ns"]["min"] == 4'000'000'000);
  const ProcessResult refused = RunEmplace(
      {"graph", "convert", "load.json", "h.json", "--from", "max_load", "--devices", "2"}, here);
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("--devices: load.json already gives the number of devices") !=
        std::string::npos);
}

TEST_CASE("instances that cannot be converted are refused") {
  const TempDir folder;
  const ProcessOptions here{.folder = folder.path()};
  WriteText(folder / "g.stg", "1\n0 0 0\n1 5 1 0\n2 0 1 1\n");
  WriteText(folder / "cut.stg", "1\n0 0 0\n");
  WriteText(folder / "g.json", DiamondJson());
  const auto refusal = [&](std::vector<std::string> arguments,
                           const std::vector<std::string>& fragments) {
    arguments.insert(arguments.begin(), {"graph", "convert"});
    CheckRefused(RunEmplace(arguments, here), 2, fragments);
  };
  refusal({"g.stg", "h.json"},
          {"g.stg: the number of processors is missing; give it with --devices"});
  refusal({"g.stg", "h.json", "--devices", "65"}, {"g.stg", "expected 1 to 64, got 65"});
  refusal({"g.stg", "h.dot", "--devices", "2"}, {"h.dot", "choices: .json, .json.gz"});
  refusal({"cut.stg", "h.json", "--devices", "2"}, {"cut.stg:2: expected task 1 of 2"});
  refusal({"none.stg", "h.json", "--devices", "2"}, {"none.stg"});
  refusal({"g.stg", "h.json", "--from", "stgg"},
          {"--from: unknown format \"stgg\"; did you mean \"stg\"? choices: graph, stg, dot"});
  refusal({"g.json", "h.json", "--devices", "2"}, {"--devices: g.json is a graph"});
  refusal({"g.stg", "h.json", "--from", "graph"}, {"g.stg"});
}

TEST_CASE("a generated problem's placement reaches the optimum that is told") {
  const TempDir folder;
  const ProcessOptions here{.folder = folder.path()};
  const ProcessResult made = RunEmplace(
      {"graph", "generate", "p.json", "--ops", "30", "--devices", "3", "--chains", "--shuffle"},
      here);
  CHECK(made.out ==
        "planted_30_3_0: 30 ops, 3 devices; optimum 1000000 ns\n"  // 30 * 100 us / 3
        "wrote p.json, p.cluster.yaml, p.placement.json\n");
  for (const char* semantics : {"queue", "stream"}) {
    std::vector<std::string> simulate =
        Words("simulate --graph ./p.json --cluster ./p.cluster.yaml --placement p.placement.json");
    simulate.insert(simulate.end(), {"--semantics", semantics});
    const Json outcome = Json::parse(RunEmplace(simulate, here).out);
    CHECK(outcome["step_time_ns"] == 1000000);
    CHECK(outcome["bound_ns"] == 1000000);
  }
  CheckRefused(RunEmplace({"graph", "generate", "p.yaml"}, here), 2, {"p.yaml", ".json, .json.gz"});
  CheckRefused(RunEmplace({"graph", "generate", "p.json", "--ccr", "-1"}, here),
               2,
               {"ccr: expected a number from 0 to 1000, got -1"});
}

}  // namespace
