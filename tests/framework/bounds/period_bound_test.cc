#include "framework/bounds/period_bound.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "simulator/simulator.h"
#include "tests/support/layered_periods.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// a -> b, 10 each, 4 for the transfer, two equal devices.
std::shared_ptr<const Problem> Pair() {
  ProblemBuilder b;
  b.Device("p");
  b.Device("q");
  b.AllToAll(0, kGigabytePerSecond);
  b.Op("a", {10}, {}, 4);
  b.Op("b", {10}, {0});
  return WithObjective(*b.Build(), Objective::kPeriod);
}

TEST_CASE("spreading counts the transfers that room asks for, by hand") {
  const auto problem = Pair();
  const CompiledPeriod compiled(*problem);
  Nanos bound = 0;
  ProveSpreading(
      compiled,
      20,
      [] { return false; },
      [&](Nanos value) {
        bound = std::max(bound, value);
        return false;
      });
  // l >= (20 - T) / 10 and 2 T >= 20 + 2 * 4 l: T >= 12.86, 13 as a whole number. Apart: 14.
  CHECK(bound == 13);
}

TEST_CASE("every method in its turn, with its name") {
  const auto problem = Pair();
  CHECK(ProveBound(*problem).value == 10);  // 20 of work on two devices
  CHECK(ProveBound(*problem).method == "work");
  std::vector<std::string> methods;
  const LowerBound best = ProveBound(
      *problem,
      {.seconds = 60, .improved = [&](const LowerBound& b) { methods.push_back(b.method); }});
  CHECK(best.value == 14);
  CHECK(best.method == "branch_and_bound");
  CHECK(methods.front() == "work");
  CHECK(methods.back() == "branch_and_bound");
  // With 13 known nothing is better apart, at 10 + 4 each, nor together, at 20.
  CHECK(ProveBound(*problem, {.seconds = 60, .known = 13}).value == 13);

  ProblemBuilder b = Gpus(2);
  b.Op("dear", {30});
  b.Op("cheap", {10});
  const LowerBound group = ProveBound(*WithObjective(*b.Build(), Objective::kPeriod));
  CHECK(group.value == 30);
  CHECK(group.method == "group");
}

TEST_CASE("what no better placement parts is merged") {
  const auto problem = Pair();
  const auto merged = [&](const std::shared_ptr<const Problem>& of, Nanos known) {
    return MergeInseparable(*of, known, [] { return false; })->num_groups();
  };
  CHECK(merged(problem, 14) == 1);  // apart each device has 10 + 4
  CHECK(merged(problem, 15) == 2);
  // On a device that does not pay, b would leave 14 on a's.
  ProblemBuilder b;
  b.kind(b.Device("free")).pays_transfers = false;
  b.Device("p");
  b.AllToAll(0, kGigabytePerSecond);
  b.Op("a", {13, 10}, {}, 4);
  b.Op("b", {13, 12}, {0});
  const auto half_free = WithObjective(*b.Build(), Objective::kPeriod);
  CHECK(merged(half_free, 14) == 1);  // a on p: 14, b on p: 16
  CHECK(merged(half_free, 15) == 2);  // a on p: 14
  b.kind(1).pays_transfers = false;
  CHECK(merged(WithObjective(*b.Build(), Objective::kPeriod), 14) == 2);
}

TEST_CASE("interchangeable are devices of equal costs, memory and routes") {
  ProblemBuilder b;
  for (const char* name : {"p", "q", "r", "s"}) b.Device(name, name[0] == 'q' ? 50 : 100);
  const int slow = b.Channel("slow", 9, kGigabytePerSecond);
  b.Route(0, 2, {slow});
  b.AllToAll(0, kGigabytePerSecond);
  b.Op("a", {1, 1, 1, 1}, {}, 5);
  b.Op("b", {1, 1, 1, 1}, {0}, 5);
  const auto problem = b.Build();
  // p -> r is slow, which sets p apart from s (p -> r, s -> r) and r from s; q has less memory.
  CHECK(InterchangeableDevices(CompiledPeriod(*problem)) == std::vector<int>{0, 1, 2, 3});
  CHECK(InterchangeableDevices(CompiledPeriod(*Pair())) == std::vector<int>{0, 0});
}

// A few groups on two or three devices that differ or not: routes, costs, memory, who pays.
std::shared_ptr<const Problem> SmallPeriodProblem(Rng& rng) {
  const int devices = 2 + UniformInt(rng, 2);
  const bool equal_routes = UniformInt(rng, 2) == 0, equal_costs = UniformInt(rng, 2) == 0;
  ProblemBuilder b;
  for (int d = 0; d < devices; ++d) {
    b.Device(std::string(1, static_cast<char>('p' + d)),
             UniformInt(rng, 2) == 0 ? kUnlimitedMemory : 40);
    b.kind(d).pays_transfers = UniformInt(rng, 4) != 0;
  }
  if (!equal_routes) {
    for (int from = 0; from < devices; ++from) {
      for (int to = 0; to < devices; ++to) {
        if (from == to) continue;
        b.Route(from,
                to,
                {b.Channel(std::string{static_cast<char>('p' + from), static_cast<char>('p' + to)},
                           UniformInt(rng, 5),
                           {1'000'000'000 * (1 + UniformInt(rng, 2)), 1})});
      }
    }
  }
  b.AllToAll(0, kGigabytePerSecond);
  std::vector<int> labels;
  for (int v = 0; v < 1 + UniformInt(rng, 8); ++v) {
    std::vector<Nanos> costs(devices, UniformInt(rng, 20));
    for (int d = 0; d < devices && !equal_costs; ++d) costs[d] = UniformInt(rng, 20);
    std::vector<int> inputs;
    for (int u = 0; u < v; ++u) {
      if (UniformInt(rng, 3) == 0) inputs.push_back(u);
    }
    b.Op(std::string(1, static_cast<char>('a' + v)), costs, inputs, UniformInt(rng, 15));
    labels.push_back(UniformInt(rng, 6));
  }
  if (UniformInt(rng, 2) == 0) {
    const int input = b.Input("in", 20);
    b.op(0).inputs.push_back(input);
  }
  const auto built = b.Build(Grouping(labels), ProblemChecks::kPlacementOnly);
  return WithObjective(*built, Objective::kPeriod);
}

// kMaxNanos if no placement fits.
Nanos LeastPeriod(const std::shared_ptr<const Problem>& problem) {
  const auto simulator = MakeSimulator(problem, {});
  Placement placement{std::vector<DeviceIndex>(problem->num_groups(), 0)};
  Nanos best = kMaxNanos;
  for (int digit = 0; digit < problem->num_groups();) {
    const Outcome outcome = simulator->Evaluate(placement);
    if (outcome.feasible) best = std::min(best, outcome.step_time);
    for (digit = 0; digit < problem->num_groups(); ++digit) {  // the next number in base devices
      if (++placement.device[digit] < problem->num_devices()) break;
      placement.device[digit] = 0;
    }
  }
  return best;
}

TEST_CASE("no bound is above the least period, and branch and bound reaches it") {
  Rng rng(7);
  int spread = 0;
  for (int trial = 0; trial < 60 * EMPLACE_TEST_SCALE; ++trial) {
    const auto problem = SmallPeriodProblem(rng);
    const Nanos least = LeastPeriod(problem);
    LowerBound last;
    const LowerBound best =
        ProveBound(*problem, {.seconds = 60, .improved = [&](const LowerBound& bound) {
                                CHECK(bound.value <= least);
                                last = bound;
                              }});
    CHECK(best.value == last.value);
    spread += last.method == "spreading";
    const CompiledPeriod compiled(*problem);
    CHECK(best.value == std::min(least, MostPeriod(compiled)));
    // With the optimum known, and with a worse one, nothing else comes out.
    if (least == kMaxNanos || least == 0) continue;
    CHECK(ProveBound(*problem, {.seconds = 60, .known = least}).value == least);
    CHECK(ProveBound(*problem, {.seconds = 60, .known = least + 3}).value == least);
  }
  CHECK(spread > 0);
}

TEST_CASE("the programme's solutions are placements with their periods") {
  Rng rng(8);
  for (int trial = 0; trial < 30 * EMPLACE_TEST_SCALE; ++trial) {
    const auto problem = SmallPeriodProblem(rng);
    const auto simulator = MakeSimulator(problem, {});
    const CompiledPeriod compiled(*problem);
    const PeriodProgramme programme(compiled, MostPeriod(compiled));
    // Decided group by group, the least value of the others' costs is the period.
    const Placement placement = RandomPlacement(rng, *problem);
    const Outcome outcome = simulator->Evaluate(placement);
    LinearProgramme lp(programme.model);
    for (int g = 0; g < problem->num_groups(); ++g) {
      for (std::size_t i = 0; i < programme.columns[g].size(); ++i) {
        const bool here = static_cast<int>(i) == placement.device[g];
        lp.SetBounds(programme.columns[g][i], here, here);
      }
    }
    const LinearProgramme::Status status = lp.Solve({});
    REQUIRE(status != LinearProgramme::Status::kStopped);
    CHECK((status == LinearProgramme::Status::kOptimal) == outcome.feasible);
    if (!outcome.feasible) continue;
    CHECK(lp.solution()[0] * programme.unit == doctest::Approx(outcome.step_time));
    CHECK(programme.Round(lp.solution()).device == placement.device);
  }
}

TEST_CASE("a larger graph: spreading proves more than the work") {
  Rng rng(9);
  const auto problem = LayeredPeriod(rng, {.layers = 2, .num_devices = 3, .cpu = false});
  const LowerBound work = ProveBound(*problem);
  const LowerBound spread = ProveBound(*problem, {.seconds = 2});
  CHECK(spread.value > work.value);
}

}  // namespace
