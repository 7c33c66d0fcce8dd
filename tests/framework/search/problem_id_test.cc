#include "framework/search/problem_id.h"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/cluster/cluster_io.h"
#include "framework/config/config_node.h"
#include "framework/graph/graph_io.h"
#include "framework/search/costed_problem.h"

namespace {

using namespace emplace;

// @param key  of the second op, with a comma at its end
ProblemId IdWith(const std::string& key) {
  const std::string graph =
      R"({"format": "emplace-graph", "version": 1, "name": "g",
          "tensors": [{"id": 0, "bytes": 8}],
          "ops": [{"id": 0, "name": "a", "kind": "k", "inputs": [], "outputs": [0],
                   "device_kinds": ["gpu"], "cost_ns": {"g": 5}},
                  {"id": 1, "name": "b", "kind": "k", "inputs": [0], "outputs": [], )" +
      key + R"("cost_ns": {"g": 7}}]})";
  const char* const cluster =
      "name: two\ndevice_kinds: {g: {class: gpu}}\n"
      "devices: [{name: g0, kind: g}, {name: g1, kind: g}]\nall_to_all: {bandwidth: 1GB/s}\n";
  return IdOf(*CostedProblem(std::make_shared<const Graph>(ParseGraph(graph, "g.json")),
                             std::make_shared<const Cluster>(
                                 ParseCluster(ConfigNode::FromString(cluster, "two.yaml"), {})),
                             "g.json")
                   .WithGroups(Grouping::Identity(2)));
}

TEST_CASE("the ids of graphs without devices are those from before the key existed") {
  const ProblemId id = IdWith("");
  CHECK(id[ProblemPart::kGraph] == -2489924228930880049);
  CHECK(id[ProblemPart::kCluster] == -4491231296311529160);
  CHECK(id[ProblemPart::kCosts] == 2853985307672274313);
  CHECK(IdWith("\"devices\": null, ") == id);
}

TEST_CASE("devices of an op are a part of the graph, in the order of the file") {
  using Parts = std::vector<ProblemPart>;
  const ProblemId id = IdWith(""), pinned = IdWith("\"devices\": [\"g1\"], ");
  const auto differing = [](const ProblemId& a, const ProblemId& b) {
    return Differing(a, b, kAllParts);
  };
  CHECK(differing(id, pinned) == Parts{ProblemPart::kGraph, ProblemPart::kCosts});
  const ProblemId all = IdWith("\"devices\": [\"*\"], ");
  CHECK(differing(id, all) == Parts{ProblemPart::kGraph});
  CHECK(differing(IdWith("\"devices\": [\"g0\", \"g1\"], "),
                  IdWith("\"devices\": [\"g1\", \"g0\"], ")) == Parts{ProblemPart::kGraph});
}

}  // namespace
