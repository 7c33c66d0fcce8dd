#include "experiments/report/plan_picture.h"

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "experiments/plan/plan_simulation.h"
#include "simulator/reference/reference.h"
#include "tests/framework/plan/training_steps.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// A placed plan of a chain of layers, and its timeline. Activations have no bytes.
struct DrawnPlan {
  PlanSetting setting;
  PlacedPlan placed;
  Timeline timeline;

  DrawnPlan(const Plan& plan,
            const ReplicaDevices& devices,
            int gpus,
            int layers = 2,
            int virtual_stages = 1) {
    setting.step = std::make_shared<const Graph>(ChainStep({.layers = layers, .activation = 0}));
    setting.cluster = std::make_shared<const Cluster>(EqualGpus(gpus));
    const Schedule schedule = virtual_stages > 1 ? Schedule::kInterleaved : Schedule::k1F1B;
    placed = PlacePlan(setting, plan, devices, schedule, false, virtual_stages);
    SimulatorOptions how{.semantics = setting.semantics};
    how.issue_order = placed.issue_order;
    timeline = SimulateReference(*placed.problem, placed.device_of_op, how);
  }
  std::vector<DrawnPass> Passes() const {
    return MergePasses(placed.problem->graph(), placed.ops, timeline);
  }
  std::string Picture(const std::string& title = "") const {
    return FormatPlanPicture(*placed.problem, placed.ops, timeline, title);
  }
};

// Layer 0 on one device, layer 1 on another one. w0 w1 f0 f1 b1 b0 u0 u1
std::vector<DeviceIndex> TwoStages(DeviceIndex first, DeviceIndex second) {
  return {first, second, first, second, second, first, first, second};
}

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST_CASE("the passes of a pipeline by hand") {
  // Two micro-batches: forward 3 ns, backward 5 ns, sums of no time, an update of 2 ns for each
  // layer. gpu:1 gets micro-batch 0 at 3, does forward and backward passes in turn, and ends at 21.
  // gpu:0 gets the gradients at 11 and at 19.
  const DrawnPlan drawn({.micro_batches = 2}, {TwoStages(0, 1)}, 2);
  CHECK(drawn.timeline.outcome.step_time == 26);
  struct Expected {
    int device;
    PassKind kind;
    int micro_batch;
    Nanos start, finish;
  };
  const std::vector<Expected> expected = {{0, PassKind::kForward, 0, 0, 3},
                                          {0, PassKind::kForward, 1, 3, 6},
                                          {0, PassKind::kBackward, 0, 11, 16},
                                          {0, PassKind::kBackward, 1, 19, 24},
                                          {0, PassKind::kUpdate, -1, 24, 26},
                                          {1, PassKind::kForward, 0, 3, 6},
                                          {1, PassKind::kBackward, 0, 6, 11},
                                          {1, PassKind::kForward, 1, 11, 14},
                                          {1, PassKind::kBackward, 1, 14, 19},
                                          {1, PassKind::kUpdate, -1, 19, 21}};
  const std::vector<DrawnPass> passes = drawn.Passes();
  REQUIRE(passes.size() == expected.size());
  for (std::size_t i = 0; i < passes.size(); ++i) {
    CAPTURE(i);
    CHECK(passes[i].device == expected[i].device);
    CHECK(passes[i].kind == expected[i].kind);
    CHECK(passes[i].micro_batch == expected[i].micro_batch);
    CHECK(passes[i].start == expected[i].start);
    CHECK(passes[i].finish == expected[i].finish);
    CHECK(passes[i].busy == expected[i].finish - expected[i].start);
  }
  const std::string picture = drawn.Picture("a <chain>");
  CHECK(CountOf(picture, "<rect class=\"pass") == 10);
  CHECK(Contains(picture, ">a &lt;chain&gt;</text>"));
  CHECK(Contains(picture, "<title>backward of micro-batch 1: 19 ns to 24 ns, busy 5 ns</title>"));
  CHECK(picture.find(">stage 0</text>") < picture.find(">stage 1</text>"));
  CHECK_FALSE(Contains(picture, "replica"));
  CHECK_FALSE(Contains(picture, "collective"));
}

TEST_CASE("stages are in the order of the forward passes") {
  const std::string picture = DrawnPlan({.micro_batches = 2}, {TwoStages(1, 0)}, 2).Picture();
  CHECK(picture.find(">gpu:1</text>") < picture.find(">gpu:0</text>"));
}

TEST_CASE("virtual stages have letters") {
  // Layers 0 and 2 on gpu:0, 1 and 3 on gpu:1: (2 * 2 + 2 - 1) (3 + 5) ns, and two updates.
  const DrawnPlan drawn(
      {.micro_batches = 2}, {{0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1}}, 2, 4, 2);
  CHECK(drawn.timeline.outcome.step_time == 44);
  std::string passes;
  for (const DrawnPass& pass : drawn.Passes()) {
    if (pass.kind == PassKind::kUpdate) continue;
    passes += fmt::format("{}{}{}{} ",
                          pass.device,
                          pass.kind == PassKind::kForward ? 'F' : 'B',
                          pass.micro_batch,
                          "ab"[pass.part]);
  }
  CHECK(passes ==
        "0F0a 0F1a 0F0b 0F1b 0B0b 0B1b 0B0a 0B1a "
        "1F0a 1F1a 1F0b 1B0b 1F1b 1B1b 1B0a 1B1a ");
  const std::string picture = drawn.Picture();
  CHECK(Contains(picture, "numbers: micro-batches; letters: virtual stages; grey"));
  CHECK(Contains(picture, ">1b</text>"));
  CHECK(Contains(picture, "<title>backward of micro-batch 1, virtual stage a: 35 ns to 40 ns"));
}

TEST_CASE("micro-batches that take turns on one device have one virtual stage") {
  // Without an issue order, ops of the micro-batches alternate: f0 of 0, f0 of 1, f1 of 0, ...
  DrawnPlan drawn({.micro_batches = 2}, {TwoStages(0, 0)}, 1);
  drawn.timeline = SimulateReference(
      *drawn.placed.problem, drawn.placed.device_of_op, {.semantics = Semantics::kQueue});
  const std::vector<DrawnPass> passes = drawn.Passes();
  REQUIRE(passes.size() > 6);  // more than a pass of each kind and micro-batch, and updates
  for (const DrawnPass& pass : passes) CHECK(pass.part == 0);
  CHECK_FALSE(Contains(drawn.Picture(), "virtual stage"));
}

TEST_CASE("recomputed ops are a part of the backward pass") {
  // f0 and f1 once more (3 + 3), b1 and b0 (5 + 5).
  const DrawnPlan drawn({.recompute = {"f*"}}, {TwoStages(0, 0)}, 1);
  const std::vector<DrawnPass> passes = drawn.Passes();
  REQUIRE(passes.size() == 3);
  CHECK(passes[1].kind == PassKind::kBackward);
  CHECK(passes[1].busy == 16);
  CHECK(passes[1].recompute == 6);
  CHECK(Contains(drawn.Picture(),
                 "<title>backward: 6 ns to 22 ns, busy 16 ns, recomputation 6 ns</title>"));
}

TEST_CASE("a pause divides a pass; replicas and the network have rows") {
  // A reduction of all gradients, two steps of 8 bytes, after the last backward op.
  const DrawnPlan drawn({.replicas = 2}, {TwoStages(0, 0), TwoStages(1, 1)}, 2);
  std::vector<DrawnPass> passes = drawn.Passes();
  REQUIRE(passes.size() == 7);
  CHECK(passes.back().kind == PassKind::kReduce);
  CHECK(passes.back().start == 16);
  CHECK(passes.back().busy == 16);
  CHECK(passes[3].replica == 1);
  const std::string picture = drawn.Picture();
  for (const char* text :
       {">replica 0</text>", ">replica 1</text>", ">network</text>", "collective"})
    CHECK(Contains(picture, text));
  Timeline later = drawn.timeline;
  for (OpEvent& event : later.ops) {
    if (event.device == 0 && event.start >= 3) event.start += 5, event.finish += 5;
  }
  passes = MergePasses(drawn.placed.problem->graph(), drawn.placed.ops, later);
  CHECK(passes.size() == 8);
  CHECK(passes[0].finish == 3);
  CHECK(passes[1].kind == PassKind::kForward);
  CHECK(passes[1].start == 8);
}

}  // namespace
