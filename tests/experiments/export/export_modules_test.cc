#include "experiments/export/export_modules.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/graph/graph_io.h"
#include "tests/experiments/export/export_graph.h"
#include "tests/support/paths.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

using Names = std::vector<std::string>;

std::string UnitOf(const Graph& graph, const ModuleUnits& units, const std::string& op) {
  const int unit = units.unit_of_op[graph.FindOp(op)];
  return unit == kNoUnit ? "none" : units.names[unit];
}

TEST_CASE("units, followers and bindings of a small net, by hand") {
  const auto graph = ModuleGraph(SmallNet());
  const ModuleUnits units = FindModuleUnits(*graph);
  // block: its add joins the input from outside with fc's output. tower is opened: its cat joins
  // its children only. scale belongs to the root.
  CHECK(units.names == Names{"emb", "pos", "block", "scale", "tower.a", "tower.b", "head"});
  const auto unit_of = [&](const std::string& op) { return UnitOf(*graph, units, op); };
  CHECK(unit_of("block.fc.weight") == "block");
  CHECK(unit_of("block/add") == "block");
  CHECK(unit_of("model/add") == "emb");     // the first of its inputs
  CHECK(unit_of("model/arange") == "pos");  // its reader
  CHECK(unit_of("tower/cat") == "tower.a");
  CHECK(unit_of("model/mul") == "tower.a");  // through cat
  CHECK(unit_of("loss/nll") == "head");
  CHECK(unit_of("loss/backward/ones") == "head");
  CHECK(unit_of("tower/backward/split") == "tower.a");  // as its forward op, not as its input
  CHECK(unit_of("scale/momentum") == "scale");
  CHECK(unit_of("scale.momentum") == "scale");  // state is no unit: it is in no state_dict

  REQUIRE(units.groups.size() == 3);
  CHECK(units.groups[0].units == std::vector<int>{0, 1, 6});
  CHECK(units.groups[0].joins == Names{"model/add", "head/t"});
  CHECK(units.groups[1].units == std::vector<int>{2});
  CHECK(units.groups[1].joins.empty());
  CHECK(units.groups[2].units == std::vector<int>{3, 4, 5});
  CHECK(units.groups[2].joins == Names{"tower/cat", "model/mul"});
}

TEST_CASE("a residual through several modules of an opened one binds what it spans") {
  // root: a -> b -> add(a, b). Hooks cannot move what the root adds.
  const auto graph = ModuleGraph({{"a/x", "a", {}, 1},
                                  {"b/x", "b", {"a/x"}, 1},
                                  {"model/add", "", {"a/x", "b/x"}, 1},
                                  {"c/x", "c", {"model/add"}, 1}});
  const ModuleUnits units = FindModuleUnits(*graph);
  CHECK(units.names == Names{"a", "b", "c"});
  REQUIRE(units.groups.size() == 2);
  CHECK(units.groups[0].units == std::vector<int>{0, 1});
  CHECK(units.groups[0].joins == Names{"model/add"});
}

TEST_CASE("a module that reads its own parameter beside its input is a block") {
  const auto graph = ModuleGraph({State("attn.in", "attn"),
                                  {"x/x", "x", {}, 1},
                                  {"attn/mm", "attn", {"x/x", "attn.in"}, 1},
                                  {"attn.out/mm", "attn.out", {"attn/mm"}, 1}});
  CHECK(FindModuleUnits(*graph).names == Names{"attn", "x"});
}

TEST_CASE("outputs that only the loss joins stay apart") {
  const auto graph =
      ModuleGraph({{"a/x", "a", {}, 1}, {"b/x", "b", {}, 1}, {"loss/add", "", {"a/x", "b/x"}, 1}});
  CHECK(FindModuleUnits(*graph).groups.size() == 2);
}

TEST_CASE("a path that begins like another is not below it") {
  const auto graph = ModuleGraph({{"h.1/x", "h.1", {}, 1}, {"h.10.fc/x", "h.10.fc", {"h.1/x"}, 1}});
  CHECK(FindModuleUnits(*graph).names == Names{"h.1", "h.10.fc"});
}

TEST_CASE("the modules of the committed GPT-2, whose head is tied to its embedding") {
  const Graph graph = ReadGraph(SourceDir() / "configs/graphs/gpt2_mini_torch.json.gz");
  const ModuleUnits units = FindModuleUnits(graph);
  CHECK(units.names ==
        Names{"wte", "wpe", "h.0", "h.1", "h.2", "h.3", "ln_f", "dropout", "lm_head"});
  REQUIRE(units.groups.size() == 7);
  CHECK(units.groups[0].units == std::vector<int>{0, 1, 8});
  CHECK(units.groups[0].joins == Names{"model/add", "lm_head/t"});
  CHECK(std::count(units.unit_of_op.begin(), units.unit_of_op.end(), kNoUnit) == 0);
}

TEST_CASE("a graph without module paths is refused") {
  const auto graph = ModuleGraph({{"a", "", {}, 1}});
  CHECK_THROWS_WITH_AS(FindModuleUnits(*graph),
                       "graph \"net\": no op names its module (attributes.module), so a device_map "
                       "has no modules; expected a graph of `emplace import --from torch`",
                       InputError);
}

}  // namespace
