// `emplace profile` on this machine's cores: what it writes and says, and how it goes on.

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/cluster/cluster_io.h"
#include "framework/config/config_node.h"
#include "framework/cost/cost_table.h"
#include "framework/cost/op_signature.h"
#include "tests/experiments/machine/measured_machine.h"
#include "tests/support/text.h"
#include "tests/support/words.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// Every op with work of the graph has timings alone and in steps.
void CheckMeasured(const CostTable& table, const Graph& graph) {
  REQUIRE(table.kinds.size() == 1);
  for (int v = 0; v < graph.num_ops(); ++v) {
    const std::string& kind = graph.op(v).kind;
    if (kind == "parameter" || kind == "aten.t") continue;
    CAPTURE(graph.op(v).name);
    const OpMeasurement* op = table.kinds[0].Find(OpSignature(graph, v));
    REQUIRE(op != nullptr);
    CHECK(op->isolated.has_value());
    CHECK(op->isolated->median > 0);
  }
}

TEST_CASE("a profile is a cost table, a cluster and a report") {
  const MeasuredMachine machine;
  CHECK(machine.profile.exit_code == 0);
  CHECK(machine.profile.err == "");
  for (const char* part : {"machine  ",
                           "device kind",
                           "perceptron on ",
                           "largest ops",
                           "aten.mm(",
                           "dispatch",
                           "costs    costs.json",
                           "cluster  costs.cluster.yaml"}) {
    CAPTURE(part);
    CHECK(Contains(machine.profile.out, part));
  }
  CHECK(Contains(machine.profile.out, "\nlink ") == (MeasuredMachine::Devices().size() == 2));
  const CostTable table = ReadCostTable(machine.folder / "costs.json");
  CHECK(table.complete);
  CHECK(table.properties.at("devices") == MeasuredMachine::DeviceList());
  CHECK(table.properties.at("placement_seed") == "1");
  CHECK(table.properties.at("placements") == "4");
  CHECK(table.properties.at("command").starts_with("emplace profile --graph "));
  CHECK(table.properties.contains("date"));
  CHECK(table.properties.contains("kernel"));
  CheckMeasured(table, Perceptron().Build());

  const Cluster cluster =
      ParseCluster(ConfigNode::FromFile(machine.folder / "costs.cluster.yaml"), {});
  CHECK(cluster.name() == "costs");
  CHECK(cluster.DeviceNames() == MeasuredMachine::Devices());
  CHECK(cluster.num_channels() == (cluster.num_devices() == 2 ? 2 : 0));
}

TEST_CASE("the report as JSON") {
  const MeasuredMachine machine(
      {"--json", "--quiet", "-o", "x.json.gz", "--cluster-output", "measured.yaml"});
  REQUIRE(machine.profile.exit_code == 0);
  const auto json = nlohmann::json::parse(machine.profile.out);
  CHECK(json["complete"] == true);
  CHECK(json["costs"] == "x.json.gz");
  CHECK(json["cluster"] == "measured.yaml");
  CHECK(json["kinds"].size() == 1);
  CHECK(json["kinds"][0]["isolated"] == json["kinds"][0]["signatures"]);
  CHECK(json["graphs"][0]["graph"] == "perceptron");
  CHECK(json["graphs"][0]["proxy_ns"] <= json["graphs"][0]["total_ns"]);
  CHECK(ReadCostTable(machine.folder / "x.json.gz").complete);
  CHECK(ParseCluster(ConfigNode::FromFile(machine.folder / "measured.yaml"), {}).name() ==
        "measured");
}

TEST_CASE("an interrupted profile can be gone on with, and only on purpose") {
  const MeasuredMachine machine;
  REQUIRE(machine.profile.exit_code == 0);
  // As if it had been cut off after the first half of its ops.
  CostTable partial = ReadCostTable(machine.folder / "costs.json");
  auto& ops = partial.kinds.at(0).ops;
  const size_t all = ops.size();
  ops.resize(all / 2);
  for (OpMeasurement& op : ops) op.isolated = Timing{77, 76, 78, 10};
  partial.complete = false;
  WriteText(machine.folder / "costs.json", FormatCostTable(partial));

  CheckRefused(machine.Profile({"--quiet"}),
               2,
               {"costs.json: holds a stopped profile of ", "--force", "--resume", "-o"});
  CHECK(!ReadCostTable(machine.folder / "costs.json").complete);

  const ProcessResult resumed = machine.Profile({"--quiet", "--resume"});
  CHECK(resumed.exit_code == 0);
  const CostTable table = ReadCostTable(machine.folder / "costs.json");
  CHECK(table.complete);
  CHECK(!Contains(table.properties.at("command"), "--resume"));  // that of the first command line
  REQUIRE(table.kinds.at(0).ops.size() == all);
  for (size_t i = 0; i < all / 2; ++i) {  // not measured again
    const OpMeasurement* op = table.kinds[0].Find(ops[i].signature);
    REQUIRE(op != nullptr);
    CHECK(op->isolated == Timing{77, 76, 78, 10});
  }
  // A complete one is replaced with --force alone.
  const std::string complete = ReadText(machine.folder / "costs.json");
  CheckRefused(machine.Profile({"--quiet"}),
               2,
               {"costs.json: holds a profile of ",
                "; --force overwrites it, --resume continues it, -o names another file"});
  CHECK(ReadText(machine.folder / "costs.json") == complete);
  CHECK(machine.Profile({"--quiet", "--force"}).exit_code == 0);
  CHECK(ReadCostTable(machine.folder / "costs.json").kinds.at(0).ops.size() == all);
}

TEST_CASE("a profile of another machine is not gone on with") {
  const MeasuredMachine machine;
  REQUIRE(machine.profile.exit_code == 0);
  CostTable other = ReadCostTable(machine.folder / "costs.json");
  other.machine = "elsewhere: cpu:0 (a toaster)";
  WriteText(machine.folder / "costs.json", FormatCostTable(other));
  CheckRefused(
      machine.Profile({"--quiet", "--resume"}), 2, {"costs.json", "a toaster", "cpu:0 (core"});
}

TEST_CASE("ctrl-C keeps what was measured") {
  const TempDir folder;
  WriteText(folder / "g.json", Perceptron().Json());
  // Far more placements than can be executed before the first line is seen.
  const ProcessResult result =
      RunEmplace(Words("profile --graph g.json --devices cpu:0 --seconds 0.002 --in-situ 100000"),
                 {.folder = folder.path(), .interrupt_when = "profiling"});
  CHECK(result.exit_code == 1);
  CHECK(result.out == "");
  CHECK(Contains(result.err, "emplace: stopped: costs.json holds the measurements so far"));
  CHECK(Contains(result.err, "--resume"));
  CHECK(!ReadCostTable(folder / "costs.json").complete);
  CHECK(!std::filesystem::exists(folder / "costs.cluster.yaml"));
}

TEST_CASE("what a profile refuses") {
  const TempDir folder;
  WriteText(folder / "g.json", Perceptron().Json());
  WriteText(folder / "list.json", "[1, 2]");
  const auto refused = [&](std::vector<std::string> arguments,
                           int exit_code,
                           const std::vector<std::string>& fragments) {
    arguments.insert(arguments.begin(), "profile");
    CheckRefused(RunEmplace(arguments, {.folder = folder.path()}), exit_code, fragments);
    CHECK(!std::filesystem::exists(folder / "costs.json"));
  };
  refused({"--devices", "cpu:0,tpu:1"}, 2, {"--devices", "\"tpu:1\"", "this machine has"});
  refused({"--devices", "gpu:77"}, 2, {"--devices", "\"gpu:77\"", "this machine has"});
  refused({"--devices", "cpu:0,cpu:0"}, 2, {"\"cpu:0\"", "twice"});
  refused({"--graph", "none.json"}, 2, {"none.json"});
  refused({"--graph", "inceptoin_v3"}, 2, {"did you mean \"inception_v3\"?"});
  refused({"--graph", "g.json", "--seconds", "0"}, 2, {"--seconds", "0"});
  refused({"--graph", "g.json", "--in-situ", "-1"}, 2, {"--in-situ", "-1"});
  refused({"--graph", "g.json", "-o", "list.json"}, 2, {"list.json", "JSON object"});
  refused({"--graph", "g.json", "-o", "no/such/costs.json"}, 1, {"no/such"});
  refused({"--graph", "g.json", "--cluster-output", "no/such/c.yaml"}, 1, {"no/such"});
}

}  // namespace
