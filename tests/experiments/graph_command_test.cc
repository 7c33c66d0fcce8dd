#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "experiments/graph_info.h"
#include "framework/base/json.h"
#include "tests/experiments/program_files.h"

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

  const ProcessResult coarsen = RunEmplace({"graph",
                                            "coarsen",
                                            "g.json",
                                            "--pass",
                                            "colocate",
                                            "--pass",
                                            "heavy_edge: {groups: 2}",
                                            "--dot",
                                            "c.dot"},
                                           here);
  CHECK(coarsen.exit_code == 0);
  CHECK(coarsen.out.find("(single ops)") != std::string::npos);
  CHECK(coarsen.out.find("heavy_edge") != std::string::npos);
  CHECK(std::filesystem::exists(folder / "c.dot"));
  CHECK(
      RunEmplace({"graph", "coarsen", "g.json", "--pass", "single_consumer", "-o", "s.json"}, here)
          .exit_code == 0);
  CHECK(RunEmplace({"graph", "validate", "s.json"}, here).exit_code == 0);
}

TEST_CASE("unknown keys are kept under a warning") {
  const TempDir folder;
  WriteText(folder / "g.json",
            GraphJson(R"({"id": 0, "bytes": 8, "colour": "red"})",
                      R"({"id": 0, "name": "a", "kind": "k", "inputs": [], "outputs": [0]})"));
  const ProcessResult result =
      RunEmplace({"graph", "convert", "g.json", "h.json"}, {.folder = folder.path()});
  CHECK(result.exit_code == 0);
  CHECK(result.err.find("emplace: warning: ") == 0);
  CHECK(result.err.find("colour") != std::string::npos);
  CHECK(ReadText(folder / "h.json").find("red") != std::string::npos);
}

}  // namespace
