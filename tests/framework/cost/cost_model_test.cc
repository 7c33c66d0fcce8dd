#include "framework/cost/cost_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/cluster/cluster_io.h"
#include "framework/config/config_node.h"
#include "framework/cost/cost_table.h"
#include "framework/cost/op_kind.h"
#include "framework/cost/op_signature.h"
#include "framework/graph/graph_io.h"
#include "tests/support/paths.h"
#include "tests/support/sanitizers.h"

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

Op CostedOp(const std::string& name, const std::string& kind, double flops, std::int64_t bytes) {
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

TEST_CASE("interference: of the signature where its time counts, else of the class; costs apart") {
  const auto cluster = [](const std::string& shares) {
    return ParseCluster(
        ConfigNode::FromString("name: pair\n"
                               "device_kinds:\n"
                               "  k: {class: cpu, peak: {f32: 1TFLOP/s}, memory_bandwidth: 1GB/s,\n"
                               "      interference: {matmul: {sensitivity: 0.5, pressure: 0.25}}}\n"
                               "devices: [{name: a, kind: k}, {name: b, kind: k}]\n" +
                                   shares,
                               "pair.yaml"),
        {});
  };
  Op own = CostedOp("own", "MatMul", 1e6, 10);
  own.cost_ns = {{"k", 7}};
  const Graph graph("g",
                    {},
                    {CostedOp("timed", "MatMul", 1e6, 4),
                     CostedOp("fitted", "MatMul", 2e6, 4),
                     CostedOp("other", "Relu", 0, 8),
                     own});
  CostTable table;
  table.kinds.push_back({.kind = cluster("").kinds()[0]});
  table.kinds[0].ops.push_back({.signature = OpSignature(graph, 0),
                                .kind = "MatMul",
                                .op_class = OpClass::kMatmul,
                                .in_situ = Timing{100, 90, 110, 3, 105},
                                .apart_ns = 80,
                                .interference = Interference{2048, 1}});
  const Cluster sharing = cluster("shares: [\"?\"]\n");
  const Costs costs = ComputeCosts(graph, sharing, "g", {.table = &table});
  CHECK(costs.at(0, 0) == 105);
  CHECK(costs.interference_at(0, 1) == Interference{2048, 1});
  CHECK(costs.interference_at(1, 0) == Interference{512, 256});
  CHECK(costs.interference_at(2, 0) == Interference{});
  CHECK(costs.interference_at(3, 0) == Interference{512, 256});
  const Costs apart = ComputeCosts(graph, sharing, "g", {.table = &table, .apart = true});
  CHECK(apart.at(0, 0) == 80);
  CHECK(apart.at(1, 0) == costs.at(1, 0));
  const Costs isolated =
      ComputeCosts(graph, sharing, "g", {.table = &table, .prefer_in_situ = false, .apart = true});
  CHECK(isolated.at(0, 0) == 80);  // there is no other timing
  CHECK(ComputeCosts(graph, cluster(""), "g", {.table = &table}).interference.empty());
}

TEST_CASE("devices that an op may not run on have kMaxNanos, and do not equal the others") {
  Op op = CostedOp("a", "AddV2", 0, 1000);
  const Costs everywhere = Compute(op);
  op.devices = {"f1"};
  const Costs pinned = Compute(op);
  CHECK(pinned.at(0, 0) == kMaxNanos);
  CHECK_FALSE(pinned.allowed(0, 1));
  CHECK(pinned.at(0, 2) == everywhere.at(0, 2));
  CHECK(DevicesOfEqualCosts(everywhere) == std::vector<int>{0, 1, 0});
  CHECK(DevicesOfEqualCosts(pinned) == std::vector<int>{0, 0, 2});  // f0 and s0: nowhere
}

TEST_CASE("the uncertainty of a kernel fit is the standard error of its median error") {
  const Cluster cluster =
      ParseCluster(ConfigNode::FromString(
                       "name: one\n"
                       "device_kinds: {k: {class: gpu, memory_bandwidth: 100GB/s, power: 50,\n"
                       "  peak: {f32: 1TFLOP/s}, multiprocessors: 4, fitted: {dtype: f32,\n"
                       "  watts: 20, bandwidth: {elementwise: 0.5}, start: 2us, error: 0.1}}}\n"
                       "devices: [{name: d, kind: k}]\n",
                       "one.yaml"),
                   {});
  const Costs costs = ComputeCosts(Graph("g", {}, {CostedOp("a", "AddV2", 0, 1000)}), cluster);
  CHECK(costs.at(0, 0) == 2'020);  // 1000 / 50e9 = 20 ns
  CHECK(costs.uncertainty[0] == doctest::Approx(1.4826 * 0.1));
}

// An accelerator without figures, a GPU, and two communicators, of which one kind has figures.
Cluster WithNetwork() {
  return ParseCluster(
      ConfigNode::FromString(
          "name: net\n"
          "device_kinds:\n"
          "  bare: {class: gpu}\n"
          "  gpu: {class: gpu, peak: {f32: 1TFLOP/s}, memory_bandwidth: 100GB/s}\n"
          "  ring: {class: network, peak: {f32: 1TFLOP/s}, memory_bandwidth: 100GB/s}\n"
          "  tree: {class: network}\n"
          "devices: [{name: b0, kind: bare}, {name: g0, kind: gpu}, {name: r0, kind: ring},\n"
          "          {name: r1, kind: ring}, {name: t0, kind: tree}]\n",
          "net.yaml"),
      {});
}

void CheckRefused(const std::function<void()>& f, const std::string& expected) {
  const std::string message = testing::MessageOf<InputError>(f);
  INFO("message: ", message);
  CHECK(message.find(expected) != std::string::npos);
}

TEST_CASE("what cannot be costed is refused by name") {
  Op op = CostedOp("conv1", "Conv2D", 1, 1);
  const auto on_bare_kind = [](const std::string& figures, const Op& only) {
    const std::string text = "name: c\ndevice_kinds: {bare: {class: gpu" + figures +
                             "}}\ndevices: [{name: d, kind: bare}]\n";
    return ComputeCosts(Graph("g", {}, {only}),
                        ParseCluster(ConfigNode::FromString(text, "c"), {}),
                        "graph.json on c");
  };
  CheckRefused([&] { on_bare_kind("", op); },
               "graph.json on c: op \"conv1\" (Conv2D) has no cost_ns for device kind \"bare\", "
               "and that kind has no peak for f32; expected a cost_ns of the op, or peak and "
               "memory_bandwidth of the kind");
  CheckRefused([&] { on_bare_kind(", peak: {f32: 1TFLOPS}", op); },
               "that kind has no memory_bandwidth");
  CheckRefused([&] { on_bare_kind(", peak: {bf16: 1TFLOPS}, memory_bandwidth: 1B/s", op); },
               "that kind has no peak for f32");
  op.cost_ns = {{"bare", 7.0}};
  CHECK(on_bare_kind("", op).at(0, 0) == 7);
  CHECK(on_bare_kind("", CostedOp("p", "parameter", 0, 0)).at(0, 0) == 0);
  op.cost_ns = {{"bare", 1e19}};
  CheckRefused(
      [&] { on_bare_kind("", op); },
      fmt::format("op \"conv1\" costs 1e+19 ns on device kind \"bare\", expected less than "
                  "{:.4g} ns in a graph of 1 ops",
                  double(kMaxNanos)));
}

TEST_CASE("an op needs costs only for the kinds of its devices, and no roofline on a network") {
  const Cluster cluster = WithNetwork();
  Op op = CostedOp("a", "AddV2", 1, 1);
  const auto costs = [&] { return ComputeCosts(Graph("g", {}, {op}), cluster, "g.json"); };
  CheckRefused([&] { costs(); }, "op \"a\" (AddV2) has no cost_ns for device kind \"bare\"");
  op.devices = {"g0"};
  CHECK(costs().allowed(0, 1));
  op.devices = {"g0", "r1"};  // whose kind has figures
  CHECK(testing::MessageOf<InputError>([&] { costs(); }) ==
        "g.json: op \"a\" (AddV2) has no cost_ns for device kind \"ring\" of class network, which "
        "has no roofline; expected a cost_ns of the op, or a cost table with times of the kind");
  op.cost_ns = {{"ring", 7.0}};
  CHECK(costs().at(0, 3) == 7);
  op.cost_ns.clear();
  op.kind = "Reshape";  // free, as on every device
  CHECK(costs().at(0, 3) == 0);
  CHECK(costs().source_at(0, 3) == CostSource::kFree);
  op.kind = "AddV2";
  CostTable table;
  table.kinds.push_back({.kind = {.name = "ring", .device_class = DeviceClass::kNetwork}});
  const Graph graph("g", {}, {op});
  table.kinds[0].ops.push_back(
      {.signature = OpSignature(graph, 0), .kind = "AddV2", .isolated = Timing{9, 9, 9, 9, 9}});
  const CostTable read = ParseCostTable(FormatCostTable(table), "t.json");
  const Costs timed = ComputeCosts(graph, cluster, "g.json", {.table = &read});
  CHECK(timed.at(0, 3) == 9);
  CHECK_FALSE(timed.allowed(0, 2));
}

TEST_CASE("shares of a placement's time by source") {
  std::vector<Op> ops{CostedOp("a", "MatMul", 1e9, 0),
                      CostedOp("b", "MatMul", 0, 0),
                      CostedOp("c", "parameter", 0, 0)};
  ops[1].cost_ns = {{"fast", 2'005'000.0 * 3}};
  const Costs costs = ComputeCosts(Graph("g", {}, ops), MakeCluster());
  const std::vector<std::uint8_t> devices{0, 2, 1};
  const CostSourceShares shares = ComputeCostSourceShares(costs, devices);
  CHECK(shares[static_cast<int>(CostSource::kRoofline)] == doctest::Approx(0.25));
  CHECK(shares[static_cast<int>(CostSource::kMeasured)] == doctest::Approx(0.75));
  CHECK(shares[static_cast<int>(CostSource::kFree)] == 0);
  const Costs nothing = ComputeCosts(Graph("g", {}, {ops[2]}), MakeCluster());
  for (const double share : ComputeCostSourceShares(nothing, std::vector<std::uint8_t>{0})) {
    CHECK(share == 0);
  }
}

// Measurements of kind "fast" for the tests of the ladder: products for every source, and a view.
CostTable MakeMeasuredTable() {
  const auto op = [](const char* signature, const char* kind) {
    return OpMeasurement{.signature = signature, .kind = kind, .op_class = ClassifyOp(kind)};
  };
  KindCosts fast;
  fast.kind.name = "fast";
  fast.ops = {op("MatMul() -> () {} 0 FLOP, 8 B", "MatMul"),
              op("MatMul() -> () {} 1000000 FLOP, 8 B", "MatMul"),
              op("Reshape() -> () {} 0 FLOP, 8 B", "Reshape")};
  fast.ops[1].isolated = Timing{2000, 1902, 2098, 20};
  fast.ops[1].in_situ = Timing{3000.4, 3000, 3001, 1};
  fast.ops[2].isolated = Timing{70, 70, 70, 10};
  // 100 ns + F / 1 GFLOP/s, and 200 ns + F / 1 GFLOP/s.
  fast.by_op["MatMul"] = {.overhead_ns = 100, .flops_per_second = 1e9, .error = 0.1};
  fast.by_class["matmul"] = {.overhead_ns = 200, .flops_per_second = 1e9, .error = 0.2};
  CostTable table;
  table.machine = "box";
  table.kinds = {fast};
  return table;
}

struct LadderCase {
  Op op;
  double nanos;
  CostSource source;
  double uncertainty;
};

TEST_CASE("the first source that knows an op decides") {
  const CostTable table = MakeMeasuredTable();
  std::vector<LadderCase> cases{
      // The 95 % interval is +- 1.96 standard errors: 196 / (2 * 1.96 * 2000).
      {CostedOp("timed", "MatMul", 1e6, 8), 2000, CostSource::kMeasured, 0.025},
      // Known without a timing: the kind's fit, 100 + 0, standard error 1.4826 * median error.
      {CostedOp("untimed", "MatMul", 0, 8), 100, CostSource::kNeighbour, 0.14826},
      {CostedOp("neighbour", "MatMul", 500, 8), 600, CostSource::kNeighbour, 0.14826},
      {CostedOp("class", "BatchMatMul", 500, 8), 700, CostSource::kRoofline, 0.29652},
      // Nothing fits: 5 us + 1e6 / 1e11 s = 15 us, the published memory figure decides.
      {CostedOp("model", "AddV2", 0, 1'000'000), 15'000, CostSource::kRoofline, 0.35},
      {CostedOp("unknown", "Frobnicate", 0, 1'000'000), 15'000, CostSource::kDefault, 0.70},
      {CostedOp("free", "Reshape", 0, 9), 0, CostSource::kFree, 0},
      {CostedOp("timed view", "Reshape", 0, 8), 70, CostSource::kMeasured, 0},
      {CostedOp("own", "MatMul", 1e6, 8),
       5,
       CostSource::kMeasured,
       0.05},  // 4.5, halves away from 0
  };
  cases.back().op.cost_ns = {{"other", 1.0}, {"fast", 4.5}};
  std::vector<Op> ops;
  for (const LadderCase& c : cases) ops.push_back(c.op);
  const Graph graph("g", {}, ops);
  const Costs costs = ComputeCosts(graph, MakeCluster(), "g", {&table, false});
  const Costs without = ComputeCosts(graph, MakeCluster(), "g");
  for (int v = 0; v < graph.num_ops(); ++v) {
    const LadderCase& c = cases[v];
    CAPTURE(c.op.name);
    for (const int fast : {0, 2}) {
      CHECK(costs.at(v, fast) == Nanos(c.nanos));
      CHECK(costs.source_at(v, fast) == c.source);
      CHECK(costs.uncertainty[v * 3 + fast] == doctest::Approx(c.uncertainty).epsilon(1e-4));
    }
    // The table does not know kind "slow": as without it.
    CHECK(costs.at(v, 1) == without.at(v, 1));
    CHECK(costs.source_at(v, 1) == without.source_at(v, 1));
  }
  // In situ beats isolated unless told otherwise; of a single sample nothing tells the error.
  const Costs in_situ = ComputeCosts(graph, MakeCluster(), "g", {&table});
  CHECK(in_situ.at(0, 0) == 3000);
  CHECK(in_situ.uncertainty[0] == doctest::Approx(0.05));
}

TEST_CASE("ops without published figures need none where the table knows them") {
  const CostTable table = MakeMeasuredTable();
  const Cluster bare = ParseCluster(
      ConfigNode::FromString(
          "name: c\ndevice_kinds: {fast: {class: gpu}}\ndevices: [{name: d, kind: fast}]\n", "c"),
      {});
  const auto compute = [&](const Op& op) {
    return ComputeCosts(Graph("g", {}, {op}), bare, "g.json", {&table});
  };
  CHECK(compute(CostedOp("a", "MatMul", 1e6, 8)).at(0, 0) == 3000);
  CHECK(compute(CostedOp("a", "MatMul", 500, 8)).at(0, 0) == 600);
  CheckRefused([&] { compute(CostedOp("a", "AddV2", 500, 8)); },
               "g.json: op \"a\" (AddV2) has no cost_ns for device kind \"fast\", and that kind "
               "has no peak for f32");
}

TEST_CASE("a table of another machine is refused, one of a part of the machine warns") {
  CostTable table = MakeMeasuredTable();
  const Graph graph("g", {}, {CostedOp("a", "MatMul", 1e6, 8), CostedOp("b", "AddV2", 1e6, 8)});
  std::vector<std::string> warnings;
  CostInputs sources{&table};
  sources.warn = [&](const std::string& warning) { warnings.push_back(warning); };
  ComputeCosts(graph, MakeCluster(), "g.json", sources);
  CHECK(warnings == std::vector<std::string>{
                        "g.json: the cost table of machine \"box\" does not have device kind "
                        "\"slow\"; the roofline model gives the costs of 2 ops on it"});
  // Nobody asks the model where all ops bring their cost.
  warnings.clear();
  Op own = CostedOp("a", "MatMul", 1e6, 8);
  own.cost_ns = {{"slow", 1.0}};
  ComputeCosts(Graph("g", {}, {own}), MakeCluster(), "g.json", sources);
  CHECK(warnings.empty());

  table.kinds[0].kind.name = "h100";
  table.kinds.push_back({.kind = {.name = "epyc"}});
  CheckRefused(
      [&] { ComputeCosts(graph, MakeCluster(), "g.json", sources); },
      "g.json: the cost table of machine \"box\" has device kinds [h100, epyc], but cluster "
      "\"pair\" has [fast, slow]; expected a table with at least one kind of the cluster");
}

// Every committed op, timed by its signature: all costs but those of free ops come from the table.
TEST_CASE("a table of all signatures of a graph covers the graph") {
  const Cluster cluster = MakeCluster();
  for (const char* name : {"resnet50_torch", "resnet50"}) {
    const Graph graph =
        ReadGraph(testing::SourceDir() / "configs" / "graphs" / fmt::format("{}.json.gz", name));
    std::map<std::string, double> timings;
    for (int v = 0; v < graph.num_ops(); ++v) {
      if (ClassifyOp(graph.op(v).kind) == OpClass::kView) continue;
      const double next = 100.0 + static_cast<double>(timings.size());
      timings.emplace(OpSignature(graph, v), next);
    }
    CostTable table;
    table.kinds.resize(1);
    table.kinds[0].kind.name = "fast";
    for (const auto& [signature, nanos] : timings) {
      table.kinds[0].ops.push_back(
          {.signature = signature, .isolated = Timing{nanos, nanos, nanos, 10}});
    }
    const Costs costs = ComputeCosts(graph, cluster, name, {&table});
    int wrong = 0;
    for (int v = 0; v < graph.num_ops(); ++v) {
      const bool is_free = ClassifyOp(graph.op(v).kind) == OpClass::kView;
      wrong += costs.source_at(v, 0) != (is_free ? CostSource::kFree : CostSource::kMeasured);
      wrong += costs.at(v, 0) != (is_free ? 0 : Nanos(timings.at(OpSignature(graph, v))));
    }
    CHECK(wrong == 0);
  }
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

TEST_CASE("every committed graph has costs on every committed cluster, and no unknown op" *
          doctest::skip(testing::kUnderSanitizers)) {
  const auto library = ReadDeviceKinds(testing::SourceDir() / "configs");
  std::vector<Cluster> clusters;
  for (const auto& file : Files("clusters", ".yaml")) {
    clusters.push_back(ParseCluster(ConfigNode::FromFile(file), library));
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
TEST_CASE("single-device steps are within 15 % of the published ones" *
          doctest::skip(testing::kUnderSanitizers)) {
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
