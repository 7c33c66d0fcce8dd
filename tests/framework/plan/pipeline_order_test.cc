#include "framework/plan/pipeline_order.h"

#include <algorithm>
#include <optional>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/config/setting_error.h"
#include "framework/plan/micro_batches.h"
#include "framework/plan/recompute.h"
#include "tests/framework/plan/training_steps.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// A chain with one layer for each virtual stage, on links that take no time.
struct Pipeline {
  Pipeline(int stages,
           int micro_batches,
           Schedule schedule,
           ChainSizes sizes = {},
           int virtual_stages = 1) {
    sizes.layers = stages * virtual_stages;
    step = ChainStep(sizes);
    cluster = EqualGpus(stages, 0, {1'000'000'000'000'000, 1});
    planned = CopyMicroBatches(Recompute(*step, {}), micro_batches);
    for (int op = 0; op < step->num_ops(); ++op) {
      device_of_op.push_back(
          static_cast<DeviceIndex>(std::stoi(step->op(op).name.substr(1)) % stages));
    }
    for (const PlannedOp& op : planned->ops) devices.push_back(device_of_op[op.op]);
    int count = 0;
    const std::vector<int> stage = StagesOf(
        *step, std::vector<int>(device_of_op.begin(), device_of_op.end()), count, virtual_stages);
    CHECK(count == stages);
    order = PipelineOrder(*planned, stage, stages, schedule, virtual_stages);
  }
  Outcome InStream() const {
    return Simulated(planned->graph, *cluster, devices, Semantics::kStream, order);
  }
  Outcome InQueue() const {
    const std::vector<int> on(devices.begin(), devices.end());
    return Simulated(InOrder(planned->graph, on, order), *cluster, devices, Semantics::kQueue);
  }

  std::optional<Graph> step;
  std::optional<Cluster> cluster;
  std::optional<PlannedGraph> planned;
  std::vector<DeviceIndex> device_of_op, devices;
  std::vector<int> order;
};

// Without sums and updates, and tensors without bytes.
constexpr ChainSizes kPure{.forward = 300,
                           .backward = 500,
                           .update = 0,
                           .weights = 0,
                           .activation = 0};

// The bubble of GPipe and 1F1B (Huang et al. 2019; Narayanan et al. 2021): with equal stages and
// free links a step takes (M + S - 1) (f + b).
TEST_CASE("a step of equal stages takes (M + S - 1) (f + b) in both schedules and semantics") {
  for (const Schedule schedule : {Schedule::kGpipe, Schedule::k1F1B}) {
    for (int stages = 1; stages <= 4; ++stages) {
      for (int micro_batches : {1, 2, 3, 4, 8}) {
        CAPTURE(stages);
        CAPTURE(micro_batches);
        Pipeline pipeline(stages, micro_batches, schedule, kPure);
        const Nanos expected = (micro_batches + stages - 1) * (300 + 500);
        CHECK(pipeline.InStream().step_time == expected);
        CHECK(pipeline.InQueue().step_time == expected);
      }
    }
  }
}

// A transfer that takes no time still has latency and wire time 0: what is checked is the order.
TEST_CASE("1F1B on three stages and four micro-batches, op by op") {
  Pipeline pipeline(3, 4, Schedule::k1F1B, kPure);
  std::vector<std::string> passes[3];
  for (int op : pipeline.order) {
    const std::string& name = pipeline.planned->graph.op(op).name;
    const bool pass = name.size() == 5 && (name[3] == 'f' || name[3] == 'b');
    if (pass) passes[name[4] - '0'].push_back(name.substr(3, 1) + name.substr(1, 1));
  }
  using List = std::vector<std::string>;
  CHECK(passes[0] == List{"f0", "f1", "f2", "b0", "f3", "b1", "b2", "b3"});
  CHECK(passes[1] == List{"f0", "f1", "b0", "f2", "b1", "f3", "b2", "b3"});
  CHECK(passes[2] == List{"f0", "b0", "f1", "b1", "f2", "b2", "f3", "b3"});
}

// As the paper's (Narayanan et al., SC 2021, section 2.2): the bubble is (S - 1) (F + B) / v of the
// times F and B of all virtual stages of a device.
TEST_CASE("a step of equal virtual stages takes (M v + S - 1) (f + b)") {
  for (int stages = 2; stages <= 4; ++stages) {
    for (int v = 1; v <= 3; ++v) {
      for (int micro_batches : {stages, 2 * stages, 3 * stages}) {
        CAPTURE(stages);
        CAPTURE(v);
        CAPTURE(micro_batches);
        Pipeline pipeline(stages, micro_batches, Schedule::kInterleaved, kPure, v);
        const Nanos expected = (micro_batches * v + stages - 1) * (300 + 500);
        CHECK(pipeline.InStream().step_time == expected);
        CHECK(pipeline.InQueue().step_time == expected);
        // Forward passes without their backward passes, at most.
        const auto passes = PassesOf(stages, v, micro_batches, Schedule::kInterleaved);
        for (int s = 0; s < stages; ++s) {
          CHECK(std::ssize(passes[s]) == 2 * micro_batches * v);
          int held = 0, most = 0;
          for (const Pass& pass : passes[s]) most = std::max(most, held += pass.backward ? -1 : 1);
          const int following = stages - 1 - s;
          CHECK(most == std::min(micro_batches * v,
                                 v == 1 ? following + 1 : 2 * following + (v - 1) * stages + 1));
        }
        if (v > 1) continue;
        const Pipeline one(stages, micro_batches, Schedule::k1F1B, kPure);
        CHECK(pipeline.order == one.order);
      }
    }
  }
}

/// Returns the passes of a device: "f2.1" is the forward pass of micro-batch 2 through its second
/// virtual stage.
std::string TextOf(const std::vector<Pass>& passes, int num_stages) {
  std::string text;
  for (const Pass& pass : passes) {
    text += fmt::format(
        " {}{}.{}", pass.backward ? 'b' : 'f', pass.micro_batch, pass.stage / num_stages);
  }
  return text;
}

TEST_CASE("interleaved on two devices with two virtual stages each, pass by pass") {
  // Device 0 makes 2 * 1 + 1 * 2 = 4 forward passes first, device 1 makes 2.
  auto passes = PassesOf(2, 2, 2, Schedule::kInterleaved);
  CHECK(TextOf(passes[0], 2) == " f0.0 f1.0 f0.1 f1.1 b0.1 b1.1 b0.0 b1.0");
  CHECK(TextOf(passes[1], 2) == " f0.0 f1.0 f0.1 b0.1 f1.1 b1.1 b0.0 b1.0");
  // With f = 3 and b = 5, their ends:
  //   device 0  3 6 9 12                 22 30 35 40
  //   device 1      6 9 12 17 20 25 30 35
  const auto ends = PassEnds(passes, std::vector<PassTimes>(4, {.forward = 3, .backward = 5}), 2);
  CHECK(ends[0] == std::vector<Nanos>{3, 6, 6, 9, 9, 12, 12, 20});
  CHECK(ends[1] == std::vector<Nanos>{35, 40, 30, 35, 22, 30, 17, 25});
  passes = PassesOf(2, 2, 4, Schedule::kInterleaved);
  CHECK(TextOf(passes[0], 2) ==
        " f0.0 f1.0 f0.1 f1.1 f2.0 b0.1 f3.0 b1.1 f2.1 b0.0 f3.1 b1.0 b2.1 b3.1 b2.0 b3.0");
  CHECK(TextOf(passes[1], 2) ==
        " f0.0 f1.0 f0.1 b0.1 f1.1 b1.1 f2.0 b0.0 f3.0 b1.0 f2.1 b2.1 f3.1 b3.1 b2.0 b3.0");
}

TEST_CASE("schedules have names, and wrong settings are refused") {
  for (const std::string& name : ScheduleNames()) CHECK(NameOf(ParseSchedule(name, "")) == name);
  CHECK(MessageOf<InputError>([] { ParseSchedule("zigzag", "--schedule"); }) ==
        "--schedule: unknown schedule \"zigzag\"; choices: gpipe, 1f1b, interleaved");
  const auto refusal = [](int stages, int v, int micro_batches, Schedule schedule) {
    return MessageOf<SettingError>([&] { PassesOf(stages, v, micro_batches, schedule); });
  };
  CHECK(refusal(2, 0, 2, Schedule::kInterleaved) ==
        "virtual_stages: got 0, expected a number above 0");
  CHECK(refusal(2, 2, 2, Schedule::k1F1B) ==
        "virtual_stages: got 2, and a device has one with 1f1b; choices: 1, or schedule "
        "interleaved");
  CHECK(refusal(1, 2, 2, Schedule::kInterleaved) ==
        "schedule: interleaved needs several stages, and a replica has one; choices: gpipe, 1f1b");
  CHECK(refusal(4, 2, 6, Schedule::kInterleaved) ==
        "micro_batches: got 6, expected a multiple of the 4 stages, as the schedule is "
        "interleaved");
  const Graph step = ChainStep({.layers = 3});
  int count = 0;
  const std::vector<int> device_of_op = {0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0};
  CHECK(MessageOf<SettingError>([&] { StagesOf(step, device_of_op, count, 2); }) ==
        "virtual_stages: got 2, expected at most 1, the forward ops of stage 1");
}

// Stage s holds the activations of S - s micro-batches with 1F1B and of all with GPipe.
TEST_CASE("stage s of S has S - s micro-batches in flight with 1F1B, all M with GPipe") {
  ChainSizes sizes = kPure;
  sizes.activation = 1000;
  const int stages = 4, micro_batches = 8;
  const Outcome gpipe = Pipeline(stages, micro_batches, Schedule::kGpipe, sizes).InStream();
  const Outcome one = Pipeline(stages, micro_batches, Schedule::k1F1B, sizes).InStream();
  // Inputs of stage 0 are graph inputs and resident. Each other stage holds a micro-batch's input,
  // the last one its output, too, for the backward pass. With 1F1B the input of the next
  // micro-batch arrives meanwhile.
  CHECK(gpipe.devices[0].peak == one.devices[0].peak);
  for (int s = 1; s < stages; ++s) {
    const int held = s == stages - 1 ? 2 : 1;
    CHECK(gpipe.devices[s].peak - one.devices[s].peak ==
          1000 * (held * (micro_batches - (stages - s)) - 1));
  }
}

TEST_CASE("stages are numbered as micro-batches pass them, whatever the devices' numbers") {
  const Graph step = ChainStep({.layers = 3});
  std::vector<int> device_of_op;
  const int device_of_layer[] = {2, 0, 1};
  for (const Op& op : step.ops()) device_of_op.push_back(device_of_layer[op.name[1] - '0']);
  int count = 0;
  const std::vector<int> stages = StagesOf(step, device_of_op, count);
  CHECK(count == 3);
  for (int op = 0; op < step.num_ops(); ++op) CHECK(stages[op] == step.op(op).name[1] - '0');
}

TEST_CASE("virtual stages are cut where most ops of other devices are in between") {
  const Graph step = ChainStep({.layers = 9});
  // Two virtual stages of 2, 3, 2 and 1 layers; layer 6, in the second one of device 1, is on
  // device 0.
  const int device_of_layer[] = {1, 1, 0, 0, 0, 1, 0, 1, 0};
  const int expected[] = {0, 0, 1, 1, 1, 2, 3, 2, 3};
  std::vector<int> device_of_op;
  for (const Op& op : step.ops()) device_of_op.push_back(device_of_layer[op.name[1] - '0']);
  int count = 0;
  const std::vector<int> stages = StagesOf(step, device_of_op, count, 2);
  CHECK(count == 2);
  for (int op = 0; op < step.num_ops(); ++op) {
    const char kind = step.op(op).name[0];
    if (kind == 'f' || kind == 'b') CHECK(stages[op] == expected[step.op(op).name[1] - '0']);
  }
}

TEST_CASE("every order is topological, also of placements that go back and forth") {
  const Graph step = ChainStep({.layers = 6});
  const PlannedGraph planned =
      CopyMicroBatches(Recompute(step, std::vector<std::string>{"f2", "f3"}), 5);
  Rng rng(3);
  for (int round = 0; round < 20; ++round) {
    std::vector<int> device_of_op;
    for (int op = 0; op < step.num_ops(); ++op) device_of_op.push_back(UniformInt(rng, 3));
    int count = 0;
    const std::vector<int> stages = StagesOf(step, device_of_op, count);
    for (const Schedule schedule : {Schedule::kGpipe, Schedule::k1F1B}) {
      const std::vector<int> order = PipelineOrder(planned, stages, count, schedule);
      std::vector<int> position(planned.graph.num_ops(), -1);
      REQUIRE(std::ssize(order) == planned.graph.num_ops());
      for (int i = 0; i < planned.graph.num_ops(); ++i) position[order[i]] = i;
      for (int op = 0; op < planned.graph.num_ops(); ++op) {
        for (int before : planned.graph.predecessors(op)) CHECK(position[before] < position[op]);
      }
    }
  }
}

TEST_CASE("with an edge from each op to the next, queue semantics keeps the order of each device") {
  Rng rng(5);
  const Graph step = ChainStep({.layers = 4});
  const PlannedGraph planned = CopyMicroBatches(Recompute(step, {}), 3);
  const Cluster cluster = EqualGpus(3);
  std::vector<DeviceIndex> devices;
  for (const PlannedOp& op : planned.ops) {
    const char layer = step.op(op.op).name[1];
    devices.push_back(static_cast<DeviceIndex>((layer - '0') % 3));
  }
  const std::vector<int> on(devices.begin(), devices.end());
  int count = 0;
  std::vector<int> of_step;
  for (const Op& op : step.ops()) of_step.push_back((op.name[1] - '0') % 3);
  const std::vector<int> stages = StagesOf(step, of_step, count);
  const std::vector<int> order = PipelineOrder(planned, stages, count, Schedule::k1F1B);
  const Outcome outcome =
      Simulated(InOrder(planned.graph, on, order), cluster, devices, Semantics::kQueue);
  Nanos last[3] = {0, 0, 0};
  for (int op : order) {
    if (planned.graph.op(op).IsStorage()) continue;
    CHECK(outcome.start[op] >= last[on[op]]);
    last[on[op]] = outcome.start[op];
  }
}

}  // namespace
