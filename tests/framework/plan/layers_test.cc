#include "framework/plan/layers.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/graph/graph_io.h"
#include "tests/framework/plan/training_steps.h"
#include "tests/support/paths.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

/// A chain of forward ops with these names.
Graph ChainOf(const std::vector<std::string>& names) {
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  for (const std::string& name : names) {
    Op op{.name = name, .kind = "test"};
    if (!tensors.empty()) op.inputs = {static_cast<int>(tensors.size()) - 1};
    op.outputs = {static_cast<int>(tensors.size())};
    tensors.push_back({.bytes = 4});
    ops.push_back(std::move(op));
  }
  return Graph("chain", std::move(tensors), std::move(ops));
}

ModelLayers LayersOf(const Graph& graph, const std::string& pattern = "") {
  return FindLayers(graph, pattern, std::vector<double>(graph.num_ops(), 1));
}

TEST_CASE("blocks of a chain; what is before, between and after them") {
  const ModelLayers layers = LayersOf(
      ChainOf({"embed", "h.0.a", "h.0/b", "between", "h.1.a", "h.1/b", "h.10.a", "norm", "head"}));
  CHECK(layers.names == std::vector<std::string>{"input", "h.0", "h.1", "h.10", "output"});
  CHECK(layers.layer_of_op == std::vector<int>{0, 1, 1, 1, 2, 2, 3, 4, 4});
  CHECK(layers.found_by == "h.*");
  CHECK(layers.RecomputeAll() == std::vector<std::string>{"h.10?*", "h.0?*", "h.1?*"});
}

TEST_CASE("two families, and blocks one level below") {
  CHECK(
      LayersOf(
          ChainOf(
              {"encoder.block.0/a", "encoder.block.1/a", "decoder.block.0/a", "decoder.block.1/a"}))
          .names ==
      std::vector<std::string>{
          "encoder.block.0", "encoder.block.1", "decoder.block.0", "decoder.block.1"});
  CHECK(LayersOf(ChainOf({"conv1/a", "layer1.0.conv1/a", "layer1.1.conv1/a", "layer2.0.conv1/a"}))
            .names == std::vector<std::string>{"input", "layer1.0", "layer1.1", "layer2.0"});
  CHECK(LayersOf(ChainOf({"l.0.norm1/a", "l.0.norm2/a", "l.1.norm1/a", "l.1.norm2/a"})).names ==
        std::vector<std::string>{"l.0", "l.1"});
}

TEST_CASE("backward ops, updates and parameters follow the forward ops") {
  const Graph graph = ChainStep({.layers = 3});
  const ModelLayers layers = LayersOf(graph, "f*");
  CHECK(layers.names == std::vector<std::string>{"f0", "f1", "f2"});
  for (int op = 0; op < graph.num_ops(); ++op) {
    CAPTURE(graph.op(op).name);
    CHECK(layers.layer_of_op[op] == graph.op(op).name.back() - '0');
  }
  CHECK(layers.RecomputeAll() == std::vector<std::string>{"f0", "f1", "f2"});
}

TEST_CASE("a view of another layer's tensor does not tie the layers") {
  const Graph chain = ChainStep({.layers = 2});
  std::vector<Tensor> tensors(chain.tensors().begin(), chain.tensors().end());
  for (Tensor& tensor : tensors) tensor.producer = -1;
  std::vector<Op> ops(chain.ops().begin(), chain.ops().end());
  const int gradient = ops[chain.FindOp("b1")].outputs[1], view = chain.num_tensors();
  tensors.push_back(tensors[gradient]);
  tensors.back().alias_of = gradient;
  ops.push_back({.name = "v", .kind = "aten.view", .inputs = {gradient}, .outputs = {view}});
  ops.back().phase = Phase::kBackward;
  ops.back().attributes = R"({"forward_op":"f0"})";
  ops[chain.FindOp("b0")].inputs.back() = view;
  const ModelLayers layers = LayersOf(Graph("chain", tensors, ops), "f*");
  CHECK(layers.layer_of_op[chain.FindOp("b1")] == 1);
  CHECK(layers.layer_of_op[chain.num_ops()] == 0);
  CHECK(layers.layer_of_op[chain.FindOp("b0")] == 0);
  // An update in place does.
  CHECK(layers.layer_of_op[chain.FindOp("u1")] == 1);
}

TEST_CASE("without repeated blocks: merged ops in topological order") {
  const Graph graph = ChainStep({.layers = 3});
  const ModelLayers layers = LayersOf(graph);
  CHECK(layers.found_by == "merged ops");
  CHECK(layers.num_layers() == 3);
  CHECK(layers.layer_of_op[graph.FindOp("f0")] == 0);
  CHECK(layers.layer_of_op[graph.FindOp("b2")] == 2);
  CHECK(layers.RecomputeAll().empty());
}

TEST_CASE("models of the menu") {
  const auto count = [](const std::string& name) {
    const Graph graph = ReadGraph(SourceDir() / ("configs/graphs/" + name + ".json.gz"));
    return LayersOf(graph).num_layers();
  };
  CHECK(count("gpt2_mini_torch") == 4 + 2);
  CHECK(count("gpt2_small_torch") == 12 + 2);
  CHECK(count("bert_base_torch") == 12 + 2);
  CHECK(count("resnet50_torch") == 16 + 2);
}

TEST_CASE("a pattern that tells no layers apart") {
  const Graph graph = ChainOf({"embed", "h.0.a", "h.1.a"});
  CHECK_THROWS_WITH_AS(LayersOf(graph, "block.*"),
                       "chain: layers \"block.*\" match no block of the model; expected a pattern "
                       "of at least 2; choices: \"embed\", \"h.*\"",
                       InputError);
  CHECK_THROWS_WITH_AS(LayersOf(graph, "h.*.*"),
                       "chain: expected a pattern with one '*' for the number of the layer, got "
                       "\"h.*.*\"",
                       InputError);
}

}  // namespace
