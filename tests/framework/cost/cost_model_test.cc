#include "framework/cost/cost_model.h"

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/cluster/cluster_io.h"
#include "framework/graph/graph_io.h"
#include "tests/support/paths.h"

using namespace emplace;

namespace {

// fast: 1 TFLOP/s f32, 4 bf16; 100 GB/s; products reach half, memory all of it. slow: nothing but a
// class and figures without efficiencies.
Cluster MakeCluster() {
  return ParseCluster(
      ConfigNode::FromString(
          "name: pair\n"
          "device_kinds:\n"
          "  fast: {class: gpu, peak: {f32: 1TFLOP/s, bf16: 4TFLOP/s}, memory_bandwidth: 100GB/s,\n"
          "         overhead: 5us, efficiency: {matmul: 0.5, memory: 1}}\n"
          "  slow: {class: cpu, peak: {f32: 0.1TFLOP/s}, memory_bandwidth: 10GB/s}\n"
          "devices: [{name: f0, kind: fast}, {name: s0, kind: slow}, {name: f1, kind: fast}]\n",
          "pair.yaml"),
      {});
}

Op MakeOp(const std::string& name, const std::string& kind, double flops, std::int64_t bytes) {
  Op op;
  op.name = name;
  op.kind = kind;
  op.flops = flops;
  op.bytes_accessed = bytes;
  return op;
}

Costs Compute(const Op& op, std::vector<Tensor> tensors = {}) {
  return ComputeCosts(Graph("g", std::move(tensors), {op}), MakeCluster());
}

TEST_CASE("roofline: overhead + the longer of compute and memory") {
  // 1e9 / (1e12 * 0.5) = 2 ms against 1e6 / 1e11 = 10 us.
  const Costs product = Compute(MakeOp("a", "MatMul", 1e9, 1'000'000));
  CHECK(product.at(0, 0) == 5'000 + 2'000'000);
  CHECK(product.at(0, 2) == product.at(0, 0));
  CHECK(product.rung_at(0, 0) == Rung::kRoofline);
  // Class default 0.6: 1e9 / (1e11 * 0.6) = 16.6667 ms, nearest ns.
  CHECK(product.at(0, 1) == 16'666'667);
  CHECK(product.rung_at(0, 1) == Rung::kDefault);
  CHECK(product.uncertainty[0] < product.uncertainty[1]);

  // 1e6 / 1e12 = 1 us and less against 1e6 / 1e11 = 10 us; slow: 1e6 / (1e10 * 0.7) = 142.857 us.
  const Costs sum = Compute(MakeOp("a", "AddV2", 1e5, 1'000'000));
  CHECK(sum.at(0, 0) == 15'000);
  CHECK(sum.rung_at(0, 0) == Rung::kRoofline);  // the memory's efficiency decides, and it is told
  CHECK(sum.at(0, 1) == 142'857);
  CHECK(sum.rung_at(0, 1) == Rung::kDefault);

  // Compute decides, and the kind does not tell the efficiency of this class: 1e9 / (1e12 * 0.5).
  const Costs convolution = Compute(MakeOp("a", "Conv2D", 1e9, 0));
  CHECK(convolution.at(0, 0) == 5'000 + 2'000'000);
  CHECK(convolution.rung_at(0, 0) == Rung::kDefault);
}

TEST_CASE("an unknown op class is flagged even when memory decides") {
  const Costs costs = Compute(MakeOp("a", "Frobnicate", 0, 1'000'000));
  CHECK(costs.at(0, 0) == 15'000);
  CHECK(costs.rung_at(0, 0) == Rung::kDefault);
}

TEST_CASE("the peak is that of the largest floating tensor's type") {
  const auto tensor = [](const char* dtype, std::int64_t bytes) {
    Tensor t;
    t.dtype = dtype;
    t.bytes = bytes;
    return t;
  };
  Op op = MakeOp("a", "aten.mm", 1e9, 0);
  op.inputs = {0, 1};
  op.outputs = {2};
  // bf16: 1e9 / (4e12 * 0.5) = 0.5 ms.
  CHECK(Compute(op, {tensor("f32", 10), tensor("i64", 1000), tensor("bf16", 11)}).at(0, 0) ==
        505'000);
  CHECK(Compute(op, {tensor("f32", 12), tensor("i64", 1000), tensor("bf16", 11)}).at(0, 0) ==
        2'005'000);
  // No floating tensor, and a type without a peak: f32.
  CHECK(Compute(op, {tensor("i64", 1), tensor("", 1), tensor("bool", 1)}).at(0, 0) == 2'005'000);
  CHECK(Compute(op, {tensor("f16", 1), tensor("f16", 1), tensor("f16", 1)}).at(0, 0) == 2'005'000);
}

TEST_CASE("a measured cost beats the model, without overhead") {
  Op op = MakeOp("a", "MatMul", 1e9, 0);
  op.cost_ns = {{"other", 1.0}, {"fast", 1234.5}};
  const Costs costs = Compute(op);
  CHECK(costs.at(0, 0) == 1235);  // nearest, halves away from 0
  CHECK(costs.at(0, 2) == 1235);
  CHECK(costs.rung_at(0, 0) == Rung::kMeasured);
  CHECK(costs.rung_at(0, 1) == Rung::kDefault);
  CHECK(costs.uncertainty[0] > 0);
}

TEST_CASE("storage and views are free") {
  for (const std::string kind : {"parameter", "constant", "Reshape", "aten.view"}) {
    const Costs costs = Compute(MakeOp("a", kind, 0, 1'000'000));
    CHECK(costs.at(0, 0) == 0);
    CHECK(costs.rung_at(0, 0) == Rung::kFree);
  }
}

TEST_CASE("device_kinds take class names and kind names") {
  Op op = MakeOp("a", "AddV2", 0, 1000);
  op.device_kinds = {"cpu"};
  const Costs on_cpu = Compute(op);
  CHECK_FALSE(on_cpu.allowed(0, 0));
  CHECK(on_cpu.at(0, 0) == kMaxNanos);
  CHECK(on_cpu.allowed(0, 1));
  op.device_kinds = {"fast", "tpu"};
  const Costs on_fast = Compute(op);
  CHECK(on_fast.allowed(0, 0));
  CHECK_FALSE(on_fast.allowed(0, 1));
  CHECK(on_fast.allowed(0, 2));
}

void CheckRefused(const std::function<void()>& f, const std::string& expected) {
  const std::string message = testing::MessageOf<InputError>(f);
  INFO("message: ", message);
  CHECK(message.find(expected) != std::string::npos);
}

TEST_CASE("what cannot be costed is refused by name") {
  Op op = MakeOp("conv1", "Conv2D", 1, 1);
  op.device_kinds = {"tpu", "npu"};
  CheckRefused([&] { Compute(op); },
               "costs: op \"conv1\" may only run on device_kinds [tpu, npu], and no device of "
               "cluster \"pair\" is one of them; the cluster has f0 (fast, gpu), s0 (slow, cpu), "
               "f1 (fast, gpu)");

  const auto on_bare_kind = [](const std::string& figures, const Op& only) {
    const std::string text = "name: c\ndevice_kinds: {bare: {class: gpu" + figures +
                             "}}\ndevices: [{name: d, kind: bare}]\n";
    return ComputeCosts(Graph("g", {}, {only}),
                        ParseCluster(ConfigNode::FromString(text, "c"), {}),
                        "graph.json on c");
  };
  op.device_kinds.clear();
  CheckRefused(
      [&] { on_bare_kind("", op); },
      "graph.json on c: op \"conv1\" (Conv2D) has no cost_ns for device kind \"bare\", and "
      "that kind has no peak for f32; expected a cost_ns with the op, or peak and "
      "memory_bandwidth with the kind");
  CheckRefused([&] { on_bare_kind(", peak: {f32: 1TFLOPS}", op); },
               "that kind has no memory_bandwidth");
  CheckRefused([&] { on_bare_kind(", peak: {bf16: 1TFLOPS}, memory_bandwidth: 1B/s", op); },
               "that kind has no peak for f32");
  op.cost_ns = {{"bare", 7.0}};
  CHECK(on_bare_kind("", op).at(0, 0) == 7);
  CHECK(on_bare_kind("", MakeOp("p", "parameter", 0, 0)).at(0, 0) == 0);
  op.cost_ns = {{"bare", 1e19}};
  CheckRefused(
      [&] { on_bare_kind("", op); },
      fmt::format("op \"conv1\" costs 1e+19 ns on device kind \"bare\", expected less than "
                  "{:.4g} ns in a graph of 1 ops",
                  double(kMaxNanos)));
}

TEST_CASE("shares of a placement's time by rung") {
  std::vector<Op> ops{
      MakeOp("a", "MatMul", 1e9, 0), MakeOp("b", "MatMul", 0, 0), MakeOp("c", "parameter", 0, 0)};
  ops[1].cost_ns = {{"fast", 2'005'000.0 * 3}};
  const Costs costs = ComputeCosts(Graph("g", {}, ops), MakeCluster());
  const std::vector<std::uint8_t> devices{0, 2, 1};
  const RungShares shares = ComputeRungShares(costs, devices);
  CHECK(shares[static_cast<int>(Rung::kRoofline)] == doctest::Approx(0.25));
  CHECK(shares[static_cast<int>(Rung::kMeasured)] == doctest::Approx(0.75));
  CHECK(shares[static_cast<int>(Rung::kFree)] == 0);
  const Costs nothing = ComputeCosts(Graph("g", {}, {ops[2]}), MakeCluster());
  for (const double share : ComputeRungShares(nothing, std::vector<std::uint8_t>{0})) {
    CHECK(share == 0);
  }
}

TEST_CASE("rungs have names") {
  CHECK(ToString(Rung::kMeasured) == "measured");
  CHECK(ToString(Rung::kDefault) == "default");
}

std::vector<std::filesystem::path> Files(const char* folder, const char* extension) {
  std::vector<std::filesystem::path> files;
  const auto place = testing::SourceDir() / "configs" / folder;
  for (const auto& entry : std::filesystem::directory_iterator(place)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST_CASE("every committed graph has costs on every committed cluster, and no unknown op") {
  const auto library = ReadDeviceKinds(testing::SourceDir() / "configs");
  std::vector<Cluster> clusters;
  for (const auto& file : Files("clusters", ".yaml")) {
    clusters.push_back(ReadCluster(file, library));
  }
  for (const auto& file : Files("graphs", ".gz")) {
    INFO(file.string());
    const Graph graph = ReadGraph(file);
    std::map<std::string, int> unknown;
    for (const Op& op : graph.ops()) unknown[op.kind] += ClassifyOp(op.kind) == OpClass::kUnknown;
    for (const auto& [kind, count] : unknown) {
      INFO(kind);
      CHECK(count == 0);
    }
    for (const Cluster& cluster : clusters) {
      const Costs costs = ComputeCosts(graph, cluster, file.filename().string());
      CHECK(costs.time.size() == size_t(graph.num_ops()) * cluster.num_devices());
    }
  }
}

// Images per second of training at batch 32 on synthetic data,
// tensorflow.org/performance/benchmarks (2017): the anchor of the efficiencies in
// configs/device_kinds. The model adds up all ops on one device.
TEST_CASE("single-device steps are within 15 % of the published ones") {
  const auto library = ReadDeviceKinds(testing::SourceDir() / "configs");
  struct Anchor {
    const char *graph, *kind;
    double images_per_second;
  };
  for (const Anchor& anchor : {Anchor{"inception_v3", "k80", 29.3},
                               Anchor{"resnet50", "k80", 49.5},
                               Anchor{"inception_v3", "p100", 128},
                               Anchor{"resnet50", "p100", 195}}) {
    const Graph graph = ReadGraph(testing::SourceDir() / "configs" / "graphs" /
                                  fmt::format("{}.json.gz", anchor.graph));
    const Cluster cluster("one", {library.at(anchor.kind)}, {{.name = "d"}}, {}, {{}});
    const Costs costs = ComputeCosts(graph, cluster);
    double seconds = 0;
    for (int op = 0; op < costs.num_ops; ++op) seconds += 1e-9 * double(costs.at(op, 0));
    INFO(anchor.graph, " on ", anchor.kind, ": ", seconds, " s");
    CHECK(seconds == doctest::Approx(32 / anchor.images_per_second).epsilon(0.15));
  }
}

}  // namespace
