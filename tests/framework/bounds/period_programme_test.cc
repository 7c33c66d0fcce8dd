#include "framework/bounds/period_programme.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "framework/bounds/period_bound.h"
#include "simulator/simulator.h"
#include "tests/framework/bounds/payments.h"
#include "tests/support/layered_periods.h"
#include "tests/support/problems.h"
#include "tests/support/small_periods.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

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
  CHECK(InterchangeableDevices(CompiledPeriod(*PairOfOps())) == std::vector<int>{0, 0});
}

TEST_CASE("the programme's solutions are placements with their periods") {
  Rng rng(8);
  for (int trial = 0; trial < 30 * EMPLACE_TEST_SCALE; ++trial) {
    const auto problem = SmallPeriod(rng);
    const auto simulator = MakeSimulator(problem, {});
    const CompiledPeriod compiled(*problem);
    const PeriodProgramme programme(compiled, MostPeriod(compiled), {});
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

// c sends a to two GPUs of equal costs: 4 ns of transfer, and 3 ns from b to d.
std::shared_ptr<const Problem> CpuAndTwoGpus() {
  ProblemBuilder builder;
  for (const char* name : {"c", "g", "h"}) builder.Device(name);
  builder.AllToAll(0, kGigabytePerSecond);
  builder.Op("a", {6, 10, 10}, {}, 4);
  builder.Op("b", {6, 10, 10}, {0}, 3);
  builder.Op("d", {6, 10, 10}, {1});
  return WithObjective(*builder.Build(), Objective::kPeriod);
}

// Returns the value of a placement in a program. [ns]
double ValueOf(const PeriodProgramme& programme,
               std::span<const int> class_of,
               const Placement& placement) {
  LinearProgramme lp(programme.model);
  for (std::size_t g = 0; g < programme.columns.size(); ++g) {
    std::vector<double> chosen(programme.model.num_columns(), 0);
    for (const int column : programme.columns[g]) {
      chosen[column] = 1;
      const bool here = programme.Round(chosen).device[g] == class_of[placement.device[g]];
      chosen[column] = 0;
      lp.SetBounds(column, here, here);
    }
  }
  REQUIRE(lp.Solve({}) == LinearProgramme::Status::kOptimal);
  return lp.solution()[0] * programme.unit;
}

TEST_CASE("a class has the time of all its devices, and free transfers within") {
  const auto problem = CpuAndTwoGpus();
  const CompiledPeriod compiled(*problem);
  const std::vector<int> class_of = ClassesOfEqualCosts(compiled);
  CHECK(class_of == std::vector<int>{0, 1, 1});
  const PeriodProgramme programme(compiled, MostPeriod(compiled), {}, class_of);
  // c: 6 + 4 to send a. Both GPUs: (4 + 10 + 10) / 2; b -> d is free.
  CHECK(ValueOf(programme, class_of, {{0, 1, 2}}) == doctest::Approx(12));
  // c: 6 + 6 + 3; the GPUs (3 + 10) / 2.
  CHECK(ValueOf(programme, class_of, {{0, 0, 1}}) == doctest::Approx(15));
  // All ops on the GPUs: 30 ns of work for two devices.
  CHECK(ValueOf(programme, class_of, {{2, 2, 1}}) == doctest::Approx(15));
}

TEST_CASE("the program of classes counts what its devices pay at least") {
  const auto problem = CpuAndTwoGpus();
  const CompiledPeriod compiled(*problem);
  const std::vector<int> class_of = ClassesOfEqualCosts(compiled);
  LeastPayments least;
  least.own = {0, 2, 2};
  least.of_class = {0, 9, 9};
  const PeriodProgramme programme(compiled, 20, least, class_of);
  // The GPUs pay 4 to c, and 5 more: (4 + 5 + 10 + 10) / 2.
  CHECK(ValueOf(programme, class_of, {{0, 1, 2}}) == doctest::Approx(14.5));
  // They pay 3 to c, and 6 more: (3 + 6 + 10) / 2, less than c's 15.
  CHECK(ValueOf(programme, class_of, {{0, 0, 1}}) == doctest::Approx(15));
  CHECK(ValueOf(programme, class_of, {{2, 2, 1}}) == doctest::Approx((30 + 9) / 2.));
}

TEST_CASE("least payments leave better placements their periods") {
  Rng rng(14);
  int better = 0, payments = 0;
  for (int trial = 0; trial < 40 * EMPLACE_TEST_SCALE; ++trial) {
    const auto problem = SmallPeriod(rng);
    const CompiledPeriod compiled(*problem);
    const PeriodState state(compiled);
    const std::vector<int> class_of = ClassesOfEqualCosts(compiled);
    const Nanos best = LeastPeriod(problem);
    if (best == kMaxNanos || best == 0) continue;
    const Nanos known = best + 1 + best / 8;
    const LeastPayments least = PaymentsOf(compiled, known);
    payments += std::ranges::any_of(least.own, [](Nanos time) { return time > 0; });
    const PeriodProgramme single(compiled, known, least);
    const PeriodProgramme classes(compiled, known, least, class_of);
    for (const Placement& placement : AllPlacements(*problem)) {
      PeriodTotals totals;
      state.SumUp(placement.device.data(), totals);
      bool fits = totals.period() < known;
      for (int d = 0; d < problem->num_devices(); ++d) {
        fits = fits && totals.bytes[d] <= compiled.memory[d];
      }
      if (!fits) continue;
      ++better;
      const auto period = static_cast<double>(totals.period());
      std::vector<int> each(problem->num_devices());
      std::iota(each.begin(), each.end(), 0);
      CHECK(ValueOf(single, each, placement) == doctest::Approx(period));
      CHECK(ValueOf(classes, class_of, placement) <= period * (1 + 1e-9));
    }
  }
  CHECK(better > 30);
  CHECK(payments > 2);
}

TEST_CASE("the program of classes is at most the period of each placement") {
  Rng rng(12);
  for (int trial = 0; trial < 4 * EMPLACE_TEST_SCALE; ++trial) {
    const auto problem = LayeredPeriod(rng, {.layers = 1, .memory = 10});
    const auto simulator = MakeSimulator(problem, {});
    const CompiledPeriod compiled(*problem);
    const std::vector<int> class_of = ClassesOfEqualCosts(compiled);
    const PeriodProgramme programme(compiled, MostPeriod(compiled), {}, class_of);
    for (int i = 0; i < 20; ++i) {
      const Placement placement = RandomPlacement(rng, *problem);
      const auto period = static_cast<double>(simulator->Evaluate(placement).step_time);
      CHECK(ValueOf(programme, class_of, placement) <= period * (1 + 1e-9));
    }
  }
}

}  // namespace
