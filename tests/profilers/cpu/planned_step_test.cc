// Planned steps compute what the step computes: losses and updated parameters, on cores.

#include <cmath>
#include <cstring>
#include <map>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/cost/cost_model.h"
#include "framework/graph/graph_io.h"
#include "framework/plan/apply_plan.h"
#include "framework/plan/pipeline_order.h"
#include "profilers/cpu/cpu_backend.h"
#include "profilers/executor/compile_plan.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Two cores with a channel each way.
Cluster TwoCores() {
  DeviceKind kind;
  kind.name = "core";
  kind.device_class = DeviceClass::kCpu;
  kind.peak = {{"f32", 1e10}};
  kind.memory_bandwidth = 1e10;
  std::vector<Device> devices = {{.name = "cpu:0"}, {.name = "cpu:1"}};
  const Channel channel{.bandwidth = {1'000'000'000, 1}};
  std::vector<Channel> channels(2, channel);
  channels[0].name = "there";
  channels[1].name = "back";
  return Cluster("two_cores", {kind}, devices, channels, {{}, {0}, {1}, {}});
}

// A tensor of the step, and the micro-batch of the whole batch that its copy belongs to; -1: all.
struct Copied {
  int tensor = -1, part = -1;
};

// [tensors of the planned graph] from the origins of producers and readers.
std::vector<Copied> CopiesOf(const Graph& step, const PlannedGraph& planned, int micro_batches) {
  std::vector<Copied> copies(planned.graph.num_tensors());
  for (int op = 0; op < planned.graph.num_ops(); ++op) {
    const PlannedOp& origin = planned.ops[op];
    if (origin.role != PlannedRole::kCopy) continue;
    const Op& from = step.op(origin.op);
    const bool whole = from.phase == Phase::kUpdate || from.IsStorage();
    const int part =
        whole ? -1 : std::max(origin.replica, 0) * micro_batches + std::max(origin.micro_batch, 0);
    for (std::size_t i = 0; i < from.outputs.size(); ++i) {
      copies[planned.graph.op(op).outputs[i]] = {from.outputs[i], part};
    }
    for (std::size_t i = 0; i < from.inputs.size(); ++i) {
      const int input = planned.graph.op(op).inputs[i];
      if (planned.graph.tensor(input).producer >= 0) continue;
      const bool once = planned.graph.tensor(input).role != TensorRole::kInput;
      copies[input] = {from.inputs[i], once ? -1 : part};
    }
  }
  return copies;
}

using Values = std::map<std::pair<int, int>, std::vector<float>>;  // by (tensor, part)

struct Computed {
  Values losses, parameters;
};

// Executes one step and reads the losses of all micro-batches, and the updated parameters and
// optimizer states of the first replica.
Computed Execute(const Graph& step, const std::string& yaml, bool pipeline) {
  const Plan plan = ReadFields<Plan>(ConfigNode::FromString(yaml, "plan"));
  const Cluster cluster = TwoCores();
  const PlannedStep applied = ApplyPlan(step, cluster, plan, Grouping::Identity(step.num_ops()));
  const PlannedGraph& planned = applied.planned;
  // The pipeline: the first half of the forward ops and what belongs to them on cpu:0. A label has
  // the device of its first op.
  std::vector<DeviceIndex> of_step(step.num_ops(), 0);
  std::map<std::string, DeviceIndex> of_label;
  int forward = 0;
  for (const Op& op : step.ops()) forward += op.phase == Phase::kForward;
  int position = 0;
  for (int op : step.topological_order()) {
    const Op& each = step.op(op);
    bool second = each.phase == Phase::kForward ? 2 * position++ >= forward : false;
    for (int input : each.inputs) {  // backward ops and updates go with what they read last
      const int producer = step.tensor(input).producer;
      if (each.phase != Phase::kForward && producer >= 0 && of_step[producer] == 1) second = true;
    }
    of_step[op] = pipeline && second;
    if (each.colocate.empty()) continue;
    of_step[op] = of_label.emplace(each.colocate, of_step[op]).first->second;
  }
  std::vector<std::vector<DeviceIndex>> replicas;
  for (int r = 0; r < plan.replicas; ++r) {
    replicas.push_back(
        pipeline ? of_step : std::vector<DeviceIndex>(step.num_ops(), static_cast<DeviceIndex>(r)));
  }
  const std::vector<DeviceIndex> devices = PlannedPlacement(applied, replicas);
  int stages = 0;
  const std::vector<int> stage_of_op =
      StagesOf(step, std::vector<int>(of_step.begin(), of_step.end()), stages);
  const std::vector<int> order = PipelineOrder(planned, stage_of_op, stages, Schedule::k1F1B);
  const Problem problem(std::make_shared<Graph>(planned.graph),
                        Grouping::Identity(planned.graph.num_ops()),
                        applied.cluster,
                        ComputeCosts(planned.graph, *applied.cluster));
  auto compiled = std::make_shared<ExecutionPlan>(CompilePlan(problem, devices, order));
  // Every part of the batch has its own numbers, whatever plan it is in.
  const std::vector<Copied> copies = CopiesOf(step, planned, plan.micro_batches);
  for (InitialValue& value : compiled->initial_values) {
    const Copied& copy = copies[value.tensor];
    value.tensor = copy.tensor + 1'000'000 * (copy.part + 1);
  }
  const auto cores = AllowedCores();
  const auto backend = MakeCpuBackend({{"cpu:0", {cores[0]}}, {"cpu:1", {cores[1]}}});
  const auto program = backend->Load(compiled, DispatchMode::kGraph);
  program->Step(false);

  Computed computed;
  for (int op = 0; op < planned.graph.num_ops(); ++op) {
    const PlannedOp& origin = planned.ops[op];
    if (origin.role != PlannedRole::kCopy) continue;
    for (std::size_t i = 0; i < planned.graph.op(op).outputs.size(); ++i) {
      const Tensor& tensor = planned.graph.tensor(planned.graph.op(op).outputs[i]);
      const Copied& copy = copies[planned.graph.op(op).outputs[i]];
      const bool updated = tensor.alias_of >= 0 && (tensor.role == TensorRole::kParameter ||
                                                    tensor.role == TensorRole::kOptimizerState);
      const bool loss = tensor.role == TensorRole::kOutput && tensor.bytes == 4;
      if (tensor.dtype != "f32" || (updated && origin.replica > 0) || !(updated || loss)) continue;
      std::vector<float> values(tensor.bytes / 4);
      const std::vector<std::byte> bytes =
          program->ReadTensor(compiled->ops[op].outputs[i], tensor.bytes);
      std::memcpy(values.data(), bytes.data(), bytes.size());
      (updated ? computed.parameters : computed.losses)[{copy.tensor, copy.part}] = values;
    }
  }
  return computed;
}

// Returns the norm of the difference over that of the values.
double RelativeDifference(const Values& a, const Values& b) {
  double difference = 0, norm = 0;
  REQUIRE(a.size() == b.size());
  for (const auto& [key, values] : a) {
    const auto found = b.find(key);
    REQUIRE(found != b.end());
    for (std::size_t i = 0; i < values.size(); ++i) {
      difference += std::pow(static_cast<double>(values[i]) - found->second[i], 2);
      norm += std::pow(static_cast<double>(values[i]), 2);
    }
  }
  REQUIRE(std::isfinite(norm));
  return std::sqrt(difference / norm);
}

// The whole batch has `parts` micro-batches, with numbers of their own.
void CompareWithOneCore(const std::string& name, const std::string& layers, int parts) {
  CAPTURE(name);
  CAPTURE(parts);
  const Graph step = ReadGraph(SourceDir() / "configs/graphs" / (name + ".json.gz"));
  const std::string one = fmt::format("micro_batches: {}, groups: [['cpu:0']]", parts);
  const Computed expected = Execute(step, "{" + one + "}", false);
  REQUIRE(std::ssize(expected.losses) == parts);
  REQUIRE(expected.parameters.size() > 40);
  CHECK(expected.losses.begin()->second != std::next(expected.losses.begin())->second);
  // What the sum over all parts changes, compared with the gradient of one.
  const Computed part = Execute(step, "{groups: [['cpu:0']]}", false);
  const double change = RelativeDifference(expected.parameters, part.parameters);
  CHECK(change > 1e-5);
  const auto compare = [&](const std::string& plan, bool pipeline) {
    CAPTURE(plan);
    const Computed computed = Execute(step, plan, pipeline);
    CHECK(RelativeDifference(expected.losses, computed.losses) == 0);
    CHECK(RelativeDifference(expected.parameters, computed.parameters) < 1e-3 * change);
  };
  compare(fmt::format("{{replicas: 2, micro_batches: {}, collectives: tree}}", parts / 2), false);
  compare(fmt::format("{{micro_batches: {}}}", parts), true);
  compare("{" + one + ", recompute: ['" + layers + "']}", false);
}

TEST_CASE("planned steps compute the losses and parameters of one core with the same batch") {
  if (AllowedCores().size() < 2) {
    MESSAGE("skipped: there is one core");
    return;
  }
  CompareWithOneCore("gpt2_mini_torch", "h.*", 4);
  // Half a minute; convolutions in plans.
  if (EMPLACE_TEST_SCALE > 1) CompareWithOneCore("resnet50_b1_torch", "layer*", 2);
}

}  // namespace
