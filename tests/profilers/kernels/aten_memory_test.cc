// PyTorch's copies, indexing and constants against hand calculations.

#include <string>

#include <doctest/doctest.h>

#include "tests/profilers/kernels/tiny_graph.h"

namespace emplace::testing {
namespace {

using MemoryValues = TinyGraph::Values;

TEST_CASE("constants, repeats, padding, and parts written over") {
  CheckNear(RunOp("aten.scalar_tensor", R"({"s": 2.5})", {}, {{}})[0], {2.5});
  CheckNear(RunOp("aten.fill.Scalar", R"({"value": 3})", {{{2}, {1, 2}}}, {{2}})[0], {3, 3});
  CheckNear(RunOp("aten.fill.Tensor", "", {{{2}, {1, 2}}, {{}, {7}}}, {{2}})[0], {7, 7});
  CheckNear(RunOp("aten.repeat", R"({"repeats": [2, 2]})", {{{2}, {1, 2}}}, {{2, 4}})[0],
            {1, 2, 1, 2, 1, 2, 1, 2});
  // One column before, two rows behind.
  CheckNear(RunOp("aten.constant_pad_nd",
                  R"({"pad": [1, 0, 0, 2], "value": 9})",
                  {{{1, 2}, {1, 2}}},
                  {{3, 3}})[0],
            {9, 1, 2, 9, 9, 9, 9, 9, 9});
  CheckNear(RunOp("aten.slice_scatter",
                  R"({"dim": 1, "start": 1, "end": 9223372036854775807})",
                  {{{2, 3}, {1, 2, 3, 4, 5, 6}}, {{2, 2}, {10, 20, 30, 40}}},
                  {{2, 3}})[0],
            {1, 10, 20, 4, 30, 40});
  CheckNear(RunOp("aten.select_scatter",
                  R"({"dim": 1, "index": 0})",
                  {{{2, 3}, {1, 2, 3, 4, 5, 6}}, {{2}, {10, 20}}},
                  {{2, 3}})[0],
            {10, 2, 3, 20, 5, 6});
}

TEST_CASE("roll: along one axis, along two, not at all") {
  const MemoryValues x{1, 2, 3, 4, 5, 6};
  const auto roll = [&](const std::string& attributes) {
    return RunOp("aten.roll", attributes, {{{2, 3}, x}}, {{2, 3}})[0];
  };
  CheckNear(roll(R"({"shifts": [1], "dims": [1]})"), {3, 1, 2, 6, 4, 5});
  CheckNear(roll(R"({"shifts": [-1, -4], "dims": [0, 1]})"), {5, 6, 4, 2, 3, 1});
  CheckNear(roll(R"({"shifts": [2], "dims": [-2]})"), x);
}

TEST_CASE("ranges and cumulative sums") {
  TinyGraph graph;
  const int range = graph.AddOp("aten.arange.start_step",
                                R"({"start": 3, "end": 10, "step": 2})",
                                {},
                                {{.shape = {4}, .dtype = DType::kI64}})[0];
  const int x = graph.Input({2, 3}, {1, 0, 1, 1, 1, 1}, DType::kBool);
  const std::vector<TinyGraph::Output> sums{{.shape = {2, 3}, .dtype = DType::kI64}};
  const int along = graph.AddOp("aten.cumsum", R"({"dim": -1})", {x}, sums)[0];
  const int across = graph.AddOp("aten.cumsum", R"({"dim": 0})", {x}, sums)[0];
  graph.Run();
  CHECK(graph.Read(range) == MemoryValues{3, 5, 7, 9});
  CHECK(graph.Read(along) == MemoryValues{1, 1, 2, 1, 2, 3});
  CHECK(graph.Read(across) == MemoryValues{1, 0, 1, 2, 1, 2});
}

TEST_CASE("rows picked and added along any axis") {
  TinyGraph graph;
  const MemoryValues table{1, 2, 3, 4, 5, 6};  // 1 2 3 / 4 5 6
  const int x = graph.Input({2, 3}, table);
  const int i = graph.Input({4}, {2, 0, -1, 1}, DType::kI64);
  const int columns =
      graph.AddOp("aten.index_select", R"({"dim": 1})", {x, i}, {{.shape = {2, 4}}})[0];
  const int part = graph.Input({2, 4}, {1, 10, 100, 1000, 2, 20, 200, 2000});
  const int added =
      graph.AddOp("aten.index_add", R"({"dim": 1})", {x, i, part}, {{.shape = {2, 3}}})[0];
  const int j = graph.Input({1, 2}, {1, 1}, DType::kI64);
  const int picked = graph.AddOp("aten.index.Tensor", "", {x, j}, {{.shape = {1, 2, 3}}})[0];
  const int rows = graph.Input({1, 2, 3}, {1, 1, 1, 2, 2, 2});
  const int put = graph.AddOp(
      "aten.index_put", R"({"accumulate": true})", {x, j, rows}, {{.shape = {2, 3}}})[0];
  const int gradient = graph.AddOp("aten.embedding_dense_backward",
                                   R"({"num_weights": 2, "padding_idx": 0})",
                                   {part, graph.Input({2}, {0, 1}, DType::kI64)},
                                   {{.shape = {2, 4}}})[0];
  graph.Run();
  CheckNear(graph.Read(columns), {3, 1, 3, 2, 6, 4, 6, 5});
  CheckNear(graph.Read(added), {1 + 10, 2 + 1000, 3 + 101, 4 + 20, 5 + 2000, 6 + 202});
  CheckNear(graph.Read(picked), {4, 5, 6, 4, 5, 6});
  CheckNear(graph.Read(put), {1, 2, 3, 4 + 3, 5 + 3, 6 + 3});
  CheckNear(graph.Read(gradient), {0, 0, 0, 0, 2, 20, 200, 2000});
}

TEST_CASE("elements picked by row and column, which broadcast") {
  TinyGraph graph;
  const int x = graph.Input({2, 3}, {1, 2, 3, 4, 5, 6});
  const int rows = graph.Input({2, 1}, {1, 0}, DType::kI64);
  const int columns = graph.Input({1, 3}, {2, 0, 1}, DType::kI64);
  const int picked = graph.AddOp("aten.index", "", {x, rows, columns}, {{.shape = {2, 3}}})[0];
  graph.Run();
  CheckNear(graph.Read(picked), {6, 4, 5, 3, 1, 2});
}

TEST_CASE("embeddings of positions that all samples share") {
  TinyGraph graph;
  const int table = graph.Input({3, 1}, {10, 20, 30});
  const int i = graph.Input({1, 2}, {2, 0}, DType::kI64);
  const int shared = graph.AddOp("aten.expand",
                                 R"({"size": [2, 2]})",
                                 {i},
                                 {{.shape = {2, 2}, .dtype = DType::kI64, .alias_of = i}})[0];
  const int y = graph.AddOp("aten.embedding", "", {table, shared}, {{.shape = {2, 2, 1}}})[0];
  const int dy = graph.Input({2, 2, 1}, {1, 2, 3, 4});
  const int dtable = graph.AddOp("aten.embedding_dense_backward",
                                 R"({"num_weights": 3, "padding_idx": -1})",
                                 {dy, shared},
                                 {{.shape = {3, 1}}})[0];
  graph.Run();
  CheckNear(graph.Read(y), {30, 10, 30, 10});
  CheckNear(graph.Read(dtable), {2 + 4, 0, 1 + 3});
}

TEST_CASE("bernoulli: zeros and ones, as many as its probability says") {
  const MemoryValues drawn =
      RunOp("aten.bernoulli.p", R"({"p": 0.8})", {{{10000}, MemoryValues(10000)}}, {{10000}})[0];
  double ones = 0;
  for (const double value : drawn) {
    CHECK((value == 0 || value == 1));
    ones += value;
  }
  // Standard deviation: sqrt(10000 * 0.8 * 0.2) = 40.
  CHECK(ones == doctest::Approx(8000).epsilon(200 / 8000.0));
}

}  // namespace
}  // namespace emplace::testing
