#include "experiments/run/search_run.h"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "framework/base/error.h"
#include "framework/search/replicated_search.h"
#include "framework/search/state.h"
#include "simulator/gpu/gpu_simulator.h"
#include "tests/experiments/layered_graph.h"
#include "tests/support/problems.h"
#include "tests/support/text.h"
#include "tests/support/thread_ranks.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("a search on a GPU finds what it finds without, or says why there is none") {
  const auto problem = LayeredProblem(20);
  AgentSpec spec;
  spec.label = "random";
  spec.entry = &AllAgents().Find("random", "test");
  const SimulatorOptions stream{.semantics = Semantics::kStream};
  const Budget budget{.evaluations = 50};
  const SearchResult without = RunSearch(problem, stream, spec, 1, budget);
  REQUIRE(without.best);
  const SearchResult on_gpu = RunSearch(problem, stream, spec, 1, budget, nullptr, {}, 0);
  const std::string reason = WhyNoGpu(0);
  if (!reason.empty()) {
    CHECK(on_gpu.status == SearchStatus::kFailed);
    CHECK(on_gpu.error == reason);
    CHECK(!on_gpu.best);
    return;
  }
  REQUIRE(on_gpu.best);
  CHECK(on_gpu.best->placement == without.best->placement);
  CHECK(on_gpu.best->outcome.step_time == without.best->outcome.step_time);
}

// Proves 10 ns more in each step.
class Prover final : public Agent {
 public:
  explicit Prover(const AgentContext& context) : num_groups_(context.problem->num_groups()) {}
  void Step(Evaluator& evaluator) override {
    evaluator.Evaluate(Placement{std::vector<DeviceIndex>(num_groups_, 1)});
    bound_ += 10;
  }
  Nanos bound() const override { return bound_; }
  void VisitState(StateVisitor& v) override { v.Int("a bound", bound_); }

 private:
  int num_groups_;
  Nanos bound_ = 0;
};

AgentEntry ProverEntry() {
  AgentEntry entry;
  entry.name = "prover";
  entry.make = [](const AgentContext& context, const ConfigNode&) {
    return std::make_unique<Prover>(context);
  };
  return entry;
}

TEST_CASE("what an agent proves is part of the result, and survives a checkpoint") {
  const auto problem = LayeredProblem(5);
  const AgentEntry entry = ProverEntry();
  const AgentSpec spec{.label = "mine", .entry = &entry, .settings = {}};
  const SearchResult whole = RunSearch(problem, {}, spec, 0, {.steps = 3});
  CHECK(whole.error == "");
  CHECK(whole.bound == 30);
  CHECK(FittingTime(whole) == whole.best->outcome.step_time);
  SearchResult earlier = whole;
  earlier.checkpoint = "30";
  CHECK(RunSearch(problem, {}, spec, 0, {.steps = 3}, &earlier).bound == 30);  // nothing left to do
  CHECK(RunSearch(problem, {}, spec, 0, {.steps = 5}, &earlier).bound == 50);
  // A step that the budget cuts off has proven nothing.
  CHECK(RunSearch(problem, {}, spec, 0, {.evaluations = 2}).bound == 20);
  CHECK(RunSearch(problem, {}, spec, 0, {.evaluations = 0}).bound == 0);
}

TEST_CASE("who watches a search sees every step and can end it") {
  const auto problem = LayeredProblem(5);
  const AgentEntry entry = ProverEntry();
  const AgentSpec spec{.label = "mine", .entry = &entry, .settings = {}};
  std::vector<std::int64_t> evaluations;
  std::vector<Nanos> bounds;
  std::optional<SearchStatus> ended;
  std::int64_t most = 100;
  const Observers observers{.watch = [&](const SearchMoment& moment) {
    CHECK(moment.label == "mine.seed4");
    CHECK(moment.seed == 4);
    CHECK(moment.steps == moment.evaluations);
    CHECK(moment.step_time);
    CHECK(moment.updates == nullptr);
    evaluations.push_back(moment.evaluations);
    bounds.push_back(moment.bound);
    ended = moment.ended;
    return moment.evaluations < most;
  }};
  // Before the second and the third step, and after the end.
  const SearchResult whole = RunSearch(problem, {}, spec, 4, {.steps = 3}, nullptr, observers);
  CHECK(evaluations == std::vector<std::int64_t>{1, 2, 3});
  CHECK(bounds == std::vector<Nanos>{10, 20, 30});
  CHECK(ended == SearchStatus::kBudget);
  CHECK(whole.status == SearchStatus::kBudget);

  // Stopped before the third step, the search keeps what it needs to resume.
  most = 2;
  const SearchResult part = RunSearch(problem, {}, spec, 4, {.steps = 3}, nullptr, observers);
  CHECK(part.status == SearchStatus::kStopped);
  CHECK(ended == SearchStatus::kStopped);
  CHECK(part.records.size() == 2);
  const SearchResult resumed = RunSearch(problem, {}, spec, 4, {.steps = 3}, &part);
  CHECK(resumed.status == SearchStatus::kBudget);
  CHECK(resumed.bound == 30);
  CHECK(resumed.records.size() == 3);

  for (const bool at_end : {false, true}) {
    const Observers throws{.watch = [&](const SearchMoment& moment) -> bool {
      if (moment.ended.has_value() == at_end) throw std::runtime_error("no space left");
      return true;
    }};
    const SearchResult failed = RunSearch(problem, {}, spec, 4, {.steps = 3}, nullptr, throws);
    CHECK(failed.status == SearchStatus::kFailed);
    CHECK(failed.error == "no space left");
  }
}

struct RankProblem {
  std::shared_ptr<const Problem> problem;
  SimulatorOptions how = {.semantics = Semantics::kStream};
};

// Returns the RunError of each of two ranks that search together; "" for none.
std::vector<std::string> ErrorsOfRanks(const RankProblem& first, const RankProblem& second) {
  const AgentSpec spec{
      .label = "random", .entry = &AllAgents().Find("random", "test"), .settings = {}};
  std::vector<std::string> errors(2);
  RunThreadRanks(2, [&](Communicator& ranks) {
    ReplicatedSearch replicated(ranks);
    const RankProblem& mine = ranks.rank() == 0 ? first : second;
    try {
      RunSearch(mine.problem, mine.how, spec, 1, {.evaluations = 4}, nullptr, {}, {}, &replicated);
    } catch (const RunError& error) {
      errors[ranks.rank()] = error.what();
    }
  });
  return errors;
}

TEST_CASE("ranks that do not search the same problem end before the search") {
  const auto two_ops = [](Nanos cost, std::int64_t bytes, Nanos latency) {
    ProblemBuilder builder = Gpus(2, latency);
    const int a = builder.Op("a", {cost, 5}, {}, bytes);
    builder.Op("b", {5}, {a});
    return builder;
  };
  const ProblemBuilder builder = two_ops(5, 8, 1);
  const auto problem = builder.Build();
  CHECK(ErrorsOfRanks({problem}, {builder.Build()}) == std::vector<std::string>(2));

  const std::vector<std::pair<std::string, RankProblem>> others = {
      {"costs", {two_ops(6, 8, 1).Build()}},
      {"graph", {two_ops(5, 9, 1).Build()}},
      {"cluster", {two_ops(5, 8, 2).Build()}},
      {"groups", {builder.Build(Grouping(std::vector<int>{0, 0}))}},
      {"objective", {WithObjective(*problem, Objective::kPeriod)}},
      {"semantics", {problem, {.semantics = Semantics::kQueue}}},
      {"order", {problem, {.semantics = Semantics::kStream, .order_may_change = true}}}};
  for (const auto& [part, other] : others) {
    CAPTURE(part);
    const std::vector<std::string> errors = ErrorsOfRanks({problem}, other);
    CAPTURE(errors[0]);
    CHECK(errors[0] == errors[1]);
    CHECK(errors[0].starts_with("ranks diverged at meeting 1: rank 0 begins (0, checksum "));
    CHECK(Contains(errors[0], "), rank 1 begins (0, checksum "));
    CHECK(errors[0].ends_with("); they must run the same program on the same files"));
  }
}

TEST_CASE("the time of a result that fits") {
  SearchResult result;
  CHECK_FALSE(FittingTime(result));
  result.best.emplace();
  result.best->outcome.step_time = 7;
  CHECK(FittingTime(result) == 7);
  result.best->outcome.feasible = false;
  CHECK_FALSE(FittingTime(result));
}

// a -> b, the CPU, a slow GPU and a fast one: 100 + 100, 60 + 60 and 20 + 20 ns.
ProblemBuilder SlowAndFastGpu(std::int64_t memory_of_fast = kUnlimitedMemory) {
  ProblemBuilder builder;
  builder.Device("cpu:0");
  builder.Device("gpu:0");
  builder.Device("gpu:2", memory_of_fast);
  builder.kind(0).device_class = DeviceClass::kCpu;
  builder.kind(1).device_class = builder.kind(2).device_class = DeviceClass::kGpu;
  const int a = builder.Op("a", {100, 60, 20}, {}, 8);
  builder.Op("b", {100, 60, 20}, {a}, 8);
  builder.AllToAll(7, kGigabytePerSecond);
  return builder;
}

TEST_CASE("the best single device is the fastest that fits, whatever its class and place") {
  const auto fast = BestSingleDevice(SlowAndFastGpu().Build(), {});
  REQUIRE(fast);
  CHECK(fast->device == "gpu:2");
  CHECK(fast->step_time == 40);                                       // 20 + 20, nothing is sent
  const auto slow = BestSingleDevice(SlowAndFastGpu(8).Build(), {});  // b needs 16 B: a's 8, its 8
  REQUIRE(slow);
  CHECK(slow->device == "gpu:0");
  CHECK(slow->step_time == 120);
}

TEST_CASE("groups that may not run on the single device are elsewhere") {
  ProblemBuilder builder = SlowAndFastGpu();
  builder.Op("c", {50, kMaxNanos, kMaxNanos}, {1});
  // On the CPU 250; on gpu:2 40, then 8 B to the CPU in 7 + 8, then 50; on gpu:0 120 + 15 + 50.
  const auto best = BestSingleDevice(builder.Build(), {});
  REQUIRE(best);
  CHECK(best->device == "gpu:2");
  CHECK(best->step_time == 105);
}

TEST_CASE("CPUs alone have a best single device, equal ones the first") {
  ProblemBuilder builder;
  for (const char* name : {"cpu:0", "cpu:1", "cpu:2"}) {
    builder.kind(builder.Device(name)).device_class = DeviceClass::kCpu;
  }
  builder.Op("a", {30, 20, 20});
  builder.AllToAll(1, kGigabytePerSecond);
  const auto best = BestSingleDevice(builder.Build(), {});
  REQUIRE(best);
  CHECK(best->device == "cpu:1");
  CHECK(best->step_time == 20);
}

TEST_CASE("the best single device is no network device") {
  ProblemBuilder builder;
  builder.kind(builder.Device("net:0")).device_class = DeviceClass::kNetwork;
  builder.Device("gpu:0");
  builder.Device("gpu:1");
  builder.AllToAll(1, kGigabytePerSecond);
  builder.Op("a", {kMaxNanos, 30, 20});
  builder.Op("sum", {5, kMaxNanos, kMaxNanos}, {0});
  const auto best = BestSingleDevice(builder.Build(), {});
  REQUIRE(best);
  CHECK(best->device == "gpu:1");
}

TEST_CASE("no single device holds what two hold together") {
  ProblemBuilder builder;
  builder.Device("gpu:0", 10);
  builder.Device("gpu:1", 10);
  for (const char* name : {"a", "b"}) {  // 8 B each that stay for the whole step
    const int op = builder.Op(name, {5, 5}, {}, 8);
    builder.output(op).role = TensorRole::kParameter;
  }
  builder.AllToAll(1, kGigabytePerSecond);
  CHECK_FALSE(BestSingleDevice(builder.Build(), {}));
}

TEST_CASE("of interchangeable devices the first is simulated for all") {
  ProblemBuilder builder = Gpus(4);
  const int a = builder.Op("a", {9}, {}, 8);
  builder.Op("b", {9}, {a});
  const auto best = BestSingleDevice(WithEqualKinds(*builder.Build()), {});
  REQUIRE(best);
  CHECK(best->device == "gpu:0");
  CHECK(best->step_time == 18);
}

}  // namespace
