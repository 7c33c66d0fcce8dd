#include "profilers/cpu/cpu_backend.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/graph/graph_io.h"
#include "profilers/cpu/cpu_system.h"
#include "profilers/executor/compile_plan.h"
#include "profilers/executor/executor.h"
#include "tests/profilers/stream_commands.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// As many one-core devices as wanted, or as there are cores.
std::shared_ptr<Backend> CpuDevices(int count) {
  const auto cores = AllowedCores();
  std::vector<CpuGroup> groups;
  for (int d = 0; d < std::min(count, static_cast<int>(cores.size())); ++d) {
    groups.push_back({fmt::format("cpu:{}", d), {cores[d]}});
  }
  return MakeCpuBackend(groups);
}

// The backend's devices. Channels are private, but with `staged` every way goes over two of them,
// and with `broadcast` one channel of a device serves all others.
enum class Ways { kDirect, kStaged, kBroadcast };
std::shared_ptr<const Cluster> ClusterOf(const Backend& backend, Ways ways) {
  std::vector<DeviceKind> kinds;
  std::vector<Device> devices;
  for (const BackendDevice& device : backend.devices()) {
    if (kinds.empty()) kinds.push_back(device.kind);
    devices.push_back({device.name, 0, device.memory});
  }
  const int n = static_cast<int>(devices.size());
  std::vector<Channel> channels;
  std::vector<std::vector<int>> routes(n * n);
  const auto add = [&](std::string name, bool broadcast = false) {
    channels.push_back(
        {.name = std::move(name), .bandwidth = kGigabytePerSecond, .broadcast = broadcast});
    return static_cast<int>(channels.size()) - 1;
  };
  for (int from = 0; from < n; ++from) {
    const int bus = ways == Ways::kBroadcast ? add(fmt::format("bus {}", from), true) : -1;
    for (int to = 0; to < n; ++to) {
      if (from == to) continue;
      auto& route = routes[from * n + to];
      route = {bus >= 0 ? bus : add(fmt::format("{}->{}", from, to))};
      if (ways == Ways::kStaged || (bus >= 0 && to % 2 == 0)) {
        route.push_back(add(fmt::format("{}=>{}", from, to)));
      }
    }
  }
  return std::make_shared<Cluster>("cpus", kinds, devices, channels, routes);
}

// Every op costs 1 ns anywhere; ops with the same colocate label make a group.
std::shared_ptr<const Problem> ProblemOf(std::shared_ptr<const Graph> graph,
                                         std::shared_ptr<const Cluster> cluster) {
  std::map<std::string, int> labels;
  std::vector<int> label_of_op;
  for (const Op& op : graph->ops()) {
    const int fresh = static_cast<int>(label_of_op.size());
    label_of_op.push_back(
        op.colocate.empty() ? fresh : labels.try_emplace(op.colocate, fresh).first->second);
  }
  Costs costs;
  costs.num_ops = graph->num_ops();
  costs.num_devices = cluster->num_devices();
  costs.time.assign(size_t(costs.num_ops) * costs.num_devices, 1);
  costs.source.assign(costs.time.size(), CostSource::kMeasured);
  costs.uncertainty.assign(costs.time.size(), 0.0f);
  return std::make_shared<Problem>(graph, Grouping(label_of_op), cluster, costs);
}

// A random graph of small ops over [8, 8] floats that trains its parameters in place. Element by
// element and on packed matrices, kernels round alike wherever they run; matrix products of
// transposed operands would not, since libraries add in another order for another layout.
std::shared_ptr<const Graph> SmallGraph(Rng& rng, int num_ops) {
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  const auto add = [&](const std::string& kind,
                       std::vector<int> inputs,
                       TensorRole role = TensorRole::kActivation) {
    const int tensor = static_cast<int>(tensors.size());
    tensors.push_back({.name = fmt::format("t{}", tensor),
                       .shape = {8, 8},
                       .dtype = "f32",
                       .bytes = 256,
                       .role = role});
    Op op;
    op.name = fmt::format("op{}", ops.size());
    op.kind = kind;
    op.inputs = std::move(inputs);
    op.outputs = {tensor};
    ops.push_back(op);
    return tensor;
  };
  std::vector<int> parameters, values, packed;  // values: all, packed: those that are no views
  for (int i = 0; i < 3; ++i) {
    parameters.push_back(add("parameter", {}, TensorRole::kParameter));
    values.push_back(parameters.back());
    packed.push_back(parameters.back());
    ops.back().colocate = fmt::format("w{}", i);
  }
  const auto any = [&](const std::vector<int>& of) {
    return of[UniformInt(rng, static_cast<int>(of.size()))];
  };
  for (int i = 0; i < num_ops; ++i) {
    const int a = any(values), b = any(values);
    switch (UniformInt(rng, 6)) {
      case 0:
        values.push_back(add("aten.t", {a}));
        tensors.back().alias_of = a;
        continue;
      case 1:
        values.push_back(add("aten.relu", {a}));
        break;
      case 2:
        values.push_back(add("aten.mul.Tensor", {a, any(parameters)}));
        break;
      case 3:
        values.push_back(add("aten.sub.Tensor", {a, b}));
        break;
      case 4:
        values.push_back(add("aten.add.Tensor", {a, b}));
        break;
      default:
        values.push_back(add("aten.mm", {any(packed), any(parameters)}));
    }
    packed.push_back(values.back());
  }
  const int last = add("aten.tanh", {packed.back()}, TensorRole::kOutput);
  // Updates come behind all readers of the parameters.
  const auto num_before = static_cast<int>(ops.size());
  for (int i = 0; i < 3; ++i) {
    add("optimizer.sgd", {parameters[i], last}, TensorRole::kParameter);
    tensors.back().alias_of = parameters[i];
    ops.back().colocate = fmt::format("w{}", i);
    for (int v = 3; v < num_before; ++v) ops.back().control_inputs.push_back(v);
  }
  return std::make_shared<Graph>("small", tensors, ops);
}

// Bytes of all tensors that outlive a step and that kernels write, by name.
std::map<std::string, std::vector<std::byte>> ResultsOf(const Problem& problem,
                                                        const ExecutionPlan& plan,
                                                        Program& program) {
  std::map<std::string, std::vector<std::byte>> results;
  const Graph& graph = problem.graph();
  for (int v = 0; v < graph.num_ops(); ++v) {
    for (size_t i = 0; i < graph.op(v).outputs.size(); ++i) {
      const Tensor& tensor = graph.tensor(graph.op(v).outputs[i]);
      const bool lasts = tensor.role == TensorRole::kParameter ||
                         tensor.role == TensorRole::kOptimizerState ||
                         tensor.role == TensorRole::kOutput;
      if (!lasts || tensor.alias_of >= 0) continue;
      results[tensor.name + "/" + graph.op(v).name] =
          program.ReadTensor(plan.ops[v].outputs[i], tensor.bytes);
    }
  }
  return results;
}

std::map<std::string, std::vector<std::byte>> Train(Backend& backend,
                                                    const Problem& problem,
                                                    const Placement& placement,
                                                    int steps) {
  const auto plan = std::make_shared<ExecutionPlan>(
      CompilePlan(problem, ExpandPlacement(placement, problem.grouping())));
  const auto program = backend.Load(plan, DispatchMode::kGraph);
  for (int i = 0; i < steps; ++i) {
    const StepRecord record = program->Step(i % 2 == 1);
    CHECK(record.step_time > 0);
    CHECK(record.start.size() == (i % 2 == 1 ? plan->commands.size() : 0));
  }
  return ResultsOf(problem, *plan, *program);
}

std::vector<float> FloatsOf(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

bool IsFinite(const std::map<std::string, std::vector<std::byte>>& results) {
  return std::ranges::all_of(results, [](const auto& entry) {
    return std::ranges::all_of(FloatsOf(entry.second), [](float x) { return std::isfinite(x); });
  });
}

// Largest difference, relative to the largest number.
double Difference(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  const auto x = FloatsOf(a), y = FloatsOf(b);
  double difference = 0, largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    difference = std::max<double>(difference, std::abs(x[i] - y[i]));
    largest = std::max<double>(largest, std::abs(x[i]));
  }
  return difference == 0 ? 0 : difference / largest;
}

TEST_CASE("every placement computes the same bits, over any kind of way") {
  Rng rng(41);
  const auto backend = CpuDevices(3);
  for (Ways ways : {Ways::kDirect, Ways::kStaged, Ways::kBroadcast}) {
    for (int round = 0; round < 6; ++round) {
      const auto problem = ProblemOf(SmallGraph(rng, 50), ClusterOf(*backend, ways));
      const Placement alone{std::vector<DeviceIndex>(problem->num_groups(), 0)};
      const auto expected = Train(*backend, *problem, alone, 4);
      REQUIRE(IsFinite(expected));
      for (int i = 0; i < 4; ++i) {
        const Placement placement = RandomPlacement(rng, *problem);
        CAPTURE(round);
        REQUIRE((Train(*backend, *problem, placement, 4) == expected));
      }
    }
  }
}

// Also those of matrix products with transposed operands, which add in another order in another
// layout: copies keep the layout.
TEST_CASE("training GPT-2 in small gives the same numbers wherever its ops run") {
  Rng rng(42);
  const auto backend = CpuDevices(2);
  const auto graph =
      std::make_shared<Graph>(ReadGraph(SourceDir() / "configs/graphs/gpt2_mini_torch.json.gz"));
  const auto problem = ProblemOf(graph, ClusterOf(*backend, Ways::kDirect));
  const Placement alone{std::vector<DeviceIndex>(problem->num_groups(), 0)};
  const auto expected = Train(*backend, *problem, alone, 2);
  CHECK(expected.size() > 100);
  CHECK(IsFinite(expected));
  for (int i = 0; i < 2; ++i) {
    const auto found = Train(*backend, *problem, RandomPlacement(rng, *problem), 2);
    for (const auto& [name, bytes] : expected) {
      CAPTURE(name);
      CHECK((found.at(name) == bytes));
    }
  }
}

TEST_CASE("traces: commands stand in their streams' order and behind what they wait for") {
  Rng rng(43);
  const auto backend = CpuDevices(3);
  const auto problem = ProblemOf(SmallGraph(rng, 60), ClusterOf(*backend, Ways::kStaged));
  const auto plan = std::make_shared<ExecutionPlan>(
      CompilePlan(*problem, ExpandPlacement(RandomPlacement(rng, *problem), problem->grouping())));
  const auto program = backend->Load(plan, DispatchMode::kGraph);
  for (int step = 0; step < 20; ++step) {
    const StepRecord record = program->Step(true);
    Nanos last = 0;
    for (const auto& stream : CommandsByStream(*plan)) {
      Nanos free = 0;
      for (int c : stream) {
        REQUIRE(record.start[c] >= free);
        REQUIRE(record.finish[c] >= record.start[c]);
        free = record.finish[c];
        last = std::max(last, free);
        for (int other : plan->commands[c].waits) REQUIRE(record.start[c] >= record.finish[other]);
      }
    }
    REQUIRE(record.step_time >= last);
  }
}

TEST_CASE("thousands of steps of random placements, loaded side by side, neither hang nor fail") {
  Rng rng(44);
  const auto backend = CpuDevices(4);
  const auto problem = ProblemOf(SmallGraph(rng, 30), ClusterOf(*backend, Ways::kDirect));
  std::vector<std::unique_ptr<Program>> programs;
  for (int i = 0; i < 8; ++i) {
    programs.push_back(backend->Load(
        std::make_shared<ExecutionPlan>(CompilePlan(
            *problem, ExpandPlacement(RandomPlacement(rng, *problem), problem->grouping()))),
        DispatchMode::kGraph));
  }
  for (int step = 0; step < 2000 * EMPLACE_TEST_SCALE; ++step) {
    REQUIRE(programs[UniformInt(rng, 8)]->Step(step % 16 == 0).step_time > 0);
  }
}

TEST_CASE("a device of all cores computes what one core does") {
  Rng rng(47);
  const auto one = CpuDevices(1);
  const auto all = MakeCpuBackend({{"cpu:0", AllowedCores()}});
  const auto graph = SmallGraph(rng, 50);
  std::vector<std::map<std::string, std::vector<std::byte>>> results;
  for (const auto& backend : {one, all}) {
    const auto problem = ProblemOf(graph, ClusterOf(*backend, Ways::kDirect));
    const Placement alone{std::vector<DeviceIndex>(problem->num_groups(), 0)};
    results.push_back(Train(*backend, *problem, alone, 3));
  }
  for (const auto& [name, bytes] : results[0]) {
    CAPTURE(name);
    CHECK(Difference(results[1].at(name), bytes) < 1e-5);
  }
}

TEST_CASE("the executor measures placements on cores") {
  Rng rng(45);
  const auto backend = CpuDevices(2);
  const auto problem = ProblemOf(SmallGraph(rng, 30), ClusterOf(*backend, Ways::kDirect));
  Executor executor(problem, backend, {.rounds = 3, .traced_rounds = 1});
  const std::vector<Placement> placements{RandomPlacement(rng, *problem),
                                          RandomPlacement(rng, *problem)};
  for (const StepMeasurement& measurement : executor.Measure(placements)) {
    CHECK(measurement.step_times.size() == 3);
    CHECK(measurement.step.median > 0);
    CHECK(measurement.proxy_share == 0);
    CHECK(measurement.busy.size() == backend->devices().size());
    CHECK(*std::ranges::max_element(measurement.busy) > 0);
  }
}

TEST_CASE("samplers give as many positive timings as asked for") {
  const auto backend = CpuDevices(2);
  const auto check = [](const Sampler& sampler) {
    for (int count : {1, 5}) {
      std::vector<double> timings{-1};
      sampler(count, timings);
      REQUIRE(std::ssize(timings) == 1 + count);
      for (int i = 1; i <= count; ++i) CHECK(timings[i] >= 0);
    }
  };
  Rng rng(46);
  const auto graph = SmallGraph(rng, 30);
  for (int v = 0; v < graph->num_ops(); ++v) {
    const std::vector<std::int64_t> inputs(graph->op(v).inputs.size(), 256), outputs{256};
    for (CacheState cache : {CacheState::kWarm, CacheState::kCold}) {
      if (cache == CacheState::kCold && v != 10) continue;
      check(
          backend->AloneSampler(backend->Prepare({0, WorkOf(*graph, v), inputs, outputs, cache})));
    }
  }
  for (int link = 0; link < static_cast<int>(backend->links().size()); ++link) {
    for (std::int64_t bytes : {1, 1000, 1000000}) {
      check(backend->CopySampler(link, bytes));
      for (int beside = 0; beside < static_cast<int>(backend->links().size()); ++beside) {
        check(backend->CopySampler(link, bytes, beside));
      }
    }
  }
  REQUIRE(backend->DispatchSampler(0, DispatchQuantity::kNullKernel));
  check(*backend->DispatchSampler(0, DispatchQuantity::kNullKernel));
  const auto wait = backend->DispatchSampler(0, DispatchQuantity::kWait);
  CHECK(wait.has_value() == (backend->devices().size() > 1));
  if (wait) check(*wait);
  for (auto other :
       {DispatchQuantity::kLaunch, DispatchQuantity::kIssue, DispatchQuantity::kGraphLaunch}) {
    CHECK_FALSE(backend->DispatchSampler(0, other));
  }
}

TEST_CASE("devices, links and properties") {
  const auto backend = CpuDevices(2);
  const int n = static_cast<int>(backend->devices().size());
  CHECK(std::ssize(backend->links()) == n * (n - 1));
  CHECK(backend->devices()[0].name == "cpu:0");
  CHECK(backend->devices()[0].kind.device_class == DeviceClass::kCpu);
  CHECK(backend->devices()[0].kind.name == CpuKindName(CpuModel(), 1));
  CHECK(backend->devices()[0].memory > (1 << 20));
  CHECK(backend->Properties().at("onednn").find("oneDNN") != std::string::npos);
  CHECK(std::ssize(backend->ReadClocks()) == n);
}

// A plan of one op of this work on device 0.
std::shared_ptr<ExecutionPlan> PlanOf(const Backend& backend, OpWork work) {
  auto plan = std::make_shared<ExecutionPlan>();
  plan->num_devices = static_cast<int>(backend.devices().size());
  plan->arena_bytes.assign(plan->num_devices, 0);
  plan->commands.push_back({.stream = 0, .op = 0});
  plan->ops.push_back({.name = "the op", .work = std::move(work)});
  return plan;
}

TEST_CASE("errors name cores, devices, ops and bytes") {
  const int core = AllowedCores()[0];
  CHECK(MessageOf<InputError>([] { MakeCpuBackend({}); }) ==
        "no CPU devices: expected at least one group of cores");
  CHECK(MessageOf<InputError>([] {
          MakeCpuBackend({{"cpu:0", {}}});
        }).find("device \"cpu:0\" has no cores; this process may use cores") == 0);
  CHECK(MessageOf<InputError>([&] {
          MakeCpuBackend({{"cpu:0", {core}}, {"cpu:1", {core}}});
        }) == fmt::format("core {} belongs to devices \"cpu:0\" and \"cpu:1\"; expected one device",
                          core));
  CHECK(MessageOf<RunError>([] {
          MakeCpuBackend({{"cpu:0", {9999}}});
        }).find("cannot pin a thread to core 9999") == 0);

  const auto backend = CpuDevices(2);
  const auto load = [&](std::shared_ptr<ExecutionPlan> plan, DispatchMode mode) {
    return backend->Load(std::move(plan), mode);
  };
  CHECK(MessageOf<InputError>([&] {
          load(PlanOf(*backend, {}), DispatchMode::kEager);
        }).find("dispatch mode eager") == 0);
  auto big = PlanOf(*backend, {});
  big->arena_bytes[0] = backend->devices()[0].memory + 1;
  CHECK(MessageOf<RunError>([&] { load(big, DispatchMode::kGraph); }) ==
        fmt::format("device \"cpu:0\": the placement takes {} B, the device has {} B",
                    big->arena_bytes[0],
                    backend->devices()[0].memory));
  // A matrix product of three operands too few.
  CHECK(MessageOf<RunError>([&] {
          load(PlanOf(*backend, {{{.kind = KernelKind::kMatmul}}}), DispatchMode::kGraph);
        }).find("op \"the op\" on device \"cpu:0\": ") == 0);

  const auto program = load(PlanOf(*backend, {}), DispatchMode::kGraph);
  CHECK(program->Step(false).step_time > 0);
  CHECK(MessageOf<InputError>([&] {
          program->ReadTensor({0, 0}, 4);
        }) == "the plan has no tensor of 4 B at byte 0 of device 0");
}

}  // namespace
