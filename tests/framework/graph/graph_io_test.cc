#include "framework/graph/graph_io.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "tests/framework/graph/random_graph.h"
#include "tests/support/paths.h"

namespace emplace {
namespace {

using testing::MessageOf;
using testing::RandomGraph;
using testing::TempDir;
using Ids = std::vector<int>;

constexpr const char* kHeader = R"("format": "emplace-graph", "version": 1, "name": "g")";

// A file of two tensors and two ops; `replace` changes its text before reading.
std::string Small(const std::string& from = "", const std::string& to = "") {
  std::string text = std::string("{") + kHeader + R"(,
 "tensors": [{"id": 0, "name": "x", "bytes": 12}, {"id": 1, "name": "y", "bytes": 8}],
 "ops": [{"id": 0, "name": "load", "kind": "parameter", "inputs": [], "outputs": [0]},
         {"id": 1, "name": "conv", "kind": "Conv2D", "inputs": [0], "outputs": [1]}]})";
  if (!from.empty()) {
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string GraphErrorOf(const std::string& text) {
  return MessageOf<InputError>([&] { ParseGraph(text, "g.json"); });
}

// What is said when `key: value` is added to op "conv" or to tensor "y".
std::string OpMessage(const std::string& key, const std::string& value) {
  const std::string added = fmt::format("\"{}\": {}, \"kind\": \"Conv2D\"", key, value);
  const std::string message = GraphErrorOf(Small("\"kind\": \"Conv2D\"", added));
  const std::string place = "g.json: ops[1] \"conv\": ";
  return message.starts_with(place) ? message.substr(place.size()) : message;
}
std::string TensorMessage(const std::string& key, const std::string& value) {
  const std::string message =
      GraphErrorOf(Small("\"bytes\": 8", fmt::format("\"{}\": {}, \"bytes\": 8", key, value)));
  const std::string place = "g.json: tensors[1] \"y\": ";
  return message.starts_with(place) ? message.substr(place.size()) : message;
}

TEST_CASE("every key of the format is read") {
  const Graph graph = ParseGraph(
      R"({"format": "emplace-graph", "version": 1, "name": "inception_v3",
          "source": {"framework": "torch 2.15", "batch": 32},
          "tensors": [
            {"id": 0, "name": "x", "shape": [32,3,299,299], "dtype": "f32", "bytes": 34332672,
             "role": "input"},
            {"id": 1, "bytes": 4, "role": "parameter", "alias_of": null},
            {"id": 2, "bytes": 8.0, "alias_of": 1, "shape": []}],
          "ops": [
            {"id": 0, "name": "w", "kind": "parameter", "inputs": [], "outputs": [1]},
            {"id": 1, "name": "Conv2d_1a", "kind": "aten.convolution", "inputs": [0, 1, 0],
             "outputs": [2], "control_inputs": [0], "flops": 1.2e9, "bytes_accessed": 81000000,
             "workspace_bytes": 5, "phase": "backward", "colocate": "c", "device_kinds": ["gpu", "k80"],
             "devices": ["gpu:*", "cpu:0"],
             "cost_ns": {"p100": 400000.5, "k80": 812000}, "attributes": {"stride": [2,2], "a": 1}}]})",
      "g.json");
  CHECK(graph.name() == "inception_v3");
  CHECK(graph.source() == R"({"framework":"torch 2.15","batch":32})");
  const Tensor& x = graph.tensor(0);
  CHECK(x.name == "x");
  CHECK(x.shape == std::vector<std::int64_t>{32, 3, 299, 299});
  CHECK(x.dtype == "f32");
  CHECK(x.bytes == 34332672);
  CHECK(x.role == TensorRole::kInput);
  CHECK(x.alias_of == -1);
  CHECK(graph.tensor(1).role == TensorRole::kParameter);
  CHECK(graph.tensor(2).bytes == 8);
  CHECK(graph.tensor(2).alias_of == 1);
  CHECK(graph.tensor(2).shape.empty());
  const Op& conv = graph.op(1);
  CHECK(conv.name == "Conv2d_1a");
  CHECK(conv.kind == "aten.convolution");
  CHECK(conv.inputs == Ids{0, 1, 0});
  CHECK(conv.outputs == Ids{2});
  CHECK(conv.control_inputs == Ids{0});
  CHECK(conv.flops == 1.2e9);
  CHECK(conv.bytes_accessed == 81000000);
  CHECK(conv.workspace_bytes == 5);
  CHECK(conv.phase == Phase::kBackward);
  CHECK(conv.colocate == "c");
  CHECK(conv.device_kinds == std::vector<std::string>{"gpu", "k80"});
  CHECK(conv.devices == std::vector<std::string>{"gpu:*", "cpu:0"});
  CHECK(graph.op(0).devices.empty());
  CHECK(conv.cost_ns ==
        std::vector<std::pair<std::string, double>>{{"p100", 400000.5}, {"k80", 812000.0}});
  CHECK(conv.attributes == R"({"stride":[2,2],"a":1})");
}

TEST_CASE("keys may come in any order, ops before tensors, header last") {
  const Graph graph = ParseGraph(
      R"({"ops": [{"outputs": [0], "inputs": [], "kind": "k", "name": "a", "id": 0}],
          "tensors": [{"bytes": 1, "id": 0}], "name": "g", "version": 1, "format": "emplace-graph"})",
      "g.json");
  CHECK(graph.op(0).name == "a");
}

TEST_CASE("format and version come before anything else") {
  // Records of a later version that stand before its number are not judged by the rules of ours.
  CHECK(GraphErrorOf(R"({"format": "emplace-graph", "ops": [{"ident": 0}], "version": 7})") ==
        "g.json: version: expected at most 1, got 7: made by a newer version of emplace");
  CHECK(GraphErrorOf(R"({"ops": [{"ident": 0}], "name": "x"})") ==
        "g.json: required key \"format\" is missing; expected \"emplace-graph\"");
  CHECK(GraphErrorOf(R"({"ops": [{"id": 0}, 7], "format": "emplace-graph", "version": 1})") ==
        "g.json: ops[0]: required key \"name\" is missing");
}

TEST_CASE("values of the wrong form are named with what was expected") {
  CHECK(GraphErrorOf(Small("\"g\"", "3")) ==
        "g.json: name: got 3; expected the graph's name (text)");
  CHECK(GraphErrorOf(std::string("{") + kHeader + ", \"tensors\": {}, \"ops\": []}") ==
        "g.json: tensors: got an object of 0 keys; expected a list of tensors");
  CHECK(GraphErrorOf(std::string("{") + kHeader + ", \"tensors\": [], \"ops\": null}") ==
        "g.json: ops: got null; expected a list of ops");
  CHECK(GraphErrorOf(std::string("{") + kHeader + ", \"tensors\": [3]}") ==
        "g.json: tensors[0]: got 3; expected an object");
  CHECK(GraphErrorOf(Small("\"name\": \"g\"", "\"name\": \"g\", \"source\": \"torch\"")) ==
        "g.json: source: got \"torch\"; expected an object");
  CHECK(GraphErrorOf(Small("\"x\"", "null")) ==
        "g.json: tensors[0]: name: got null; expected the tensor's name (text)");
  CHECK(GraphErrorOf(Small("\"conv\"", "7")) ==
        "g.json: ops[1]: name: got 7; expected the op's name (text)");
  CHECK(GraphErrorOf(Small("\"Conv2D\"", "[]")) ==
        "g.json: ops[1] \"conv\": kind: got a list of 0; expected the op's type (text)");
  CHECK(GraphErrorOf(Small("[0], ", "0, ")) ==
        "g.json: ops[1] \"conv\": inputs: got 0; expected a list of ids");
  CHECK(GraphErrorOf(Small("[0], ", "[0.5], ")) ==
        "g.json: ops[1] \"conv\": inputs: got 0.5; expected an integer from 0 to 2^63 - 1");
  CHECK(GraphErrorOf(Small("[0], ", "[-1], ")) ==
        "g.json: ops[1] \"conv\": inputs: got -1; expected an integer from 0 to 2^63 - 1");
  CHECK(GraphErrorOf(Small("[0], ", "[4294967296], ")) ==
        "g.json: ops[1] \"conv\": inputs: got 4294967296; expected an id below 2^31");

  const std::string integer = "; expected an integer from 0 to 2^63 - 1";
  const std::string amount = "; expected a finite number >= 0";
  CHECK(GraphErrorOf(Small("\"bytes\": 8", "\"bytes\": -1")) ==
        "g.json: tensors[1] \"y\": bytes: got -1" + integer);
  CHECK(TensorMessage("shape", "[3, null]") == "shape: got null" + integer);
  CHECK(TensorMessage("shape", "[-3]") == "shape: got -3" + integer);
  CHECK(TensorMessage("shape", "3") == "shape: got 3; expected a list of integers");
  CHECK(TensorMessage("dtype", "null") == "dtype: got null; expected an element type (text)");
  CHECK(TensorMessage("alias_of", "\"x\"") == "alias_of: got \"x\"" + integer);
  CHECK(TensorMessage("role", "3") == "role: got 3; expected role (text)");
  CHECK(OpMessage("control_inputs", "null") == "control_inputs: got null; expected a list of ids");
  CHECK(OpMessage("flops", "\"1\"") == "flops: got \"1\"" + amount);
  CHECK(OpMessage("flops", "-1") == "flops: got -1" + amount);
  CHECK(OpMessage("bytes_accessed", "1.5") == "bytes_accessed: got 1.5" + integer);
  CHECK(OpMessage("bytes_accessed", "null") == "bytes_accessed: got null" + integer);
  CHECK(OpMessage("workspace_bytes", "-1") == "workspace_bytes: got -1" + integer);
  CHECK(OpMessage("colocate", "7") == "colocate: got 7; expected a label or null (text)");
  CHECK(OpMessage("colocate", "\"\"") == "colocate: got \"\"; expected a label, or null for none");
  CHECK(OpMessage("device_kinds", "\"gpu\"") ==
        "device_kinds: got \"gpu\"; expected a list of device classes or kinds, or null");
  CHECK(OpMessage("device_kinds", "[]") ==
        "device_kinds: got an empty list, so the op could run "
        "nowhere; expected null for \"any\"");
  CHECK(OpMessage("device_kinds", "[\"\"]") ==
        "device_kinds: got \"\"; expected a device class or kind");
  CHECK(OpMessage("devices", "\"gpu:0\"") ==
        "devices: got \"gpu:0\"; expected a list of device names or patterns, or null");
  CHECK(OpMessage("devices", "[]") ==
        "devices: got an empty list, so the op could run nowhere; expected null for \"any\"");
  CHECK(OpMessage("devices", "[\"gpu:0\", \"\"]") ==
        "devices: got \"\"; expected a device name or pattern");
  CHECK(OpMessage("devices", "[7]") == "devices: got 7; expected a device name or pattern (text)");
  CHECK(OpMessage("cost_ns", "5") == "cost_ns: got 5; expected an object of device kind -> ns");
  CHECK(OpMessage("cost_ns", "{\"p100\": 1, \"k80\": -1}") == "cost_ns: k80: got -1" + amount);
  CHECK(OpMessage("attributes", "null") == "attributes: got null; expected an object");
}

TEST_CASE("ids count up in file order") {
  CHECK(GraphErrorOf(Small("\"id\": 1, \"name\": \"y\"", "\"id\": 0, \"name\": \"y\"")) ==
        "g.json: tensors[1] \"y\": id: duplicate id 0, which tensors[0] has; expected 1, since ids "
        "count 0, 1, 2, ... in file order");
  CHECK(
      GraphErrorOf(Small("\"id\": 1, \"name\": \"conv\"", "\"id\": 2, \"name\": \"conv\"")) ==
      "g.json: ops[1] \"conv\": id: got 2; expected 1, since ids count 0, 1, 2, ... in file order");
  CHECK(GraphErrorOf(Small("\"id\": 1, \"name\": \"conv\"", "\"id\": \"1\", \"name\": \"conv\"")) ==
        "g.json: ops[1] \"conv\": id: got \"1\"; expected an integer from 0 to 2^63 - 1");
}

TEST_CASE("roles and phases are answered with the choices") {
  CHECK(TensorMessage("role", "\"activaton\"") ==
        "role: unknown role \"activaton\"; did you mean \"activation\"? choices: input, parameter, "
        "buffer, activation, gradient, optimizer_state, output");
  CHECK(OpMessage("phase", "\"bakward\"") ==
        "phase: unknown phase \"bakward\"; did you mean \"backward\"? choices: forward, backward, "
        "update");
  CHECK(OpMessage("phase", "\"" + std::string(100000, 'z') + "\"").size() < 300);
}

TEST_CASE("what the graph itself refuses is refused with the file's name") {
  CHECK(GraphErrorOf(Small("\"inputs\": [0]", "\"inputs\": [9]")) ==
        "g.json: ops[1] \"conv\": inputs: dangling id 9; ids are 0 .. 1");
  CHECK(TensorMessage("alias_of", "7") == "alias_of: tensor 7 does not exist; ids are 0 .. 1");
}

TEST_CASE("unknown keys are kept under one warning per name") {
  std::vector<std::string> warnings;
  const std::string text = std::string("{") + kHeader + R"(, "license": {"spdx": "MIT"},
      "tensors": [{"id": 0, "name": "x", "bytes": 1, "color": "red", "z": null}],
      "ops": [{"id": 0, "name": "a", "kind": "k", "inputs": [], "outputs": [], "color": 1},
              {"id": 1, "name": "b", "kind": "k", "inputs": [], "outputs": [], "flop": 5.0}]})";
  const Graph graph =
      ParseGraph(text, "g.json", [&](const std::string& warning) { warnings.push_back(warning); });
  CHECK(warnings ==
        std::vector<std::string>{
            "g.json: unknown key \"license\" kept",
            "g.json: tensors[0] \"x\": unknown key \"color\" kept (the first of 2 places)",
            "g.json: tensors[0] \"x\": unknown key \"z\" kept",
            "g.json: ops[1] \"b\": unknown key \"flop\" kept; did you mean \"flops\"?",
        });
  CHECK(graph.extra() == R"({"license":{"spdx":"MIT"}})");
  CHECK(graph.tensor(0).extra == R"({"color":"red","z":null})");
  CHECK(graph.op(0).extra == R"({"color":1})");
  CHECK(graph.op(1).extra == R"({"flop":5.0})");
  CHECK(graph.op(1).flops == 0);
  // And come back.
  CHECK(FormatGraph(ParseGraph(FormatGraph(graph), "again.json")) == FormatGraph(graph));
  CHECK_NOTHROW(ParseGraph(text, "g.json"));  // without anyone to warn
}

TEST_CASE("an instance is kept without a warning") {
  std::vector<std::string> warnings;
  const std::string text =
      std::string("{") + kHeader + R"(, "instance": {"version": 1}, "tensors": [], "ops": []})";
  const Graph graph =
      ParseGraph(text, "g.json", [&](const std::string& warning) { warnings.push_back(warning); });
  CHECK(warnings.empty());
  CHECK(graph.extra() == R"({"instance":{"version":1}})");
  CHECK(ParseGraph(FormatGraph(graph), "again.json").extra() == graph.extra());
}

TEST_CASE("many unknown names do not drown the rest") {
  std::string keys;
  for (int i = 0; i < 100; ++i) keys += fmt::format("\"unheard_of_{}\": 0, ", i);
  std::vector<std::string> warnings;
  ParseGraph(Small("\"kind\": \"Conv2D\"", keys + "\"kind\": \"Conv2D\""),
             "g.json",
             [&](const auto& w) { warnings.push_back(w); });
  REQUIRE(warnings.size() == 21);
  CHECK(warnings.back() == "g.json: 80 more unknown keys kept");
}

TEST_CASE("the writer leaves defaults out and gives each record its line") {
  CHECK(FormatGraph(ParseGraph(Small(), "g.json")) ==
        R"({"format":"emplace-graph",
"version":1,
"name":"g",
"tensors":[
{"id":0,"name":"x","bytes":12},
{"id":1,"name":"y","bytes":8}
],
"ops":[
{"id":0,"name":"load","kind":"parameter","inputs":[],"outputs":[0]},
{"id":1,"name":"conv","kind":"Conv2D","inputs":[0],"outputs":[1]}
]}
)");
  CHECK(FormatGraph(Graph("", {}, {})) ==
        "{\"format\":\"emplace-graph\",\n\"version\":1,\n\"name\":\"\",\n"
        "\"tensors\":[\n],\n\"ops\":[\n]}\n");
}

TEST_CASE("numbers are written in full") {
  std::vector<Op> ops(1);
  ops[0].name = "a";
  ops[0].flops = 0.1 + 0.2;
  ops[0].cost_ns = {{"k80", 1e300}, {"p100", 5e-324}};
  ops[0].bytes_accessed = INT64_MAX;
  const Graph again = ParseGraph(FormatGraph(Graph("g", {}, ops)), "g.json");
  CHECK(again.op(0).flops == ops[0].flops);
  CHECK(again.op(0).cost_ns == ops[0].cost_ns);
  CHECK(again.op(0).bytes_accessed == INT64_MAX);
}

TEST_CASE("random graphs survive writing and reading, and the text is JSON to others, too") {
  const TempDir dir;
  for (int seed = 0; seed < 100 * EMPLACE_TEST_SCALE; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const Graph graph = RandomGraph(rng, UniformInt(rng, 30));
    const std::string text = FormatGraph(graph);
    CHECK(FormatGraph(ParseGraph(text, "g.json")) == text);
    const auto document = nlohmann::json::parse(text);
    CHECK(document["ops"].size() == static_cast<size_t>(graph.num_ops()));
    if (seed % 10 == 0) {
      WriteGraph(graph, dir / "g.json.gz");
      CHECK(FormatGraph(ReadGraph(dir / "g.json.gz")) == text);
    }
  }
}

}  // namespace
}  // namespace emplace
