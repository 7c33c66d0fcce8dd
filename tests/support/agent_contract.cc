#include "tests/support/agent_contract.h"

#include <algorithm>
#include <stdexcept>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/error.h"
#include "simulator/simulator.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"
#include "tests/support/sanitizers.h"
#include "tests/support/states.h"

namespace emplace::testing {
namespace {

constexpr int kMaxSteps = 10'000;
constexpr std::int64_t kEvaluations = kUnderSanitizers ? 40 : 120;

std::unique_ptr<Agent> Make(const AgentEntry& entry,
                            std::shared_ptr<const Problem> problem,
                            std::uint64_t seed,
                            const std::string& settings) {
  return entry.make({std::move(problem), seed}, ConfigNode::FromString(settings, "contract"));
}

void CheckDeterminism(const AgentEntry& entry,
                      std::shared_ptr<const Problem> problem,
                      const std::string& settings) {
  const auto first = Make(entry, problem, 7, settings), second = Make(entry, problem, 7, settings);
  const SearchTrace a = RunAgent(*first, problem, kEvaluations);
  const SearchTrace b = RunAgent(*second, problem, kEvaluations, 3);
  CHECK(a.placements == b.placements);
  CHECK(a.states == b.states);
  CHECK_FALSE(a.placements.empty());
  const SearchTrace other = RunAgent(*Make(entry, problem, 8, settings), problem, kEvaluations);
  if (!entry.uses_seed) CHECK(a.placements == other.placements);
}

// A fresh agent of another seed, restored after `step` steps, goes on as the saved one did.
void CheckRestore(const AgentEntry& entry,
                  std::shared_ptr<const Problem> problem,
                  const std::string& settings) {
  const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
  for (const int step : {0, 1, 2, 4}) {
    CAPTURE(step);
    const auto original = Make(entry, problem, 7, settings);
    RecordingEvaluator evaluator(*simulator);
    for (int i = 0; i < step && !original->Finished(); ++i) original->Step(evaluator);
    const auto restored = Make(entry, problem, 8, settings);
    LoadFrom(*restored, Saved(*original));
    CHECK(Saved(*restored) == Saved(*original));
    CHECK(restored->Finished() == original->Finished());
    RecordingEvaluator a(*simulator), b(*simulator);
    for (int i = 0; i < 3; ++i) {
      if (!original->Finished()) original->Step(a);
      if (!restored->Finished()) restored->Step(b);
    }
    CHECK(a.placements() == b.placements());
    CHECK(Saved(*restored) == Saved(*original));
  }
}

void CheckRefusals(const AgentEntry& entry,
                   std::shared_ptr<const Problem> problem,
                   std::shared_ptr<const Problem> other,
                   const std::string& settings) {
  const auto agent = Make(entry, problem, 7, settings);
  RunAgent(*agent, problem, 1);
  const std::string state = Saved(*agent);
  const auto elsewhere = Make(entry, other, 7, settings);
  for (const std::string& text : {std::string("garbage"), state}) {
    CHECK_THROWS_AS(LoadFrom(*elsewhere, text), InputError);
  }
  for (int part = 0; part < 20; ++part) {
    CAPTURE(part);
    CHECK_THROWS_AS(LoadFrom(*agent, state.substr(0, state.size() * part / 20)), InputError);
  }
  const std::string cut = state.substr(0, state.rfind(' '));
  CHECK(MessageOf<InputError>([&] { LoadFrom(*agent, cut); }).find("agent state: ") == 0);

  const std::vector<FieldHelp> fields = entry.describe_settings();
  REQUIRE_FALSE(fields.empty());
  const std::string key = fields.front().key;
  const std::string message =
      MessageOf<InputError>([&] { Make(entry, problem, 7, fmt::format("{{{}x: 1}}", key)); });
  CAPTURE(message);
  CHECK(message.find("contract:1:") == 0);
  CHECK(message.find(key + "x") != std::string::npos);
  CHECK(message.find(fmt::format("did you mean \"{}\"", key)) != std::string::npos);
}

void CheckEnds(const AgentEntry& entry,
               std::shared_ptr<const Problem> problem,
               const std::string& settings) {
  for (const std::int64_t evaluations : {std::int64_t{1}, std::int64_t{40}}) {
    const auto agent = Make(entry, problem, 7, settings);
    const SearchTrace trace = RunAgent(*agent, problem, evaluations);
    CHECK(trace.placements.size() >= 1);
    CHECK(static_cast<std::int64_t>(trace.placements.size()) <= evaluations);
  }
}

/// One device; on a GPU, or on a CPU for an agent that wants one.
// The problem with the objective that the agent searches for.
std::shared_ptr<const Problem> ForAgent(const AgentEntry& entry,
                                        std::shared_ptr<const Problem> problem) {
  return entry.objective.has_value() ? WithObjective(*problem, *entry.objective) : problem;
}

std::shared_ptr<const Problem> OneDevice(const AgentEntry& entry, const std::string& settings) {
  for (const DeviceClass device_class : {DeviceClass::kGpu, DeviceClass::kCpu}) {
    ProblemBuilder builder;
    const int device = builder.Device("only");
    builder.kind(device).device_class = device_class;
    int last = builder.Op("first", {5});
    for (int i = 0; i < 6; ++i) last = builder.Op(fmt::format("op{}", i), {i}, {last}, 10);
    const auto problem = ForAgent(entry, builder.Build());
    try {
      Make(entry, problem, 1, settings);
      return problem;
    } catch (const InputError& error) {
      CHECK(std::string(error.what()).find("no device of class") != std::string::npos);
    }
  }
  FAIL("neither a GPU nor a CPU alone is enough for agent " << entry.name);
  return nullptr;
}

std::shared_ptr<const Problem> OneOp() {
  ProblemBuilder builder;
  builder.kind(builder.Device("cpu:0")).device_class = DeviceClass::kCpu;
  builder.Device("gpu:0");
  builder.AllToAll(1, kGigabytePerSecond);
  builder.Op("op0", {5, 3});
  return builder.Build();
}

std::shared_ptr<const Problem> OneGroup() {
  ProblemBuilder builder;
  builder.kind(builder.Device("cpu:0")).device_class = DeviceClass::kCpu;
  for (int d = 0; d < 2; ++d) builder.Device(fmt::format("gpu:{}", d));
  builder.AllToAll(1, kGigabytePerSecond);
  int last = builder.Op("op0", {5, 3, 3});
  for (int i = 1; i < 5; ++i) last = builder.Op(fmt::format("op{}", i), {4, 3, 2}, {last}, 10);
  return builder.Build(Grouping(std::vector<int>(5, 0)), ProblemChecks::kAll);
}

// A CPU and two equal GPUs, which an op tells apart, and a network device with ops of its own.
std::shared_ptr<const Problem> WithNetwork() {
  constexpr Nanos kNo = kMaxNanos;
  ProblemBuilder builder;
  builder.kind(builder.Device("cpu:0")).device_class = DeviceClass::kCpu;
  for (int d = 0; d < 2; ++d) builder.Device(fmt::format("gpu:{}", d));
  builder.kind(builder.Device("net:0")).device_class = DeviceClass::kNetwork;
  builder.AllToAll(1, kGigabytePerSecond);
  int last = builder.Op("first", {9, 5, 5, kNo}, {}, 10);
  for (int i = 0; i < 4; ++i) {
    const int work = builder.Op(fmt::format("work{}", i), {9, 4, 4, kNo}, {last}, 10);
    last = builder.Op(fmt::format("sum{}", i), {kNo, kNo, kNo, 3}, {work}, 10);
  }
  builder.Op("pinned", {kNo, kNo, 2, kNo}, {last}, 10);
  builder.Op("either", {kNo, 2, 2, 1}, {last}, 10);
  return builder.Build();
}

// Two ops that may run on one device each: there is one placement.
void CheckNoChoice(const AgentEntry& entry, const std::string& settings) {
  ProblemBuilder builder;
  builder.kind(builder.Device("cpu:0")).device_class = DeviceClass::kCpu;
  builder.Device("gpu:0");
  builder.AllToAll(1, kGigabytePerSecond);
  builder.Op("a", {kMaxNanos, 5});
  builder.Op("b", {5, kMaxNanos});
  const auto problem = ForAgent(entry, builder.Build());
  const auto agent = Make(entry, problem, 1, settings);
  CHECK_FALSE(agent->Finished());
  const SearchTrace trace = RunAgent(*agent, problem, 100);
  for (const Placement& placement : trace.placements) CHECK(placement == Placement{{1, 0}});
  CHECK((trace.finished || entry.name == "random"));  // which draws until the budget ends
  const auto restored = Make(entry, problem, 2, settings);
  LoadFrom(*restored, trace.states.back());
  CHECK(restored->Finished() == trace.finished);
}

}  // namespace

void RecordingEvaluator::Record(const Placement& placement) {
  REQUIRE(static_cast<int>(placement.device.size()) == problem().num_groups());
  for (int group = 0; group < problem().num_groups(); ++group) {
    const int device = placement.device[group];
    REQUIRE(device < problem().num_devices());
    REQUIRE(problem().allowed(group, device));
  }
  placements_.push_back(placement);
}

std::size_t RecordingEvaluator::Allowed(std::size_t size) const {
  return static_cast<std::size_t>(
      std::min<std::int64_t>(remaining(), static_cast<std::int64_t>(size)));
}

void RecordingEvaluator::Evaluate(std::span<const Placement> placements,
                                  std::span<Outcome> outcomes,
                                  const OutcomeDetail& detail) {
  for (std::size_t i = 0; i < Allowed(placements.size()); ++i) Record(placements[i]);
  inner_.Evaluate(placements, outcomes, detail);
}

void RecordingEvaluator::EvaluateRows(const PlacementRows& placements,
                                      const OutcomeColumns& outcomes) {
  for (std::size_t i = 0; i < Allowed(placements.num_placements); ++i) {
    Record({{placements.row(i), placements.row(i) + placements.num_groups}});
  }
  inner_.EvaluateRows(placements, outcomes);
}

void RecordingEvaluator::EvaluateNeighbors(const Neighbors& neighbors,
                                           const OutcomeColumns& outcomes) {
  for (std::size_t i = 0; i < Allowed(neighbors.size()); ++i) {
    Placement placement = neighbors.base;
    for (int m = neighbors.begin[i]; m < neighbors.begin[i + 1]; ++m) {
      placement.device[neighbors.moves[m].group] = neighbors.moves[m].device;
    }
    Record(placement);
  }
  inner_.EvaluateNeighbors(neighbors, outcomes);
}

SearchTrace RunAgent(Agent& agent,
                     std::shared_ptr<const Problem> problem,
                     std::int64_t evaluations,
                     int threads) {
  const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {.threads = threads});
  MeteredEvaluator metered(*simulator, {.evaluations = evaluations});
  RecordingEvaluator recording(metered);
  SearchTrace trace;
  int steps = 0;
  try {
    for (; !agent.Finished() && steps < kMaxSteps; ++steps) {
      agent.Step(recording);
      trace.states.push_back(Saved(agent));
    }
    trace.finished = true;
  } catch (const BudgetExhausted&) {
  }
  const auto evaluated = metered.records().size();
  if (evaluated == 0)
    throw std::runtime_error(fmt::format("{} steps without an evaluation", steps));
  if (steps == kMaxSteps) {
    throw std::runtime_error(fmt::format(
        "{} steps with {} of {} evaluations, and Finished() is false after each: a step "
        "evaluates at least one placement or brings the end nearer",
        steps,
        evaluated,
        evaluations));
  }
  trace.placements = recording.placements();
  trace.best = *metered.best();
  return trace;
}

std::shared_ptr<const Problem> MixedProblem(Rng& rng,
                                            int num_ops,
                                            int num_gpus,
                                            std::int64_t memory) {
  ProblemBuilder builder;
  builder.kind(builder.Device("cpu:0", memory)).device_class = DeviceClass::kCpu;
  for (int d = 0; d < num_gpus; ++d) builder.Device(fmt::format("gpu:{}", d), memory);
  builder.AllToAll(3, kGigabytePerSecond);
  std::vector<int> labels;
  std::vector<std::uint64_t> forbidden(num_ops, 0);
  for (std::uint64_t& mask : forbidden) {
    const int choice = UniformInt(rng, 10);
    if (choice == 0) mask = ~std::uint64_t{1};                                 // CPU only
    if (choice == 1) mask = ~(std::uint64_t{2} << UniformInt(rng, num_gpus));  // one GPU only
    if (choice == 2) mask = 1;                                                 // not on the CPU
  }
  for (int v = 0; v < num_ops; ++v) {
    labels.push_back(UniformInt(rng, (num_ops + 1) / 2));
    std::vector<int> inputs;
    for (int i = UniformInt(rng, 3); i > 0 && v > 0; --i) inputs.push_back(UniformInt(rng, v));
    const int size = UniformInt(rng, 4) == 0 ? 0 : 10 + UniformInt(rng, 40);
    std::vector<Nanos> costs{10 * size};
    for (int d = 0; d < num_gpus; ++d) costs.push_back(size + size * d / 4);
    for (int d = 0; d <= num_gpus; ++d) {
      if (forbidden[labels[v]] >> d & 1) costs[d] = kMaxNanos;
    }
    const int op = builder.Op(fmt::format("op{}", v), costs, inputs, UniformInt(rng, 50));
    if (UniformInt(rng, 5) == 0) builder.output(op).role = TensorRole::kParameter;
  }
  return builder.Build(Grouping(labels), ProblemChecks::kPlacementOnly);
}

void CheckAgentContract(const AgentEntry& entry, const std::string& settings) {
  INFO("agent ", entry.name);
  Rng rng(1);
  const auto of_entry = [&](std::shared_ptr<const Problem> problem) {
    return ForAgent(entry, std::move(problem));
  };
  const auto mixed = of_entry(MixedProblem(rng, 40, 3, 600));
  CheckDeterminism(entry, mixed, settings);
  CheckRestore(entry, mixed, settings);
  CheckRefusals(entry, mixed, of_entry(MixedProblem(rng, 40, 3, 600)), settings);
  for (int trial = 0; trial < 5; ++trial) {
    const auto random = MixedProblem(rng, 1 + UniformInt(rng, 60), 1 + UniformInt(rng, 5), 1000);
    CheckEnds(entry, of_entry(random), settings);
  }
  CheckNoChoice(entry, settings);
  CheckEnds(entry, OneDevice(entry, settings), settings);
  CheckEnds(entry, of_entry(OneOp()), settings);
  CheckEnds(entry, of_entry(OneGroup()), settings);
  CheckEnds(entry, of_entry(WithNetwork()), settings);
  const auto infeasible = of_entry(MixedProblem(rng, 30, 2, 1));
  CheckEnds(entry, infeasible, settings);
  CheckDeterminism(entry, infeasible, settings);
  CHECK_FALSE(
      RunAgent(*Make(entry, infeasible, 3, settings), infeasible, 50).best.outcome.feasible);
}

}  // namespace emplace::testing
