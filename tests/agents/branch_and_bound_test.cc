#include "agents/branch_and_bound/branch_and_bound.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/branch_and_bound/partial_load.h"
#include "framework/base/error.h"
#include "framework/cluster/symmetry.h"
#include "framework/cost/costs.h"
#include "framework/search/meter.h"
#include "tests/simulator/simulate.h"
#include "tests/support/paths.h"
#include "tests/support/sanitizers.h"
#include "tests/support/states.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

using Devices = std::vector<DeviceIndex>;

Score BestOfEvery(Evaluator& evaluator) {
  const auto n = static_cast<std::size_t>(evaluator.problem().num_groups());
  Devices rows;
  for (const Placement& placement : AllPlacements(evaluator.problem())) {
    rows.insert(rows.end(), placement.device.begin(), placement.device.end());
  }
  const std::size_t count = rows.size() / n;
  std::vector<Nanos> step_time(count);
  std::vector<std::int64_t> deficit(count);
  evaluator.EvaluateRows({rows.data(), count, n}, {step_time, deficit, {}, {}});
  Score best{deficit[0], step_time[0]};
  for (std::size_t i = 1; i < count; ++i) best = std::min(best, Score{deficit[i], step_time[i]});
  return best;
}

// Small steps, so that there are many.
BranchAndBoundConfig SmallSteps(Rng& rng) {
  BranchAndBoundConfig config;
  config.start = {"single"};
  config.climb = 32 * UniformInt(rng, 2);
  config.bound_cost = 1 + UniformInt(rng, 40);
  config.batch = 1 + UniformInt(rng, 40);
  config.most_open = UniformInt(rng, 2) == 0 ? 1 + UniformInt(rng, 8) : 1000;
  return config;
}

// Runs the agent to its end and holds it against `best` on the way. @return evaluations
std::int64_t CheckProof(std::shared_ptr<const Problem> problem,
                        Evaluator& evaluator,
                        const BranchAndBoundConfig& config,
                        const Score& best) {
  BranchAndBoundAgent agent({problem, 1}, config);
  MeteredEvaluator metered(evaluator, {});
  Nanos bound = agent.bound();
  REQUIRE(bound == 0);
  while (!agent.Finished()) {
    agent.Step(metered);
    REQUIRE(agent.bound() >= bound);
    bound = agent.bound();
    if (best.deficit == 0) REQUIRE(bound <= best.step_time);
  }
  REQUIRE(ScoreOf(metered.best()->outcome) == best);
  if (best.deficit == 0) REQUIRE(bound == best.step_time);
  return static_cast<std::int64_t>(metered.records().size());
}

// At most about 4,000 placements, most groups with more than one op.
std::shared_ptr<const Problem> FewPlacements(Rng& rng, Objective objective) {
  RandomProblemOptions options;
  options.num_devices = 2 + UniformInt(rng, 3);
  options.num_ops = 3 + UniformInt(rng, 16);
  options.ties = UniformInt(rng, 4) > 0;
  const auto problem = RandomProblem(rng, options);
  const int most_groups = options.num_devices == 2 ? 9 : options.num_devices == 3 ? 7 : 6;
  std::vector<int> label(options.num_ops);
  for (int& l : label) l = UniformInt(rng, most_groups);
  return std::make_shared<Problem>(std::make_shared<Graph>(problem->graph()),
                                   Grouping(label),
                                   std::make_shared<Cluster>(problem->cluster()),
                                   problem->costs(),
                                   objective,
                                   ProblemChecks::kPlacementOnly);
}

TEST_CASE("the best of all placements is found and proved, in every semantics") {
  for (const SimulatorOptions& options : EverySemantics()) {
    Rng rng(17);
    int infeasible = 0;
    for (int i = 0; i < 700 * EMPLACE_TEST_SCALE / kSanitizerDivisor; ++i) {
      CAPTURE(i);
      const auto problem = FewPlacements(rng, Objective::kStepTime);
      const auto simulator = MakeSimulator(problem, options);
      const Score best = BestOfEvery(*simulator);
      infeasible += best.deficit > 0;
      CheckProof(problem, *simulator, SmallSteps(rng), best);
    }
    CHECK(infeasible > 5 / kSanitizerDivisor);
  }
}

TEST_CASE("a device with a neighbour is not exchanged for one without") {
  ProblemBuilder b = Gpus(3);
  const std::vector<Interference> figures(3, {.sensitivity = 1024, .pressure = 1024});
  for (const char* name : {"a", "b"}) b.Interfere(b.Op(name, {10}), figures);
  b.Share(0, 1);
  const auto problem = b.Build();
  const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kInterference});
  // On gpu:0 and gpu:1 both run at half of their rates until 20; with gpu:2 both end at 10.
  CHECK(simulator->Evaluate(Placement{{0, 1}}).step_time == 20);
  const Score best = BestOfEvery(*simulator);
  CHECK(best.step_time == 10);
  CheckProof(problem, *simulator, {.start = {"single"}, .climb = 0}, best);
}

TEST_CASE("the least period is found and proved") {
  Rng rng(18);
  for (int i = 0; i < 500 * EMPLACE_TEST_SCALE / kSanitizerDivisor; ++i) {
    CAPTURE(i);
    const auto problem = FewPlacements(rng, Objective::kPeriod);
    const auto simulator = MakeSimulator(problem, {});
    CheckProof(problem, *simulator, SmallSteps(rng), BestOfEvery(*simulator));
  }
}

// Equal devices, and sometimes a CPU, wired in ways in which some are interchangeable.
std::shared_ptr<const Problem> SymmetricProblem(Rng& rng, Objective objective) {
  const auto chance = [&](int one_in) { return UniformInt(rng, one_in) == 0; };
  ProblemBuilder b;
  const int num_gpus = 2 + UniformInt(rng, 3);
  const bool cpu = num_gpus < 4 && chance(2);
  const int n = num_gpus + cpu;
  const std::int64_t memory = chance(3) ? 100 + UniformInt(rng, 300) : kUnlimitedMemory;
  const int slots = 1 + chance(4);
  const Nanos gap = UniformInt(rng, 2), issue = chance(3), launch = UniformInt(rng, 2);
  const bool pays = !chance(4);
  if (cpu) b.Device("cpu:0");
  for (int d = cpu; d < n; ++d) {
    b.kind(b.Device(fmt::format("gpu:{}", d - cpu), memory, slots)).gap = gap;
    b.kind(d).issue = issue;
    b.kind(d).launch = launch;
    b.kind(d).pays_transfers = pays;
  }
  const int wiring = UniformInt(rng, 5);
  const Bandwidth bandwidth{300'000'000LL * (1 + UniformInt(rng, 10)), 1};
  const Nanos latency = UniformInt(rng, 4);
  const auto channel = [&](const std::string& name) {
    const int k = b.Channel(name, latency, bandwidth, UniformInt(rng, 1));
    return k;
  };
  if (wiring == 0) {  // one bus for all
    const int bus = channel("bus");
    for (int from = 0; from < n; ++from) {
      for (int to = 0; to < n; ++to) {
        if (from != to) b.Route(from, to, {bus});
      }
    }
  } else if (wiring == 1) {  // out of one device, into another
    const Occupies out = chance(2) ? Occupies::kSource : Occupies::kNone;
    const Occupies in = chance(2) ? Occupies::kDestination : Occupies::kNone;
    const bool broadcast = chance(2);
    std::vector<int> outs, ins;
    for (int d = 0; d < n; ++d) {
      outs.push_back(channel(fmt::format("out{}", d)));
      ins.push_back(channel(fmt::format("in{}", d)));
      b.channel(outs[d]).occupies = out;
      b.channel(outs[d]).broadcast = broadcast;
      b.channel(ins[d]).occupies = in;
    }
    for (int from = 0; from < n; ++from) {
      for (int to = 0; to < n; ++to) {
        if (from != to) b.Route(from, to, {outs[from], ins[to]});
      }
    }
  } else if (wiring == 2) {  // pairs of devices, with a bus between the pairs
    const int between = channel("between"), first = channel("first"), second = channel("second");
    for (int from = cpu; from < n; ++from) {
      for (int to = cpu; to < n; ++to) {
        if (from == to) continue;
        const bool low = from - cpu < 2;
        b.Route(from, to, {low != (to - cpu < 2) ? between : low ? first : second});
      }
    }
  } else if (wiring == 3) {
    b.EgressBus(latency, bandwidth, 0, chance(2));
  }
  b.AllToAll(latency, bandwidth, UniformInt(rng, 2));
  const int num_ops = 3 + UniformInt(rng, 12);
  const int shunned = chance(3) ? cpu + UniformInt(rng, n - cpu) : -1;  // by ops that name others
  std::vector<int> label;
  for (int v = 0; v < num_ops; ++v) {
    std::vector<Nanos> costs;
    if (cpu) costs.push_back(UniformInt(rng, 30));
    const Nanos cost = UniformInt(rng, 12);
    while (static_cast<int>(costs.size()) < n) costs.push_back(cost);
    if (shunned >= 0 && chance(4)) costs[shunned] = kMaxNanos;
    std::vector<int> inputs;
    for (int i = UniformInt(rng, 3); i > 0 && v > 0; --i) {
      inputs.push_back(std::max(0, v - 1 - UniformInt(rng, 6)));
    }
    b.Op(fmt::format("op{}", v), costs, inputs, UniformInt(rng, 60));
    if (chance(6)) b.output(v).role = TensorRole::kParameter;
    if (v > 0 && chance(5)) b.op(v).control_inputs = {UniformInt(rng, v)};
    label.push_back(UniformInt(rng, n == 2 ? 9 : n == 3 ? 7 : 6));
  }
  const auto problem = b.Build(Grouping(label), ProblemChecks::kPlacementOnly);
  return WithObjective(*problem, objective);
}

TEST_CASE("symmetric devices: the best of all placements, with fewer of them evaluated") {
  for (const Objective objective : {Objective::kStepTime, Objective::kPeriod}) {
    for (const SimulatorOptions& options : EverySemantics()) {
      Rng rng(19);
      std::int64_t evaluated = 0, placements = 0;
      for (int i = 0; i < 700 * EMPLACE_TEST_SCALE / kSanitizerDivisor; ++i) {
        CAPTURE(i);
        const auto problem = SymmetricProblem(rng, objective);
        const auto simulator = MakeSimulator(problem, options);
        evaluated += CheckProof(problem, *simulator, SmallSteps(rng), BestOfEvery(*simulator));
        placements += std::ssize(AllPlacements(*problem));
      }
      CHECK(evaluated < placements / 4);
    }
  }
}

// framework/cluster/symmetry.h, which cannot simulate.
TEST_CASE(
    "images of a placement under symmetries are alike, or the order of destinations matters") {
  for (const SimulatorOptions& options : EverySemantics()) {
    Rng rng(20);
    int same = 0, other = 0;
    for (int i = 0; i < 2000 * EMPLACE_TEST_SCALE; ++i) {
      CAPTURE(i);
      const auto problem = SymmetricProblem(rng, Objective::kStepTime);
      const Cluster& cluster = problem->cluster();
      const auto simulator = MakeSimulator(problem, options);
      const Placement placement = RandomPlacement(rng, *problem);
      const Outcome outcome = simulator->Evaluate(placement);
      const std::vector<int> label = DevicesOfEqualCosts(problem->costs());
      for (const DevicePermutation& image : Symmetries(cluster, label, 100)) {
        bool turned = false;
        for (const GroupItem& item : GroupItems(*problem)) {
          const int from = placement.device[item.maker];
          for (int g : item.readers) {
            for (int h : item.readers) {
              const int a = placement.device[g], b = placement.device[h];
              turned = turned || (a < b && a != from && b != from && image[a] > image[b] &&
                                  OrderMatters(cluster, from, a, b));
            }
          }
        }
        Placement mapped = placement;
        for (DeviceIndex& d : mapped.device) d = static_cast<DeviceIndex>(image[d]);
        const Outcome mapped_outcome = simulator->Evaluate(mapped);
        if (turned) {
          other += mapped_outcome.step_time != outcome.step_time;
          continue;
        }
        ++same;
        REQUIRE(mapped_outcome.step_time == outcome.step_time);
        REQUIRE(mapped_outcome.deficit() == outcome.deficit());
      }
    }
    CHECK(same > 1000);
    CHECK(other > 10);  // it does matter
  }
}

TEST_CASE("partial load: what is fixed, with the transfers between, and the work of all") {
  ProblemBuilder b = Gpus(3);  // 1 B/ns after 1 ns
  const int a = b.Op("a", {10}, {}, 6);
  b.Op("x", {5}, {a}, 20);
  b.Op("y", {7}, {a});
  b.Op("z", {8}, {a});
  const auto problem = WithObjective(*b.Build(), Objective::kPeriod);
  PartialLoad load(*problem);
  const auto of = [&](std::vector<std::uint64_t> masks) { return load(masks); };
  CHECK(of({7, 7, 7, 7}) == 10);  // 30 / 3
  CHECK(of({1, 7, 7, 7}) == 10);
  CHECK(of({1, 2, 7, 7}) == 10 + (1 + 6));   // the item leaves once, x pays 7 as well
  CHECK(of({1, 2, 4, 7}) == 10 + (1 + 6));   // two destinations count as the dearest
  CHECK(of({7, 2, 2, 2}) == 5 + 7 + 8);      // a is not fixed
  CHECK(of({1, 2, 2, 2}) == 5 + 7 + 8 + 7);  // it comes once for all three
}

TEST_CASE("no period within the masks is shorter than the partial load") {
  Rng rng(21);
  for (int i = 0; i < 1000 * EMPLACE_TEST_SCALE / kSanitizerDivisor; ++i) {
    const auto problem = FewPlacements(rng, Objective::kPeriod);
    const Placement placement = RandomPlacement(rng, *problem);
    const Nanos period = MakeSimulator(problem, {})->Evaluate(placement).step_time;
    std::vector<std::uint64_t> masks;
    for (int g = 0; g < problem->num_groups(); ++g) {
      masks.push_back(UniformInt(rng, 3) == 0 ? problem->allowed_devices(g)
                                              : std::uint64_t{1} << placement.device[g]);
    }
    REQUIRE(PartialLoad(*problem)(masks) <= period);
    // All fixed, it is the period.
    for (int g = 0; g < problem->num_groups(); ++g) {
      masks[g] = std::uint64_t{1} << placement.device[g];
    }
    REQUIRE(PartialLoad(*problem)(masks) == period);
  }
}

std::shared_ptr<const Problem> LayeredProblem(Rng& rng, int layers) {
  ProblemBuilder b = Gpus(3, 5);
  std::vector<int> before;
  for (int layer = 0; layer < layers; ++layer) {
    std::vector<int> here;
    for (int i = 0; i < 3; ++i) {
      const int cost = 20 + UniformInt(rng, 30);
      here.push_back(b.Op(fmt::format("op{}_{}", layer, i), {cost}, before, UniformInt(rng, 20)));
    }
    before = here;
  }
  return b.Build();
}

TEST_CASE("saved within the tree, also with many nodes open or few, it goes on bit for bit") {
  Rng rng(22);
  const auto problem = LayeredProblem(rng, 4);
  const auto simulator = MakeSimulator(problem, kS);
  for (const int most_open : {3, 1000}) {
    CAPTURE(most_open);
    BranchAndBoundConfig config;
    config.climb = 32;
    config.bound_cost = 4;
    config.batch = 8;
    config.most_open = most_open;
    BranchAndBoundAgent original({problem, 1}, config);
    int steps = 0;
    for (; !original.Finished(); ++steps) {
      BranchAndBoundAgent restored({problem, 2}, config);
      LoadFrom(restored, Saved(original));
      REQUIRE(Saved(restored) == Saved(original));
      REQUIRE(restored.bound() == original.bound());
      original.Step(*simulator);
      restored.Step(*simulator);
      REQUIRE(Saved(restored) == Saved(original));
      REQUIRE(restored.Finished() == original.Finished());
    }
    CHECK(steps > 10);
  }
}

TEST_CASE("a state is saved and read where the number of placements overflows a double") {
  Rng rng(24);
  const auto problem = LayeredProblem(rng, 400);  // 2^1200 placements
  const auto simulator = MakeSimulator(problem, kS);
  BranchAndBoundConfig config;
  config.climb = 32;
  BranchAndBoundAgent original({problem, 1}, config), restored({problem, 2}, config);
  for (int step = 0; step < 20; ++step) original.Step(*simulator);
  LoadFrom(restored, Saved(original));
  CHECK(Saved(restored) == Saved(original));
}

TEST_CASE("a state whose nodes do not belong to the problem is refused") {
  Rng rng(23);
  const auto problem = LayeredProblem(rng, 3);
  const auto simulator = MakeSimulator(problem, kS);
  BranchAndBoundConfig config;
  config.climb = 0;
  BranchAndBoundAgent agent({problem, 1}, config);
  agent.Step(*simulator);  // the starts and the root
  std::string text = Saved(agent);
  REQUIRE(text.find("text:\n") != text.npos);            // the root's devices: none
  text.replace(text.find("text:\n"), 6, "text:CQ==\n");  // device 9
  CHECK(MessageOf<InputError>([&] { LoadFrom(agent, text); }) ==
        "agent state: a node has a device where its group may not run");
}

TEST_CASE("the bound holds when the budget ends the search within a step") {
  Rng rng(24);
  const auto problem = LayeredProblem(rng, 3);
  const auto simulator = MakeSimulator(problem, kQ);
  const Score best = BestOfEvery(*simulator);
  BranchAndBoundConfig config;
  config.climb = 32;
  config.batch = 16;
  const std::int64_t evaluations = CheckProof(problem, *simulator, config, best);
  MeteredEvaluator metered(*simulator, {.evaluations = evaluations / 2});
  BranchAndBoundAgent agent({problem, 1}, config);
  Nanos bound = 0;
  try {
    while (!agent.Finished()) {
      agent.Step(metered);
      bound = agent.bound();
    }
  } catch (const BudgetExhausted&) {
  }
  CHECK_FALSE(agent.Finished());
  CHECK(agent.bound() == bound);
  CHECK(bound > 0);
  CHECK(bound < best.step_time);
}

TEST_CASE(
    "where nothing fits the least deficit is found, and nothing is claimed but the root's bound") {
  ProblemBuilder b;
  for (int d = 0; d < 2; ++d) b.Device(fmt::format("gpu:{}", d), 10);
  b.AllToAll(1, kGigabytePerSecond);
  for (int v = 0; v < 4; ++v) {
    b.Op(fmt::format("op{}", v), {5}, {}, 7 + v);
    b.output(v).role = TensorRole::kParameter;
  }
  const auto problem = b.Build(Grouping::Identity(4), ProblemChecks::kPlacementOnly);
  const auto simulator = MakeSimulator(problem, kQ);
  MeteredEvaluator metered(*simulator, {});
  BranchAndBoundAgent agent({problem, 1}, {});
  while (!agent.Finished()) agent.Step(metered);
  // 7 + 8 + 9 + 10 = 34 B for 20; two ops on each device take 10 ns.
  CHECK(metered.best()->outcome.deficit() == 14);
  CHECK(metered.best()->outcome.step_time == 10);
  CHECK(agent.bound() == PartialBound(*problem)(std::vector<std::uint64_t>{3, 3, 3, 3}));
}

}  // namespace
