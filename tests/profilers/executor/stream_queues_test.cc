#include "profilers/executor/stream_queues.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "profilers/executor/command_queue.h"
#include "tests/profilers/stand_in_streams.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Op "first" on stream 0, a copy of what it makes on stream 2 (the channel), "second" on stream 1.
std::shared_ptr<ExecutionPlan> ThreeCommands() {
  auto plan = std::make_shared<ExecutionPlan>();
  plan->num_devices = 2;
  plan->num_channels = 1;
  plan->arena_bytes = {0, 0};
  plan->ops.resize(2);
  plan->ops[0].name = "first";
  plan->ops[1].name = "second";
  plan->commands.push_back({.stream = 0, .op = 0});
  plan->commands.push_back({.type = PlanCommand::Type::kCopy,
                            .stream = 2,
                            .op = 0,
                            .tensor = 0,
                            .bytes = 8,
                            .source = {0},
                            .destinations = {{1}},
                            .waits = {0}});
  plan->commands.push_back({.stream = 1, .op = 1, .waits = {1}});
  return plan;
}

// Both devices on GPUs.
struct StreamProgram {
  explicit StreamProgram(DispatchMode mode, StandInStreams::Behaviour how = {})
      : behaviour(std::move(how)) {
    auto made = std::make_unique<StandInStreams>(3, behaviour);
    streams = made.get();
    const auto plan = ThreeCommands();
    ProgramMemory memory;
    memory.progress = std::make_shared<StepCounter[]>(3);
    std::vector<std::unique_ptr<QueueRunner>> runners;
    runners.push_back(std::make_unique<StreamQueues>(
        plan,
        PlanQueues(*plan, std::vector{QueueKind::kStream, QueueKind::kStream}),
        std::vector<std::string>{"gpu:0", "gpu:1"},
        std::move(made),
        memory.progress,
        std::make_shared<StepCounter[]>(4),
        mode));
    program = std::make_unique<QueueProgram>(plan, memory, std::move(runners));
  }

  StandInStreams::Behaviour behaviour;
  StandInStreams* streams = nullptr;
  std::unique_ptr<QueueProgram> program;
};

using Calls = std::vector<std::string>;

const Calls kCommandCalls = {"0: run 0",
                             "0: record 0",
                             "2: await event 0",
                             "2: run 1",
                             "2: record 1",
                             "1: await event 1",
                             "1: run 2"};

TEST_CASE("eager: every step enqueues every command in issue order, then the ends") {
  StreamProgram made(DispatchMode::kEager);
  CHECK(made.streams->calls().empty());
  CHECK(made.program->Step(false).step_time > 0);
  Calls expected = kCommandCalls;
  for (const char* end : {"0: raise counter 1", "1: raise counter 1", "2: raise counter 1"}) {
    expected.push_back(end);
  }
  CHECK(made.streams->calls() == expected);
  made.program->Step(false);
  CHECK(made.streams->calls().size() == 2 * expected.size());
}

TEST_CASE("graph: captured once, launched behind the latch, timed by the GPU") {
  StreamProgram made(DispatchMode::kGraph);
  CHECK(made.streams->calls().empty());
  CHECK(made.program->Step(false).step_time == StandInStreams::kGraphTime);
  Calls expected = {"0: await counter 1", "1: await counter 1", "2: await counter 1"};
  expected.insert(expected.end(), kCommandCalls.begin(), kCommandCalls.end());
  for (const char* end : {"0: end of graph", "1: end of graph", "2: end of graph"}) {
    expected.push_back(end);
  }
  CHECK(made.streams->calls() == expected);
}

TEST_CASE("traced steps: every command behind those it waits for, in both modes") {
  for (DispatchMode mode : {DispatchMode::kEager, DispatchMode::kGraph}) {
    StreamProgram made(mode);
    for (int step = 0; step < 4; ++step) {
      const StepRecord record = made.program->Step(step % 2 == 0);
      REQUIRE(record.start.size() == (step % 2 == 0 ? 3 : 0));
      for (size_t c = 1; c < record.start.size(); ++c) {
        CHECK(record.start[c] >= record.finish[c - 1]);
      }
    }
  }
}

TEST_CASE("a command that cannot be enqueued is named, and the program is not used again") {
  StreamProgram made(DispatchMode::kEager);
  made.program->Step(false);
  made.behaviour.refused = 1;
  CHECK(MessageOf<RunError>([&] { made.program->Step(false); }) ==
        "copy of tensor 0 of op \"first\", hop 0, on channel 0: refused");
  made.behaviour.refused = -1;
  CHECK(MessageOf<RunError>([&] { made.program->Step(false); }) ==
        "the devices of this program failed earlier");
  CHECK(MessageOf<RunError>([] { StreamProgram(DispatchMode::kGraph, {.refused = 2}); }) ==
        "op \"second\" on device \"gpu:1\": refused");
}

TEST_CASE("a GPU that fails in a step is noticed, though it raises no counter") {
  for (DispatchMode mode : {DispatchMode::kEager, DispatchMode::kGraph}) {
    StreamProgram made(mode);
    made.program->Step(true);
    made.behaviour.fatal = 1;
    CHECK(MessageOf<RunError>([&] { made.program->Step(false); }) == "the streams have failed");
    CHECK(MessageOf<RunError>([&] { made.program->Step(false); }) ==
          "the devices of this program failed earlier");
  }
}

TEST_CASE("a place that the plan does not know is not read") {
  StreamProgram made(DispatchMode::kEager);
  CHECK(MessageOf<InputError>([&] {
          made.program->ReadTensor({0, 512}, 8);
        }) == "the plan has no tensor of 8 B at byte 512 of device 0");
}

}  // namespace
