#include "agents/expert/expert.h"

#include <algorithm>
#include <fstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/registry.h"
#include "framework/base/error.h"
#include "framework/graph/graph_io.h"
#include "tests/support/agent_contract.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// in -> enc/a -> enc/b -> dec/a -> loss, and a parameter w read by dec/a. Devices cpu:0, gpu:0 ...
// gpu:3.
ProblemBuilder Model() {
  ProblemBuilder builder;
  builder.kind(builder.Device("cpu:0")).device_class = DeviceClass::kCpu;
  for (int d = 0; d < 4; ++d) builder.Device(fmt::format("gpu:{}", d));
  builder.AllToAll(1, kGigabytePerSecond);
  const int in = builder.Op("in", {1}, {}, 5);
  const int a = builder.Op("enc/a", {10}, {in}, 5);
  const int b = builder.Op("enc/b", {10}, {a}, 5);
  const int w = builder.Op("w", {0}, {}, 100);
  const int c = builder.Op("dec/a", {10}, {b, w}, 5);
  builder.Op("loss", {1}, {c});
  builder.Op("alone", {1});
  return builder;
}

Placement Place(std::shared_ptr<const Problem> problem, const std::string& settings) {
  const auto agent = AllAgents()
                         .Find("expert", "test")
                         .make({problem, 1}, ConfigNode::FromString(settings, "run.yaml"));
  return RunAgent(*agent, problem, 10).best.placement;
}

std::string RefusalOfRules(const std::string& settings) {
  return MessageOf<InputError>([&] { Place(Model().Build(), settings); });
}

TEST_CASE("the first matching rule decides, the others follow") {
  // "w" and "in" have no decided predecessor: they go with their readers; "loss" with dec/a;
  // "alone" is connected to nothing.
  const Placement placement =
      Place(Model().Build(),
            R"({rules: [{match: "enc/b", device: "gpu:2"}, {match: [x, "enc/*"], device: cpu},
                                        {match: "dec/?", device: "gpu:3"}]})");
  CHECK(placement.device == std::vector<DeviceIndex>{0, 0, 3, 4, 4, 4, 1});
}

TEST_CASE("layers spread over the GPUs") {
  const std::string rules = R"(rules: [{match: "enc/a", layer: 0}, {match: "enc/b", layer: 5},
                                       {match: "dec/*", layer: 7}])";
  // Eight layers on four GPUs: 0 -> 0, 5 -> floor(5 * 4 / 8) = 2, 7 -> 3.
  CHECK(Place(Model().Build(), "{layers: 8, " + rules + "}").device ==
        std::vector<DeviceIndex>{1, 1, 3, 4, 4, 4, 1});
  // Two layers on four GPUs take the first two.
  CHECK(Place(Model().Build(),
              R"({layers: 2, rules: [{match: "enc/*", layer: 0}, {match: "dec/*", layer: 1}]})")
            .device == std::vector<DeviceIndex>{1, 1, 1, 2, 2, 2, 1});
}

TEST_CASE("groups go with the majority of their cost, and where they are allowed") {
  ProblemBuilder builder = Model();

  const Grouping grouping(
      std::vector<int>{0, 1, 1, 2, 1, 3, 4});  // enc/a, enc/b and dec/a together
  const Placement placement =
      Place(builder.Build(grouping),
            R"({rules: [{match: "enc/*", device: "gpu:1"}, {match: "dec/*", device: "gpu:2"}]})");
  CHECK(placement.device[1] == 2);

  ProblemBuilder cpu_only = Model();
  cpu_only.Op("decode", {5, kMaxNanos, kMaxNanos, kMaxNanos, kMaxNanos});
  CHECK(Place(cpu_only.Build(), R"({rules: [{match: "*", device: "gpu:1"}]})").device ==
        std::vector<DeviceIndex>{2, 2, 2, 2, 2, 2, 2, 0});
}

TEST_CASE("rules come from a file, too") {
  const TempDir folder;
  const auto path = folder / "rules.yaml";
  std::ofstream(path) << "# Rules.\nlayers: 2\nrules:\n  - {match: \"enc/*\", layer: 1}\n";
  const Placement placement =
      Place(Model().Build(), fmt::format("{{rules: \"{}\"}}", path.string()));
  CHECK(placement.device == std::vector<DeviceIndex>{2, 2, 2, 2, 2, 2, 1});
}

TEST_CASE("rules of before come before those of a file, and count its layers") {
  const TempDir folder;
  const auto path = folder / "rules.yaml";
  std::ofstream(path) << "layers: 4\nrules:\n  - {match: \"enc/*\", layer: 1}\n";
  const auto with = [&](const std::string& before) {
    return Place(Model().Build(),
                 fmt::format("{{rules: \"{}\", before: {}}}", path.string(), before))
        .device;
  };
  // enc/a on gpu:1, as the file says; enc/b on gpu:3, and with it what follows.
  CHECK(with(R"([{match: "*/b", layer: 3}])") == std::vector<DeviceIndex>{2, 2, 4, 4, 4, 4, 1});
  CHECK(with("[{match: \"*/b\", device: cpu}]") == std::vector<DeviceIndex>{2, 2, 0, 0, 0, 0, 1});
}

TEST_CASE("bad rules are refused with their place") {
  const auto contains = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  contains(RefusalOfRules("{}"), "rules: expected a list of rules, or the path of a YAML file");
  contains(RefusalOfRules("{rules: []}"), "expected at least one rule, got none");
  contains(RefusalOfRules("{rules: [{match: nothing, device: gpu}]}"),
           "\"nothing\" matches no op of graph \"test_graph\"; its first op is \"in\"");
  contains(RefusalOfRules("{rules: [{match: in}]}"), "expected either \"layer\" or \"device\"");
  contains(RefusalOfRules("{rules: [{match: in, device: gpu:7}]}"), "run.yaml:1:30");
  contains(RefusalOfRules("{rules: [{match: in, device: gpu:7}]}"),
           "has no device \"gpu:7\"; did you mean");
  contains(RefusalOfRules("{rules: [{match: in, layer: 1}]}"), "needs \"layers\"");
  contains(RefusalOfRules("{layers: 2, rules: [{match: in, layer: 2}]}"),
           "expected a layer from 0 to 1, got 2");
  contains(RefusalOfRules("{rules: [{mach: in, device: gpu}]}"), "did you mean \"match\"");
  contains(RefusalOfRules("{rules: [in]}"), "expected a rule like");
  contains(RefusalOfRules("{rules: no/such/file.yaml}"), "no/such/file.yaml");
  const std::string good = "{rules: [{match: in, device: gpu}], before: ";
  contains(RefusalOfRules(good + "cpu}"), "before: expected a list of rules");
  contains(RefusalOfRules(good + "{match: in}}"), "before: expected a list of rules");
  contains(RefusalOfRules(good + "[{match: nothing, device: gpu}]}"), "\"nothing\" matches no op");
}

// The committed rules on the committed graphs, every op at equal cost.
TEST_CASE("the rules' files fit their graphs and use every GPU they count on") {
  for (const std::string name :
       {"inception_v3", "nasnet", "nmt", "resnet50", "resnet152", "rnnlm"}) {
    CAPTURE(name);
    const auto graph = std::make_shared<const Graph>(
        ReadGraph(SourceDir() / "configs" / "graphs" / (name + ".json.gz")));
    const auto cluster = Model().BuildCluster();
    Costs costs;
    costs.num_ops = graph->num_ops();
    costs.num_devices = cluster->num_devices();
    costs.time.assign(static_cast<std::size_t>(costs.num_ops) * costs.num_devices, 1);
    costs.source.assign(costs.time.size(), CostSource::kMeasured);
    costs.uncertainty.assign(costs.time.size(), 0);
    const auto problem = std::make_shared<const Problem>(
        graph, Grouping::Identity(graph->num_ops()), cluster, costs);
    const auto path = SourceDir() / "configs" / "agents" / ("expert_" + name + ".yaml");
    const Placement placement = Place(problem, fmt::format("{{rules: \"{}\"}}", path.string()));
    const int num_gpus = name == "rnnlm" ? 2 : 4;
    for (int d = 1; d <= num_gpus; ++d) {
      CAPTURE(d);
      CHECK(std::count(placement.device.begin(), placement.device.end(), d) * num_gpus * 2 >
            graph->num_ops());
    }
    CHECK(std::count(placement.device.begin(), placement.device.end(), 0) == 0);
  }
}

}  // namespace
