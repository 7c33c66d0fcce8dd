#include "profilers/executor/compile_plan.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/cost/cost_model.h"
#include "framework/graph/graph_io.h"
#include "simulator/reference/reference.h"
#include "tests/profilers/stream_commands.h"
#include "tests/profilers/virtual_backend.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// What a plan can be compiled for: devices that run one op at a time; host costs are not the plan's
// business.
RandomProblemOptions Executable(Rng& rng) {
  return {.num_ops = 1 + UniformInt(rng, 40),
          .num_devices = 1 + UniformInt(rng, 5),
          .slots = false,
          .host_costs = false,
          .occupies = false};
}

struct Access {
  int command = 0;
  int device = 0;
  std::int64_t begin = 0, end = 0;  // [B]
  bool writes = false;
};

Access AccessOf(int command, const Address& address, const TensorView& view, bool writes) {
  std::int64_t last = view.offset;
  for (size_t i = 0; i < view.shape.size(); ++i) last += (view.shape[i] - 1) * view.strides[i];
  const std::int64_t size = SizeOf(view.dtype);
  if (view.num_elements() == 0) return {command, address.device, 0, 0, writes};
  return {command,
          address.device,
          address.offset + view.offset * size,
          address.offset + (last + 1) * size,
          writes};
}

std::vector<Access> AccessesOf(const ExecutionPlan& plan) {
  std::vector<Access> accesses;
  for (int c = 0; c < static_cast<int>(plan.commands.size()); ++c) {
    const PlanCommand& command = plan.commands[c];
    if (command.type == PlanCommand::Type::kCopy) {
      if (command.bytes == 0) continue;
      accesses.push_back(AccessOf(c, command.source, command.layout, false));
      const TensorView packed = ContiguousView(command.layout.dtype, command.layout.shape);
      for (const Address& to : command.destinations) {
        accesses.push_back(AccessOf(c, to, packed, true));
      }
      continue;
    }
    const CompiledOp& op = plan.ops[command.op];
    for (const KernelCall& call : op.work.calls) {
      for (const Argument& a : call.inputs) {
        accesses.push_back(
            AccessOf(c, (a.is_output ? op.outputs : op.inputs).at(a.index), a.view, false));
      }
      for (const Argument& a : call.outputs) {
        accesses.push_back(
            AccessOf(c, (a.is_output ? op.outputs : op.inputs).at(a.index), a.view, true));
      }
    }
  }
  return accesses;
}

// The first two commands that touch the same bytes in no fixed order, or "".
std::string FindRace(const ExecutionPlan& plan) {
  std::vector<Access> accesses = AccessesOf(plan);
  std::erase_if(accesses, [](const Access& a) { return a.begin == a.end; });
  std::ranges::sort(accesses, {}, [](const Access& a) { return std::pair(a.device, a.begin); });
  const auto before = FinishedBefore(plan);
  std::vector<const Access*> open;
  for (const Access& a : accesses) {
    std::erase_if(open,
                  [&](const Access* b) { return b->device != a.device || b->end <= a.begin; });
    for (const Access* b : open) {
      if ((!a.writes && !b->writes) || a.command == b->command) continue;
      if (before[b->command][a.command] || before[a.command][b->command]) continue;
      return fmt::format("commands {} and {} touch byte {} of device {}",
                         a.command,
                         b->command,
                         a.begin,
                         a.device);
    }
    open.push_back(&a);
  }
  return "";
}

// Every access within its arena.
bool StaysInside(const ExecutionPlan& plan) {
  return std::ranges::all_of(AccessesOf(plan), [&](const Access& a) {
    const std::int64_t size =
        a.device == kStaging ? plan.staging_bytes : plan.arena_bytes[a.device];
    return a.begin == a.end || (a.begin >= 0 && a.end <= size);
  });
}

// Who owns the bytes: a storage of its own, or a received copy.
class Owners {
 public:
  Owners(const Graph& graph, const std::vector<DeviceIndex>& device_of_op)
      : graph_(graph), device_of_op_(device_of_op) {}

  struct Owner {
    std::string name;
    std::int64_t bytes = 0;  // that it holds [B]
  };

  Owner Of(int tensor, int device) const {
    const Tensor& t = graph_.tensor(tensor);
    const bool local = t.producer < 0 || device_of_op_[t.producer] == device;
    if (!local) return {fmt::format("copy of {} on {}", tensor, device), t.bytes};
    if (t.alias_of >= 0) return Of(t.alias_of, device);
    return {fmt::format("{} on {}", tensor, device), t.bytes};
  }

 private:
  const Graph& graph_;
  const std::vector<DeviceIndex>& device_of_op_;
};

// Runs the plan's commands in a random order that its streams and waits allow, writing the owner of
// every byte. @return the first reader that finds another owner's bytes, or ""
std::string FindWrongBytes(const Problem& problem,
                           const std::vector<DeviceIndex>& device_of_op,
                           const ExecutionPlan& plan,
                           Rng& rng) {
  const Graph& graph = problem.graph();
  const Owners owners(graph, device_of_op);
  std::map<int, std::vector<std::string>> memory;
  for (int d = 0; d < plan.num_devices; ++d) memory[d].resize(plan.arena_bytes[d]);
  memory[kStaging].resize(plan.staging_bytes);

  std::string wrong;
  const auto touch = [&](int command,
                         const Address& address,
                         const TensorView& view,
                         const Owners::Owner& owner,
                         bool writes) {
    Access access = AccessOf(command, address, view, writes);
    // Some random aliases are longer than what they share; nobody wrote what is behind it.
    if (!writes) access.end = std::min(access.end, address.offset + owner.bytes);
    for (std::int64_t i = access.begin; i < access.end; ++i) {
      std::string& found = memory[access.device].at(i);
      if (writes) {
        found = owner.name;
      } else if (found != owner.name && wrong.empty()) {
        wrong = fmt::format("command {} finds \"{}\" instead of \"{}\" at byte {} of device {}",
                            command,
                            found,
                            owner.name,
                            i,
                            access.device);
      }
    }
  };
  for (const InitialValue& value : plan.initial_values) {
    touch(-1,
          value.address,
          ContiguousView(DType::kBool, {value.bytes}),
          owners.Of(value.tensor, value.address.device),
          true);
  }
  const auto run = [&](int c) {
    const PlanCommand& command = plan.commands[c];
    const int home = device_of_op[command.op];
    if (command.type == PlanCommand::Type::kCopy) {
      if (command.bytes == 0) return;
      const auto rest = [&](int hop) {
        return Owners::Owner{fmt::format("{} at rest behind hop {}", command.tensor, hop),
                             command.bytes};
      };
      const auto source =
          command.hop == 0 ? owners.Of(command.tensor, home) : rest(command.hop - 1);
      touch(c, command.source, command.layout, source, false);
      const TensorView packed = ContiguousView(command.layout.dtype, command.layout.shape);
      for (const Address& to : command.destinations) {
        touch(c,
              to,
              packed,
              to.device == kStaging ? rest(command.hop) : owners.Of(command.tensor, to.device),
              true);
      }
      return;
    }
    const Op& op = graph.op(command.op);
    const CompiledOp& planned = plan.ops[command.op];
    const auto access = [&](const Argument& a, bool writes) {
      touch(c,
            (a.is_output ? planned.outputs : planned.inputs)[a.index],
            a.view,
            owners.Of((a.is_output ? op.outputs : op.inputs)[a.index], home),
            writes);
    };
    for (const KernelCall& call : planned.work.calls) {
      for (const Argument& a : call.inputs) access(a, false);
      for (const Argument& a : call.outputs) access(a, true);
    }
  };

  const auto streams = CommandsByStream(plan);
  std::vector<size_t> next(streams.size(), 0);
  std::vector<bool> done(plan.commands.size(), false);
  for (size_t count = 0; count < plan.commands.size();) {
    const int s = UniformInt(rng, static_cast<int>(streams.size()));
    if (next[s] == streams[s].size()) continue;
    const int c = streams[s][next[s]];
    if (!std::ranges::all_of(plan.commands[c].waits, [&](int w) { return done[w]; })) continue;
    run(c);
    done[c] = true;
    ++next[s];
    ++count;
  }
  return wrong;
}

std::vector<DeviceIndex> RandomDevices(Rng& rng, const Problem& problem) {
  return ExpandPlacement(RandomPlacement(rng, problem), problem.grouping());
}

// By id, or in any other issue order.
SimulatorOptions StreamInSomeOrder(Rng& rng, const Problem& problem) {
  SimulatorOptions options{.semantics = Semantics::kStream};
  if (UniformInt(rng, 2) == 1) options.issue_order = RandomIssueOrder(rng, problem.graph());
  return options;
}

TEST_CASE("per stream, commands stand in the order of the simulator's stream semantics") {
  Rng rng(11);
  for (int round = 0; round < 200 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem = RandomProblem(rng, Executable(rng));
    const auto devices = RandomDevices(rng, *problem);
    const SimulatorOptions options = StreamInSomeOrder(rng, *problem);
    const ExecutionPlan plan = CompilePlan(*problem, devices, options.issue_order);
    const Timeline timeline = SimulateReference(*problem, devices, options);

    using Key = std::tuple<bool, int, int, int>;  // is copy, op, tensor, hop
    std::vector<std::vector<Key>> expected(plan.num_streams()), found(plan.num_streams());
    for (const OpEvent& e : timeline.ops) expected[e.device].push_back({false, e.op, 0, 0});
    for (const TransferEvent& e : timeline.transfers) {
      expected[plan.num_devices + e.channel].push_back({true, e.producer, e.tensor, e.hop});
    }
    for (const PlanCommand& c : plan.commands) {
      const bool is_copy = c.type == PlanCommand::Type::kCopy;
      found[c.stream].push_back({is_copy, c.op, is_copy ? c.tensor : 0, c.hop});
    }
    CAPTURE(round);
    REQUIRE(found == expected);
  }
}

// The plain implementation counts memory by code of its own; the plan and the fast engine share
// StreamMemory.
TEST_CASE("a plan's peaks are those of the plain implementation of stream semantics") {
  Rng rng(12);
  for (int round = 0; round < 400 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem = RandomProblem(rng, Executable(rng));
    const auto devices = RandomDevices(rng, *problem);
    const SimulatorOptions options = StreamInSomeOrder(rng, *problem);
    const ExecutionPlan plan = CompilePlan(*problem, devices, options.issue_order);
    const Timeline timeline = SimulateReference(*problem, devices, options);
    CAPTURE(round);
    for (int d = 0; d < problem->num_devices(); ++d) {
      REQUIRE(plan.peak_bytes[d] == timeline.outcome.devices[d].peak);
    }
  }
}

TEST_CASE("in virtual time a plan takes what stream semantics says, command by command") {
  Rng rng(13);
  int exact = 0;
  const int rounds = 400 * EMPLACE_TEST_SCALE;
  for (int round = 0; round < rounds; ++round) {
    RandomProblemOptions options = Executable(rng);
    options.ties = round % 2 == 0;
    const auto problem = RandomProblem(rng, options);
    const auto devices = RandomDevices(rng, *problem);
    const SimulatorOptions stream = StreamInSomeOrder(rng, *problem);
    const auto plan =
        std::make_shared<ExecutionPlan>(CompilePlan(*problem, devices, stream.issue_order));
    const Timeline timeline = SimulateReference(*problem, devices, stream);
    const StepRecord step =
        MakeVirtualBackend(problem)->Load(plan, DispatchMode::kGraph)->Step(true);

    CAPTURE(round);
    if (plan->hazard_waits > 0) {  // which the simulator does not know; they only delay
      REQUIRE(step.step_time >= timeline.outcome.step_time);
      continue;
    }
    ++exact;
    REQUIRE(step.step_time == timeline.outcome.step_time);
    size_t op = 0, transfer = 0;
    for (size_t c = 0; c < plan->commands.size(); ++c) {
      if (plan->commands[c].type == PlanCommand::Type::kOp) {
        REQUIRE(step.start[c] == timeline.ops[op].start);
        REQUIRE(step.finish[c] == timeline.ops[op].finish);
        ++op;
      } else {
        REQUIRE(step.start[c] == timeline.transfers[transfer].start);
        REQUIRE(step.finish[c] == timeline.transfers[transfer].arrival);
        ++transfer;
      }
    }
  }
  CHECK(exact > rounds / 2);
}

TEST_CASE("no two commands touch the same bytes in no order") {
  Rng rng(14);
  for (int round = 0; round < 150 * EMPLACE_TEST_SCALE; ++round) {
    RandomProblemOptions options = Executable(rng);
    options.num_ops = 10 + UniformInt(rng, 50);
    const auto problem = RandomProblem(rng, options);
    const auto devices = RandomDevices(rng, *problem);
    const ExecutionPlan plan = CompilePlan(*problem, devices);
    CAPTURE(round);
    REQUIRE(FindRace(plan) == "");
    REQUIRE(StaysInside(plan));
    REQUIRE(FindWrongBytes(*problem, devices, plan, rng) == "");
  }
}

TEST_CASE("waits: of other streams, ascending, all dependencies covered, none of them implied") {
  Rng rng(15);
  for (int round = 0; round < 100 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem = RandomProblem(rng, Executable(rng));
    const Graph& graph = problem->graph();
    const auto devices = RandomDevices(rng, *problem);
    const ExecutionPlan plan = CompilePlan(*problem, devices);
    const auto before = FinishedBefore(plan);
    std::vector<int> command_of(graph.num_ops());
    std::vector<bool> awaited(plan.commands.size(), false);
    CAPTURE(round);
    for (int c = 0; c < static_cast<int>(plan.commands.size()); ++c) {
      const PlanCommand& command = plan.commands[c];
      if (command.type == PlanCommand::Type::kOp) command_of[command.op] = c;
      REQUIRE(std::ranges::is_sorted(command.waits, std::less_equal<>()));
      int previous = -1;
      for (int other = 0; other < c; ++other) {
        if (plan.commands[other].stream == command.stream) previous = other;
      }
      for (int wait : command.waits) {
        awaited[wait] = true;
        REQUIRE(plan.commands[wait].stream != command.stream);
        for (int other : command.waits) REQUIRE_FALSE(before[other][wait]);
        if (previous >= 0) REQUIRE_FALSE(before[previous][wait]);
      }
    }
    for (size_t c = 0; c < awaited.size(); ++c) {
      REQUIRE(plan.commands[c].is_awaited == awaited[c]);
    }
    for (int v = 0; v < graph.num_ops(); ++v) {
      for (int p : graph.predecessors(v)) REQUIRE(before[command_of[v]][command_of[p]]);
    }
  }
}

// Two devices d0, d1 with private channels; `w` a parameter op of 4 floats on d0.
struct SmallProblem : ProblemBuilder {
  SmallProblem() {
    Device("d0");
    Device("d1");
  }
  int Typed(const std::string& name, const std::string& kind, std::vector<int> inputs) {
    const int id = ProblemBuilder::Op(name, {10}, std::move(inputs), 16);
    op(id).kind = kind;
    output(id).shape = {4};
    output(id).dtype = "f32";
    return id;
  }
  std::shared_ptr<const Problem> Finish() {
    AllToAll(5, kGigabytePerSecond);
    return Build();
  }
};

TEST_CASE("an op that writes in place waits for copies of the old content") {
  // w crosses to d1 while relu_ overwrites it on d0; no edge of the graph orders the two.
  SmallProblem small;
  const int w = small.Typed("w", "parameter", {});
  const int remote = small.Typed("remote", "aten.relu", {w});
  const int in_place = small.Typed("in_place", "aten.relu", {w});
  small.output(w).role = TensorRole::kParameter;
  small.output(in_place).alias_of = small.op(w).outputs[0];
  small.output(remote).role = TensorRole::kOutput;
  const auto problem = small.Finish();
  const ExecutionPlan plan = CompilePlan(*problem, std::vector<DeviceIndex>{0, 1, 0});
  // commands: w, copy of w, remote, in_place
  REQUIRE(plan.commands.size() == 4);
  CHECK(plan.commands[3].op == in_place);
  CHECK(plan.commands[3].waits == std::vector<int>{1});
  CHECK(plan.hazard_waits == 1);
  CHECK(FindRace(plan) == "");
}

TEST_CASE("a view made on another device is a view of the copy there") {
  // x [2, 3] on d0; its transpose and the transpose's reader on d1.
  SmallProblem small;
  const int x = small.Typed("x", "aten.relu", {});
  const int t = small.Typed("t", "aten.t", {x});
  const int y = small.Typed("y", "aten.relu", {t});
  for (int op : {x, t, y}) small.output(op).bytes = 24;
  small.output(x).shape = {2, 3};
  small.output(t).shape = small.output(y).shape = {3, 2};
  small.output(t).alias_of = small.op(x).outputs[0];
  small.output(y).role = TensorRole::kOutput;
  const int in = small.Input("in", 24);
  small.op(x).inputs = {in};
  const auto problem = small.Finish();
  const ExecutionPlan plan = CompilePlan(*problem, std::vector<DeviceIndex>{0, 1, 1});
  REQUIRE(plan.commands.size() == 4);
  CHECK(plan.commands[1].type == PlanCommand::Type::kCopy);
  const Address received = plan.commands[1].destinations.at(0);
  CHECK(received.device == 1);
  CHECK(plan.ops[t].outputs.at(0) == received);
  CHECK(plan.ops[y].inputs.at(0) == received);
}

TEST_CASE("initial values: tensors without producer and storage, filled by dtype and role") {
  SmallProblem small;
  const int w = small.Typed("w", "parameter", {});
  const int m = small.Typed("m", "parameter", {});
  const int one = small.Typed("one", "constant", {});
  const int y = small.Typed("y", "aten.relu", {w});
  small.output(w).role = TensorRole::kParameter;
  small.output(m).role = TensorRole::kOptimizerState;
  small.output(one).shape = {};
  small.output(one).bytes = 4;
  const int tokens = small.Input("tokens", 64);
  small.op(y).inputs.push_back(tokens);
  small.op(m).inputs.push_back(tokens);
  const auto problem = small.Finish();
  const ExecutionPlan plan = CompilePlan(*problem, std::vector<DeviceIndex>{0, 1, 0, 0});
  std::map<std::pair<int, int>, InitialValue> by_place;  // (tensor, device)
  for (const auto& value : plan.initial_values) {
    by_place[{value.tensor, value.address.device}] = value;
  }
  using Fill = InitialValue::Fill;
  const auto out = [&](int op) { return problem->graph().op(op).outputs[0]; };
  CHECK(by_place.size() == 5);
  CHECK(by_place.at({out(w), 0}).fill == Fill::kRandom);
  CHECK(by_place.at({out(m), 1}).fill == Fill::kScalar);
  CHECK(by_place.at({out(one), 0}).fill == Fill::kScalar);
  CHECK(by_place.at({tokens, 0}).fill == Fill::kZero);  // of no dtype that a kernel knows
  CHECK(by_place.at({tokens, 1}).bytes == 64);
}

TEST_CASE("plans of committed graphs under random placements keep memory apart") {
  Rng rng(16);
  for (const char* name : {"gpt2_mini_torch", "resnet50_b1_torch"}) {
    const auto graph = std::make_shared<Graph>(
        ReadGraph(SourceDir() / "configs/graphs" / (std::string(name) + ".json.gz")));
    std::vector<DeviceKind> kinds(2);
    std::vector<Device> devices;
    for (int d = 0; d < 2; ++d) {
      kinds[d].name = fmt::format("kind{}", d);
      devices.push_back({fmt::format("cpu:{}", d), d});
    }
    const auto cluster = std::make_shared<Cluster>(
        "two",
        kinds,
        devices,
        std::vector<Channel>{{.name = "a", .latency = 100, .bandwidth = kGigabytePerSecond},
                             {.name = "b", .latency = 100, .bandwidth = kGigabytePerSecond}},
        std::vector<std::vector<int>>{{}, {0}, {1}, {}});
    Costs costs;
    costs.num_ops = graph->num_ops();
    costs.num_devices = 2;
    for (int i = 0; i < 2 * graph->num_ops(); ++i) costs.time.push_back(1 + UniformInt(rng, 1000));
    costs.source.assign(costs.time.size(), CostSource::kMeasured);
    costs.uncertainty.assign(costs.time.size(), 0.0f);
    const auto problem =
        std::make_shared<Problem>(graph, Grouping::Identity(graph->num_ops()), cluster, costs);
    const auto placement = RandomDevices(rng, *problem);
    const Timeline timeline = SimulateReference(*problem, placement, {Semantics::kStream});
    // On one device the arena is the simulated peak and little more.
    const ExecutionPlan alone =
        CompilePlan(*problem, std::vector<DeviceIndex>(graph->num_ops(), 0));
    CHECK(alone.arena_bytes[0] >= alone.peak_bytes[0]);
    CHECK(alone.arena_bytes[0] < alone.peak_bytes[0] * 1.01);
    CHECK(alone.arena_bytes[1] == 0);
    const ExecutionPlan plan = CompilePlan(*problem, placement);
    CAPTURE(graph->name());
    CHECK(FindRace(plan) == "");
    CHECK(StaysInside(plan));
    CHECK(plan.hazard_waits == 0);
    for (int d = 0; d < 2; ++d) {
      CHECK(plan.peak_bytes[d] == timeline.outcome.devices[d].peak);
    }
  }
}

TEST_CASE("errors name op and device") {
  ProblemBuilder builder;
  builder.Device("d0");
  builder.Device("d1", kUnlimitedMemory, 2);
  const int a = builder.Op("a", {1}, {}, 8);
  builder.Op("b", {1, kMaxNanos}, {a});
  builder.AllToAll(1, kGigabytePerSecond);
  const auto slots = builder.Build();
  CHECK(MessageOf<InputError>([&] {
          CompilePlan(*slots, std::vector<DeviceIndex>{0, 0});
        }) ==
        "cluster \"test_cluster\": device \"d1\" has 2 slots; a device that executes runs one op "
        "at a time, expected 1 slot");

  ProblemBuilder one_way;
  one_way.Device("d0");
  one_way.Device("d1");
  const int x = one_way.Op("x", {1}, {}, 8);
  const int y = one_way.Op("y", {1, kMaxNanos}, {x}, 8);
  const int z = one_way.Op("z", {1}, {}, 8);
  one_way.op(z).control_inputs = {y};
  one_way.output(z).alias_of = one_way.op(x).outputs[0];
  one_way.Route(0, 1, {one_way.Channel("k", 1, kGigabytePerSecond)});
  const auto problem = one_way.Build(Grouping::Identity(3), ProblemChecks::kPlacementOnly);
  const auto message = [&](std::vector<DeviceIndex> devices) {
    return MessageOf<InputError>([&] { CompilePlan(*problem, devices); });
  };
  CHECK(message({0, 1, 0}) == "placement: op \"y\" (test) may not run on device \"d1\"");
  CHECK(message({1, 0, 0}).find("no route from \"d1\" to \"d0\", which op \"x\" needs") !=
        std::string::npos);
  CHECK(message({0, 0, 1}) ==
        "placement: op \"z\" (test) on device \"d1\" makes an alias of tensor 0 \"x:0\" on device "
        "\"d0\" without reading it; place them together");
}

}  // namespace
