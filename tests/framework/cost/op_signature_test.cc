#include "framework/cost/op_signature.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/cost/cost_model.h"
#include "framework/graph/graph_io.h"
#include "tests/support/paths.h"
#include "tests/support/sanitizers.h"

using namespace emplace;

namespace {

Tensor F32(std::vector<std::int64_t> shape, int alias_of = -1) {
  std::int64_t bytes = 4;
  for (const std::int64_t size : shape) bytes *= size;
  return {.shape = std::move(shape), .dtype = "f32", .bytes = bytes, .alias_of = alias_of};
}

Op MakeOp(const std::string& name,
          const std::string& kind,
          std::vector<int> inputs,
          std::vector<int> outputs,
          const std::string& attributes = "") {
  Op op;
  op.name = name;
  op.kind = kind;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  op.attributes = attributes;
  return op;
}

std::string SignatureOf(const Op& op, std::vector<Tensor> tensors) {
  return OpSignature(Graph("g", std::move(tensors), {op}), 0);
}

TEST_CASE("kind, dtypes, shapes, attributes by key") {
  CHECK(SignatureOf(MakeOp("a", "aten.mm", {0, 1}, {2}), {F32({2, 3}), F32({3, 4}), F32({2, 4})}) ==
        "aten.mm(f32[2,3], f32[3,4]) -> f32[2,4] {}");
  CHECK(SignatureOf(MakeOp("a",
                           "Conv2D",
                           {0},
                           {1},
                           R"({"strides":[1,2],"module":"m","padding":"SAME","forward_op":"f",)"
                           R"("epsilon":1e-5,"keep":true})"),
                    {F32({2}), F32({1})}) ==
        "Conv2D(f32[2]) -> f32[1] {keep=true, padding=SAME, strides=[1,2]}");
  CHECK(SignatureOf(MakeOp("a", "aten.arange", {}, {0}, R"({"end":3})"), {F32({3})}) ==
        "aten.arange() -> f32[3] {}");
  CHECK(SignatureOf(MakeOp("a", "NoOp", {0}, {}), {F32({3})}) == "NoOp(f32[3]) -> () {}");
}

TEST_CASE("runs of equal tensors are counted, a tensor read again is named") {
  CHECK(SignatureOf(MakeOp("a", "AddN", {0, 1, 2, 3, 0, 0}, {4, 5}),
                    {F32({8}), F32({8}), F32({8}), F32({}), F32({8}), F32({8})}) ==
        "AddN(f32[8] x3, f32[], #0 x2) -> f32[8] x2 {}");
}

TEST_CASE("without shapes bytes and FLOPs tell ops apart") {
  const Tensor bare{.bytes = 4096}, typed{.dtype = "f32", .bytes = 4096};
  Op op = MakeOp("a", "k", {0}, {1});
  op.flops = 1e6;
  CHECK(SignatureOf(op, {bare, typed}) == "k(?[4096B]) -> f32[4096B] {} 1000000 FLOP, 8192 B");
  // An empty shape may be a scalar's: 4 B of f32 are one.
  CHECK(SignatureOf(op, {F32({}), {.dtype = "bool", .bytes = 1}}) == "k(f32[]) -> bool[] {}");
  const Tensor untyped{.shape = {2, 3}, .bytes = 48};
  CHECK(SignatureOf(op, {untyped, F32({})}) == "k(?[2,3; 48B]) -> f32[] {} 1000000 FLOP, 52 B");
  Op lone = MakeOp("a", "k", {}, {});
  lone.bytes_accessed = 10;
  CHECK(SignatureOf(lone, {}) == "k() -> () {} 0 FLOP, 10 B");
}

// x [4,6] -> v through the given views -> add(v).
struct Chain {
  std::vector<Tensor> tensors{F32({4, 6})};
  std::vector<Op> ops;

  void Add(const std::string& kind,
           std::vector<std::int64_t> shape,
           const std::string& attributes = "") {
    const int from = static_cast<int>(tensors.size()) - 1;
    ops.push_back(MakeOp(std::to_string(from), kind, {from}, {from + 1}, attributes));
    tensors.push_back(F32(std::move(shape), from));
  }
  std::string Reader() const {
    Graph graph = [&] {
      auto all = ops;
      auto more = tensors;
      more.push_back(F32({1}));
      const int last = static_cast<int>(tensors.size()) - 1;
      all.push_back(MakeOp("reader", "k", {last}, {last + 1}));
      return Graph("g", more, all);
    }();
    return OpSignature(graph, graph.num_ops() - 1);
  }
};

TEST_CASE("views out of row-major order are named with their dimensions") {
  Chain chain;
  SUBCASE("a transpose, its source's shape follows from its own") {
    chain.Add("aten.t", {6, 4});
    CHECK(chain.Reader() == "k(f32[6,4]:aten.t) -> f32[1] {}");
  }
  SUBCASE("with dimensions") {
    chain.Add("aten.transpose.int", {6, 4}, R"({"dim1":1,"dim0":0,"module":"m"})");
    CHECK(chain.Reader() == "k(f32[6,4]:aten.transpose.int{dim0=0, dim1=1}) -> f32[1] {}");
  }
  SUBCASE("a slice, what it is cut from") {
    chain.Add("aten.slice", {4, 2}, R"({"dim":1,"start":2,"end":4})");
    CHECK(chain.Reader() == "k(f32[4,2]:aten.slice{dim=1}[4,6]) -> f32[1] {}");
  }
  SUBCASE("reshapes and in-place ops leave the order") {
    chain.Add("aten.view", {24});
    chain.Add("aten.add_", {24});
    chain.Add("Reshape", {2, 12});
    chain.Add("Identity", {2, 12});
    CHECK(chain.Reader() == "k(f32[2,12]) -> f32[1] {}");
  }
  SUBCASE("a reshaped slice of a transpose of a reshape") {
    chain.Add("aten.view", {8, 3});
    chain.Add("aten.t", {3, 8});
    chain.Add("aten.select", {8}, R"({"dim":0,"index":1})");
    chain.Add("aten.view", {2, 4});
    CHECK(chain.Reader() == "k(f32[2,4][8]:aten.select{dim=0}[3,8]:aten.t) -> f32[1] {}");
  }
  SUBCASE("an unknown op that shares memory may have any order") {
    chain.Add("my.view", {4, 6});
    CHECK(chain.Reader() == "k(f32[4,6]:my.view[4,6]) -> f32[1] {}");
  }
}

TEST_CASE("where a slice begins and what things are called changes nothing") {
  Chain a, b;
  a.Add("aten.slice", {4, 2}, R"({"dim":1,"start":2})");
  b.Add("aten.slice", {4, 2}, R"({"module":"m","dim":1,"start":4})");
  CHECK(a.Reader() == b.Reader());
  Chain c;
  c.Add("aten.slice", {4, 2}, R"({"dim":0,"start":4})");
  CHECK(a.Reader() != c.Reader());
}

// Ops of one signature do the same work: the same class, FLOPs and bytes.
TEST_CASE("on the committed graphs signatures agree with the work and repeat a lot" *
          doctest::skip(testing::kUnderSanitizers)) {
  const auto folder = testing::SourceDir() / "configs" / "graphs";
  int num_ops = 0, num_signatures = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".gz") continue;
    INFO(file.path().string());
    const Graph graph = ReadGraph(file.path());
    std::map<std::string, const Op*> first;
    int differing = 0;
    for (int v = 0; v < graph.num_ops(); ++v) {
      const Op& op = graph.op(v);
      const auto [entry, is_new] = first.emplace(OpSignature(graph, v), &op);
      const Op& same = *entry->second;
      differing += op.kind != same.kind || op.flops != same.flops ||
                   op.bytes_accessed != same.bytes_accessed;
    }
    CHECK(differing == 0);
    num_ops += graph.num_ops();
    num_signatures += static_cast<int>(first.size());
  }
  CHECK(num_signatures * 10 < num_ops);
}

}  // namespace
