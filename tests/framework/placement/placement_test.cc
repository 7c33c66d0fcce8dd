#include "framework/placement/placement.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/random.h"
#include "framework/schedule/issue_order.h"
#include "tests/framework/graph/random_graph.h"
#include "tests/support/paths.h"

namespace emplace {
namespace {

using testing::MessageOf;
using testing::TempDir;
using Devices = std::vector<DeviceIndex>;

Graph Ops(const std::vector<std::string>& names) {
  std::vector<Op> ops(names.size());
  for (size_t v = 0; v < names.size(); ++v) ops[v].name = names[v];
  return Graph("net", {}, ops);
}

Cluster Machine() {
  DeviceKind kind;
  kind.name = "k80";
  std::vector<Device> devices(3);
  devices[0].name = "cpu:0";
  devices[1].name = "gpu:0";
  devices[2].name = "gpu:1";
  return Cluster("2xk80", {kind}, devices, {}, std::vector<std::vector<int>>(9));
}

const Graph kGraph = Ops({"load", "conv", "loss"});

std::string File(const std::string& devices, const std::string& graph = "net") {
  return "{\"format\": \"emplace-placement\", \"version\": 1, \"graph\": \"" + graph +
         "\", \"cluster\": \"2xk80\", \"devices\": " + devices + "}";
}

std::string PlacementErrorOf(const std::string& text) {
  return MessageOf<InputError>([&] { ParsePlacement(text, kGraph, Machine(), "p.json"); });
}

TEST_CASE("a placement is read by names, whatever their order") {
  const std::string text = File(R"({"loss": "gpu:1", "load": "cpu:0", "conv": "gpu:0"})");
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& warning) { warnings.push_back(warning); };
  CHECK(ParsePlacement(text, kGraph, Machine(), "p.json", warn).device_of_op == Devices{0, 1, 2});
  CHECK(warnings.empty());
  const TempDir dir;
  WriteFileAtomically(dir / "p.json.gz", text);
  CHECK(ReadPlacement(dir / "p.json.gz", kGraph, Machine()).device_of_op == Devices{0, 1, 2});
}

TEST_CASE("other names of graph and cluster, and unknown keys, are warned of") {
  std::vector<std::string> warnings;
  const std::string text =
      R"({"format": "emplace-placement", "version": 1, "graph": "resnet", "cluster": "4xk80",
          "seed": 3, "devices": {"load": "cpu:0", "conv": "cpu:0", "loss": "cpu:0"}})";
  const auto warn = [&](const std::string& warning) { warnings.push_back(warning); };
  CHECK(ParsePlacement(text, kGraph, Machine(), "p.json", warn).device_of_op == Devices{0, 0, 0});
  CHECK(warnings ==
        std::vector<std::string>{"p.json: unknown key \"seed\" ignored",
                                 "p.json: graph: made for \"resnet\", used with \"net\"",
                                 "p.json: cluster: made for \"4xk80\", used with \"2xk80\""});
  CHECK(ParsePlacement(text, kGraph, Machine(), "p.json").device_of_op == Devices{0, 0, 0});
}

TEST_CASE("every op must be placed, known and there once") {
  CHECK(PlacementErrorOf(File(R"({"load": "cpu:0", "loss": "cpu:0"})")) ==
        "p.json: devices: op \"conv\" has no device; expected every op of graph \"net\" once");
  CHECK(
      PlacementErrorOf(File("{}")) ==
      "p.json: devices: op \"load\" (and 2 more) has no device; expected every op of graph \"net\" "
      "once");
  CHECK(PlacementErrorOf(File(R"({"load": "cpu:0", "convv": "cpu:0", "loss": "cpu:0"})")) ==
        "p.json: devices: unknown op \"convv\"; did you mean \"conv\"? choices: load, conv, loss");
  CHECK(PlacementErrorOf(
            File(R"({"load": "cpu:0", "conv": "cpu:0", "loss": "cpu:0", "conv": "gpu:0"})")) ==
        "p.json: devices: duplicate key \"conv\"; expected it once");
}

TEST_CASE("devices must be known by name") {
  CHECK(PlacementErrorOf(File(R"({"load": "cpu:0", "conv": "gpu:2", "loss": "cpu:0"})")) ==
        "p.json: devices.conv: unknown device \"gpu:2\"; did you mean \"gpu:0\"? choices: cpu:0, "
        "gpu:0, "
        "gpu:1");
  CHECK(PlacementErrorOf(File(R"({"load": "cpu:0", "conv": 1, "loss": "cpu:0"})")) ==
        "p.json: devices.conv: got 1; expected a name (text)");
}

TEST_CASE("an issue order is a list of all ops, each behind what it awaits") {
  const Graph graph("net",
                    {Tensor{.name = "t"}},
                    {Op{.name = "load", .outputs = {0}},
                     Op{.name = "conv", .inputs = {0}},
                     Op{.name = "loss", .control_inputs = {1}}});
  const auto with = [](const std::string& order) {
    return R"({"format": "emplace-placement", "version": 1, "issue_order": )" + order +
           R"(, "devices": {"load": "cpu:0", "conv": "cpu:0", "loss": "gpu:0"}})";
  };
  const auto parse = [&](const std::string& order) {
    return ParsePlacement(with(order), graph, Machine(), "p.json");
  };
  const auto error_of = [&](const std::string& order) {
    return MessageOf<InputError>([&] { parse(order); });
  };
  CHECK(parse(R"(["load", "conv", "loss"])").issue_order == std::vector<int>{0, 1, 2});
  CHECK(error_of(R"("id")") == "p.json: issue_order: got \"id\"; expected a list of op names");
  CHECK(error_of(R"(["load", 1, "loss"])") ==
        "p.json: issue_order.1: got 1; expected a name (text)");
  CHECK(error_of(R"(["load", "convv", "loss"])") ==
        "p.json: issue_order.1: unknown op \"convv\"; did you mean \"conv\"? choices: load, conv, "
        "loss");
  CHECK(error_of(R"(["load", "conv"])") ==
        "p.json: issue_order: has 2 ops, expected each of the 3 ops of graph \"net\" once");
  CHECK(error_of(R"(["load", "conv", "conv"])") ==
        "p.json: issue_order: op \"conv\" is listed twice, again at position 2");
  CHECK(error_of(R"(["load", "loss", "conv"])") ==
        "p.json: issue_order: op \"loss\" at position 1 depends on op \"conv\", which comes after "
        "it");
}

TEST_CASE("how a placement was simulated is written and read, and may be missing") {
  const SimulatedAs simulated{.semantics = "stream",
                              .priority = "upward_rank",
                              .objective = "period",
                              .count_gaps = true,
                              .costs = "/a/\"b\".json",
                              .contracted = "[merge_cheapest: {groups: 4}]",
                              .step_time = 549'000'000};
  const std::string text = FormatPlacement(Devices{2, 0, 1}, kGraph, Machine(), {}, simulated);
  CHECK(ParsePlacement(text, kGraph, Machine(), "p.json").simulated == simulated);
  CHECK(text.substr(0, text.find("\"devices\"")) ==
        R"({"format":"emplace-placement",
"version":1,
"graph":"net",
"cluster":"2xk80",
"simulated":{"semantics":"stream","priority":"upward_rank","objective":"period","count_gaps":true,"costs":"/a/\"b\".json","contracted":"[merge_cheapest: {groups: 4}]","step_time_ns":549000000},
)");
  const std::string bare = FormatPlacement(Devices{2, 0, 1}, kGraph, Machine());
  CHECK(!ParsePlacement(bare, kGraph, Machine(), "p.json").simulated);

  const auto with = [](const std::string& object) {
    return R"({"format": "emplace-placement", "version": 1, "simulated": )" + object +
           R"(, "devices": {"load": "cpu:0", "conv": "cpu:0", "loss": "gpu:0"}})";
  };
  CHECK(ParsePlacement(with("{}"), kGraph, Machine(), "p.json").simulated == SimulatedAs());
  std::vector<std::string> warnings;
  ParsePlacement(with(R"({"colour": "red"})"), kGraph, Machine(), "p.json", [&](const auto& text) {
    warnings.push_back(text);
  });
  CHECK(warnings == std::vector<std::string>{"p.json: unknown key \"simulated.colour\" ignored"});
  const auto error_of = [&](const std::string& object) { return PlacementErrorOf(with(object)); };
  CHECK(error_of("3") == "p.json: simulated: got 3; expected an object of settings");
  CHECK(error_of(R"({"semantics": 3})") ==
        "p.json: simulated.semantics: got 3; expected a name (text)");
  CHECK(error_of(R"({"count_gaps": "yes"})") ==
        "p.json: simulated.count_gaps: got \"yes\"; expected true or false");
  CHECK(error_of(R"({"step_time_ns": -1})")
            .starts_with("p.json: simulated.step_time_ns: got -1; expected"));
}

TEST_CASE("what is no placement file is refused") {
  CHECK(PlacementErrorOf(File("[\"cpu:0\"]")) ==
        "p.json: devices: got a list of 1; expected an object of op name -> device name");
  CHECK(PlacementErrorOf(
            R"({"format": "emplace-placement", "version": 1, "graph": 3, "devices": {}})") ==
        "p.json: graph: got 3; expected a name (text)");
}

TEST_CASE("the writer lists the ops in graph order") {
  CHECK(FormatPlacement(Devices{2, 0, 1}, kGraph, Machine()) ==
        R"({"format":"emplace-placement",
"version":1,
"graph":"net",
"cluster":"2xk80",
"devices":{
"load":"gpu:1",
"conv":"cpu:0",
"loss":"gpu:0"
}}
)");
  CHECK(FormatPlacement(Devices{2, 0, 1}, kGraph, Machine(), std::vector<int>{2, 0, 1}) ==
        R"({"format":"emplace-placement",
"version":1,
"graph":"net",
"cluster":"2xk80",
"devices":{
"load":"gpu:1",
"conv":"cpu:0",
"loss":"gpu:0"
},
"issue_order":[
"loss",
"load",
"conv"
]}
)");
}

TEST_CASE("random placements survive writing and reading, nasty op names included") {
  const Cluster cluster = Machine();
  for (int seed = 0; seed < 50 * EMPLACE_TEST_SCALE; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const Graph graph = testing::RandomGraph(rng, UniformInt(rng, 30));
    Devices devices(graph.num_ops());
    for (DeviceIndex& device : devices) device = static_cast<DeviceIndex>(UniformInt(rng, 3));
    const std::string text = FormatPlacement(devices, graph, cluster);
    const PlacementFile file = ParsePlacement(text, graph, cluster, "p.json");
    CHECK(file.device_of_op == devices);
    CHECK(file.issue_order.empty());
    std::vector<std::int64_t> priority(graph.num_ops());
    for (std::int64_t& p : priority) p = UniformInt(rng, 5);
    const std::vector<int> order = IssueOrder(graph, priority);
    const PlacementFile ordered =
        ParsePlacement(FormatPlacement(devices, graph, cluster, order), graph, cluster, "p.json");
    CHECK(ordered.device_of_op == devices);
    CHECK(ordered.issue_order == order);
  }
}

TEST_CASE("expanding gives each op its group's device, contracting takes it back") {
  const Grouping grouping(std::vector<int>{0, 1, 0});
  const Placement placement{{2, 1}};
  const Devices expanded = ExpandPlacement(placement, grouping);
  CHECK(expanded == Devices{2, 1, 2});
  CHECK(ContractPlacement(expanded, grouping, kGraph, Machine()) == placement);
  CHECK(MessageOf<InputError>([&] {
          ContractPlacement(Devices{2, 1, 0}, grouping, kGraph, Machine(), "p.json");
        }) ==
        "p.json: op \"load\" is on \"gpu:1\" and op \"loss\" is on \"cpu:0\", but they belong to "
        "one group; expected one device for both");
}

}  // namespace
}  // namespace emplace
