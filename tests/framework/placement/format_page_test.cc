// framework/placement/FORMAT.md against reader and writer.

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/graph/graph_io.h"
#include "framework/placement/placement.h"
#include "tests/framework/cluster/cluster_page.h"
#include "tests/framework/format_pages.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

using nlohmann::json;

TEST_CASE("placement: the example is one of the other pages' graph and cluster") {
  const Graph graph = ParseGraph(Example(kGraphPage, "json"), "graph page");
  const Cluster cluster = ReadClusterExample(ClusterExamples().at(0));
  const std::string example = Example(kPlacementPage, "json");
  std::vector<std::string> warnings;
  const auto parse = [&](const std::string& text) {
    return ParsePlacement(text, graph, cluster, "page", [&](const std::string& warning) {
      warnings.push_back(warning);
    });
  };
  const PlacementFile file = parse(example);
  CHECK(warnings.empty());
  CHECK(file.device_of_op == std::vector<DeviceIndex>{1, 1, 2, 1});
  CHECK(file.issue_order == std::vector<int>{0, 1, 2, 3});
  CHECK(json::parse(
            FormatPlacement(file.device_of_op, graph, cluster, file.issue_order, file.simulated)) ==
        json::parse(example));

  const KeyTable keys = KeysOf(kPlacementPage, "Keys of the file");
  CHECK(Text(NamesOf(keys)) == Text(KeysAt(json::parse(example), {""})));
  CHECK(Text(NamesOf(keys)) == Text(ListInSource("framework/placement/placement.cc", "kKeys")));
  CheckKnown(json::parse(example), "", keys, parse);
  const KeyTable settings = KeysOf(kPlacementPage, "Keys of `simulated`");
  CHECK(Text(NamesOf(settings)) == Text(KeysAt(json::parse(example), {"/simulated"})));
  CheckKnown(json::parse(example), "/simulated", settings, parse);
}

TEST_CASE("placement: a key left out is its default on the page") {
  const Graph graph = ParseGraph(Example(kGraphPage, "json"), "graph page");
  const Cluster cluster = ReadClusterExample(ClusterExamples().at(0));
  const auto read = [&](const std::string& text) {
    std::string shown;
    const PlacementFile file = ParsePlacement(
        text, graph, cluster, "page", [&](const std::string& warning) { shown += warning + "\n"; });
    return shown +
           FormatPlacement(file.device_of_op, graph, cluster, file.issue_order, file.simulated);
  };
  const json example = json::parse(Example(kPlacementPage, "json"));
  CheckDefaults(example,
                {""},
                DefaultsOf(kPlacementPage, "Keys of the file"),
                {.words = {{"graph", {}}, {"cluster", {}}, {"simulated", {}}, {"issue_order", {}}},
                 .other = {{"graph", "another"}, {"cluster", "another"}}},
                read);
  CheckDefaults(
      example,
      {"/simulated"},
      DefaultsOf(kPlacementPage, "Keys of `simulated`"),
      {.words = {{"contracted", ""}, {"step_time_ns", {}}}, .other = {{"objective", "period"}}},
      read);
}

}  // namespace
