#include "profilers/kernels/op_work.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "profilers/kernels/op_reader.h"
#include "tests/profilers/kernels/tiny_graph.h"

namespace emplace::testing {
namespace {

std::string Why(const std::string& kind,
                const std::string& attributes,
                const std::vector<TinyGraph::Shape>& inputs,
                const std::vector<TinyGraph::Shape>& outputs) {
  TinyGraph graph;
  std::vector<int> ids;
  for (const auto& shape : inputs) ids.push_back(graph.Input(shape, {}));
  std::vector<TinyGraph::Output> described;
  for (const auto& shape : outputs) described.push_back({.shape = shape});
  graph.AddOp(kind, attributes, ids, described);
  const Graph built = graph.Build();
  const OpWork work = WorkOf(built, 0);
  CHECK(work.is_proxy() == !WhyProxy(built, 0).empty());
  return WhyProxy(built, 0);
}

TEST_CASE("why an op is a proxy") {
  CHECK_EQ(Why("Unique", "", {{4}}, {{4}}), "no kernel for kind \"Unique\"");
  CHECK_EQ(Why("aten.sort", "", {{4}}, {{4}}), "no kernel for kind \"aten.sort\"");
  CHECK_EQ(Why("Relu", "", {}, {{4}}), "input 0 is missing");
  CHECK_EQ(Why("Relu", "", {{3}}, {{4}}),
           "an operand whose shape does not broadcast to the result's");
  CHECK_EQ(Why("MatMul", "", {{2, 3}, {4, 5}}, {{2, 5}}),
           "matmul: b is [1, 4, 5]; expected [1, 3, n]");
  CHECK_EQ(Why("MatMul", R"({"transpose_a": 1})", {{2, 3}, {3, 5}}, {{2, 5}}),
           "attribute \"transpose_a\": got 1; expected true or false");
  CHECK_EQ(Why("ConcatV2", "", {{2}, {2}, {}}, {{4}}), "attribute \"axis\" is missing");
  CHECK_EQ(Why("ConcatV2", R"({"axis": 1})", {{2}, {2}, {}}, {{4}}),
           "axis 1 of a tensor of rank 1");
  CHECK_EQ(Why("ConcatV2", R"({"axis": 0})", {{2}, {1}, {}}, {{4}}),
           "parts that do not fill the whole");
  CHECK_EQ(Why("Slice", R"({"begin": [3]})", {{4}, {1}, {1}}, {{2}}), "a slice beyond the tensor");
  CHECK_EQ(Why("Conv2D",
               R"({"strides": [1, 1, 1, 1], "padding": "FULL"})",
               {{1, 4, 4, 1}, {1, 1, 1, 1}},
               {{1, 4, 4, 1}}),
           "a padding other than SAME, VALID or EXPLICIT");
  CHECK_EQ(Why("aten.convolution",
               R"({"stride": [1]})",
               {{1, 1, 4, 4, 4}, {1, 1, 1, 1, 1}},
               {{1, 1, 4, 4, 4}}),
           "a convolution that is not over [h, w]");
  CHECK_EQ(Why("aten.add", R"({"alpha": 2})", {{4}, {4}}, {{4}}), "a scaled operand");
  CHECK_EQ(Why("aten.add", "", {{4}, {4}}, {{4}}), "");
  CHECK_EQ(Why("aten.add.Tensor", "", {{4}, {4}}, {{4}}), "");
  CHECK_EQ(Why("aten::relu_", "", {{4}}, {{4}}), "");
}

TEST_CASE("absurd attributes make a proxy, not an overflow") {
  const std::string huge = "9223372036854775807";
  const TinyGraph::Shape image{1, 1, 4, 4}, filter{1, 1, 1, 1};
  for (const std::string key : {"stride", "padding", "dilation"}) {
    CHECK_EQ(Why("aten.convolution", "{\"" + key + "\": " + huge + "}", {image, filter}, {image}),
             "a window of negative or excessive size");
  }
  CHECK_EQ(Why("aten.avg_pool2d", R"({"kernel_size": [-1, 2]})", {image}, {image}),
           "a window of negative or excessive size");
  CHECK_NE(Why("Conv2D",
               R"({"strides": [1, 0, 0, 1], "padding": "SAME"})",
               {{1, 4, 4, 1}, {1, 1, 1, 1}},
               {{1, 4, 4, 1}}),
           "");
  CHECK_EQ(Why("Slice", "{\"begin\": [" + huge + "]}", {{4}, {1}, {1}}, {{2}}),
           "a slice beyond the tensor");
  // "To the end" is what 2^63 - 1 means as an end.
  TinyGraph graph;
  const int x = graph.Input({4}, {});
  const int tail = graph.AddOp("aten.slice",
                               "{\"dim\": 0, \"start\": 1, \"end\": " + huge + "}",
                               {x},
                               {{.shape = {3}, .alias_of = x}})[0];
  const int strided = graph.AddOp("aten.as_strided",
                                  "{\"size\": [3], \"stride\": [" + huge + "]}",
                                  {x},
                                  {{.shape = {3}, .alias_of = x}})[0];
  const Graph built = graph.Build();
  CHECK(LayoutOf(built, tail).offset == 1);
  CHECK(LayoutOf(built, strided) == ContiguousView(DType::kF32, {3}));
}

TEST_CASE("other dtypes are proxies over all bytes") {
  Tensor x, y;
  x.shape = y.shape = {3};
  x.dtype = y.dtype = "f16";
  x.bytes = y.bytes = 6;
  Op op;
  op.name = "relu";
  op.kind = "Relu";
  op.inputs = {0};
  op.outputs = {1};
  op.flops = 3;
  const Graph graph("g", {x, y}, {op});
  CHECK_EQ(WhyProxy(graph, 0), "no kernels for dtype \"f16\"");
  const OpWork work = WorkOf(graph, 0);
  REQUIRE(work.calls.size() == 1);
  CHECK(work.is_proxy());
  CHECK(work.calls[0].params.alpha == 3);
  CHECK(work.calls[0].inputs[0].view == ContiguousView(DType::kBool, {6}));
  CHECK(work.calls[0].outputs[0].view == ContiguousView(DType::kBool, {6}));
}

TEST_CASE("ops see a tensor in the layout that it is said to have, and so do views of it") {
  TinyGraph graph;
  const int w = graph.Input({3, 2}, {}), x = graph.Input({1, 2}, {});
  const int t = graph.AddOp("aten.t", "", {w}, {{.shape = {2, 3}, .alias_of = w}})[0];
  graph.AddOp("aten.mm", "", {x, t}, {{.shape = {1, 3}}});
  const Graph built = graph.Build();
  CHECK(WorkOf(built, 0).calls.empty());
  const auto strides = [](const OpWork& work) {
    return work.calls.at(0).inputs.at(1).view.strides;
  };
  using Strides = std::vector<std::int64_t>;
  CHECK(strides(WorkOf(built, 1)) == Strides{0, 1, 2});
  const TensorView columns{.dtype = DType::kF32, .shape = {3, 2}, .strides = {1, 3}};
  CHECK(strides(WorkOf(built, 1, {{w, columns}})) == Strides{0, 3, 1});
  CHECK(LayoutOf(built, w, {{w, columns}}) == columns);
}

TEST_CASE("the tables are sorted and name each kind once") {
  for (const auto rules :
       {internal::AtenWork(), internal::OptimizerWork(), internal::TensorFlowWork()}) {
    CHECK(std::ranges::adjacent_find(
              rules, [](const auto& a, const auto& b) { return a.name >= b.name; }) == rules.end());
  }
}

}  // namespace
}  // namespace emplace::testing
