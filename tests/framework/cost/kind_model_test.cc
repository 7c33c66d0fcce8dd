#include "framework/cost/kind_model.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/cluster/cluster_io.h"
#include "framework/config/config_node.h"
#include "framework/cost/op_kind.h"
#include "tests/support/paths.h"

using namespace emplace;

namespace {

// A cluster of one device of the only kind.
Cluster OfKind(const std::string& kind) {
  return ParseCluster(ConfigNode::FromString("name: one\ndevice_kinds: {k: {" + kind +
                                                 "}}\ndevices: [{name: d, kind: k}]\n",
                                             "one.yaml"),
                      {});
}

KindModel::Found Find(const Cluster& cluster, const Op& op, std::vector<Tensor> tensors = {}) {
  const Graph graph("g", std::move(tensors), {op});
  return KindModel(cluster.kinds()[0]).Find(graph, graph.op(0), ClassifyOp(op.kind), "costs");
}

Op OpWithWork(const std::string& kind, double flops, std::int64_t bytes) {
  Op op;
  op.name = "v";
  op.kind = kind;
  op.flops = flops;
  op.bytes_accessed = bytes;
  return op;
}

Tensor MakeTensor(const std::string& dtype, std::int64_t bytes, std::vector<std::int64_t> shape) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.bytes = bytes;
  tensor.shape = std::move(shape);
  return tensor;
}

// Products reach half of the peak, memory all of its bandwidth.
const Cluster& Fast() {
  static const Cluster cluster = OfKind(
      "class: gpu, peak: {f32: 1TFLOP/s, bf16: 4TFLOP/s}, memory_bandwidth: 100GB/s, "
      "overhead: 5us, efficiency: {matmul: 0.5, memory: 1}");
  return cluster;
}

TEST_CASE("roofline: overhead + the longer of compute and memory") {
  // 1e9 / (1e12 * 0.5) = 2 ms against 1e6 / 1e11 = 10 us.
  const KindModel::Found product = Find(Fast(), OpWithWork("MatMul", 1e9, 1'000'000));
  CHECK(product.nanos == doctest::Approx(5'000 + 2'000'000));
  CHECK(product.source == CostSource::kRoofline);
  CHECK_FALSE(product.error);
  // 1e6 / 1e12 = 1 us and less against 1e6 / 1e11 = 10 us. The memory's efficiency is given.
  const KindModel::Found sum = Find(Fast(), OpWithWork("AddV2", 1e5, 1'000'000));
  CHECK(sum.nanos == doctest::Approx(15'000));
  CHECK(sum.source == CostSource::kRoofline);
  // Compute decides, and the efficiency of this class is not given: 1e9 / (1e12 * 0.5).
  const KindModel::Found convolution = Find(Fast(), OpWithWork("Conv2D", 1e9, 0));
  CHECK(convolution.nanos == doctest::Approx(5'000 + 2'000'000));
  CHECK(convolution.source == CostSource::kDefault);
}

TEST_CASE("a kind without efficiencies has those of the class defaults") {
  const Cluster slow = OfKind("class: cpu, peak: {f32: 0.1TFLOP/s}, memory_bandwidth: 10GB/s");
  // 1e9 / (1e11 * 0.6) = 16.667 ms; 1e6 / (1e10 * 0.7) = 142.857 us.
  const KindModel::Found product = Find(slow, OpWithWork("MatMul", 1e9, 1'000'000));
  CHECK(product.nanos == doctest::Approx(16'666'666.7));
  CHECK(product.source == CostSource::kDefault);
  const KindModel::Found sum = Find(slow, OpWithWork("AddV2", 1e5, 1'000'000));
  CHECK(sum.nanos == doctest::Approx(142'857.1));
  CHECK(sum.source == CostSource::kDefault);
}

TEST_CASE("the peak is that of the largest floating tensor's type") {
  Op op = OpWithWork("aten.mm", 1e9, 0);
  op.inputs = {0, 1};
  op.outputs = {2};
  const auto nanos = [&](Tensor a, Tensor b, Tensor c) {
    return Find(Fast(), op, {a, b, c}).nanos;
  };
  const Tensor largest = MakeTensor("i64", 1000, {});
  // bf16: 1e9 / (4e12 * 0.5) = 0.5 ms.
  CHECK(nanos(MakeTensor("f32", 10, {}), largest, MakeTensor("bf16", 11, {})) ==
        doctest::Approx(505'000));
  CHECK(nanos(MakeTensor("f32", 12, {}), largest, MakeTensor("bf16", 11, {})) ==
        doctest::Approx(2'005'000));
  // No floating tensor, and a type without a peak: f32.
  CHECK(nanos(largest, MakeTensor("", 1, {}), MakeTensor("bool", 1, {})) ==
        doctest::Approx(2'005'000));
  CHECK(nanos(largest, largest, MakeTensor("f16", 1, {})) == doctest::Approx(2'005'000));
}

TEST_CASE("a fitted kind: f32 ops of the classes that its fit has, products by their shape") {
  const Cluster cluster = OfKind(
      "class: gpu, peak: {f32: 10TFLOP/s, bf16: 40TFLOP/s}, memory_bandwidth: 100GB/s, "
      "efficiency: {matmul: 0.5, memory: 1}, overhead: 7us, multiprocessors: 4, power: 50, "
      "fitted: {dtype: f32, watts: 20, tile_start: 10, bandwidth: {matmul: 0.5}, "
      "tiles: [{rows: 64, columns: 64, share: 1}], start: 2us, error: 0.1}");
  const double flops = 2.0 * 5 * 64 * 64 * 990;
  const auto find =
      [&](const std::string& kind, const std::string& dtype, std::vector<std::int64_t> shape) {
        Op op = OpWithWork(kind, flops, 1000);
        op.outputs = {0};
        return Find(cluster, op, {MakeTensor(dtype, 4, std::move(shape))});
      };
  // Five blocks on four multiprocessors: two waves of 2 * 4 * 64 * 64 * (990 + 10) FLOP at half of
  // the peak, which 50 of 200 W sustain.
  const KindModel::Found product = find("aten.bmm", "f32", {5, 64, 64});
  CHECK(product.nanos == doctest::Approx(2000 + 2 * 32768.0 * 1000 / 5e12 * 1e9));
  CHECK(product.source == CostSource::kRoofline);
  CHECK(product.error == 0.1);
  CHECK(find("aten.bmm", "f32", {5, 1, 64, 64}).nanos == product.nanos);
  // The gradients of a bias and a weight: the larger output counts.
  Op both = OpWithWork("aten.linear_backward", 2.0 * 64 * 64 * 990, 1000);
  both.outputs = {0, 1};
  CHECK(Find(cluster, both, {MakeTensor("f32", 4, {64}), MakeTensor("f32", 4, {64, 64})}).nanos ==
        doctest::Approx(2000 + 32768.0 * 1000 / 5e12 * 1e9));
  // Published figures: another element type, a class that the fit does not have, no known shape.
  CHECK(find("aten.bmm", "bf16", {5, 64, 64}).nanos == doctest::Approx(7000 + flops / 20e12 * 1e9));
  CHECK(find("aten.conv2d", "f32", {5, 64, 64}).nanos ==
        doctest::Approx(7000 + flops / 5e12 * 1e9));
  CHECK(find("aten.bmm", "f32", {-1, 64, 64}).nanos == doctest::Approx(7000 + flops / 5e12 * 1e9));
}

TEST_CASE("a kind without figures is refused by name") {
  const auto refusal = [](const std::string& kind) {
    return testing::MessageOf<InputError>([&] { Find(OfKind(kind), OpWithWork("Conv2D", 1, 1)); });
  };
  CHECK(refusal("class: gpu") ==
        "costs: op \"v\" (Conv2D) has no cost_ns for device kind \"k\", and that kind has no peak "
        "for f32; expected a cost_ns of the op, or peak and memory_bandwidth of the kind");
  CHECK(refusal("class: gpu, peak: {f32: 1TFLOPS}").find("that kind has no memory_bandwidth") !=
        std::string::npos);
  CHECK(refusal("class: gpu, peak: {bf16: 1TFLOPS}, memory_bandwidth: 1B/s")
            .find("that kind has no peak for f32") != std::string::npos);
  CHECK(refusal("class: network, peak: {f32: 1TFLOPS}, memory_bandwidth: 1B/s") ==
        "costs: op \"v\" (Conv2D) has no cost_ns for device kind \"k\" of class network, which has "
        "no roofline; expected a cost_ns of the op, or a cost table with times of the kind");
}

}  // namespace
