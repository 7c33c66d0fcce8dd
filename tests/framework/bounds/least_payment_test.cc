#include "framework/bounds/least_payment.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/bounds/period_terms.h"
#include "tests/framework/bounds/payments.h"
#include "tests/support/layered_periods.h"
#include "tests/support/problems.h"
#include "tests/support/small_periods.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("each device of a chain pays at the ends of its part, by hand") {
  // a -> b -> c -> d -> e -> f, 11 for a and f, 10 for each other, 3 for any transfer, three
  // devices. Better than 27: two devices take at most 52 of 62, so each has at least 10. Of the
  // sets of 10 to 26, those with one end of the chain pay 3, all others 6.
  ProblemBuilder b = Gpus(3, 0);
  for (int v = 0; v < 6; ++v) {
    b.Op(std::string(1, static_cast<char>('a' + v)),
         {v == 0 || v == 5 ? 11 : 10},
         v == 0 ? std::vector<int>{} : std::vector{v - 1},
         3);
  }
  const auto chain = WithObjective(*b.Build(), Objective::kPeriod);
  const CompiledPeriod compiled(*chain);
  CHECK(LeastPeriod(chain) == 26);
  CHECK(LeastWork(compiled, std::vector{0, 1, 2}, 27) == 10);
  // At most one device has a, and one f, so a third one pays 6.
  const LeastPayments payments = PaymentsOf(compiled, 27);
  CHECK(payments.own == std::vector<Nanos>{3, 3, 3});
  CHECK(payments.of_class == std::vector<Nanos>{12, 12, 12});
  // Two devices with less than 40 each can have it all.
  CHECK(PaymentsOf(compiled, 40).own == std::vector<Nanos>{0, 0, 0});
  // Less than 19: each device has at least 62 - 36, which is more.
  CHECK(PaymentsOf(compiled, 19).own == std::vector<Nanos>{19, 19, 19});
}

TEST_CASE("a device has the work that the others cannot take, by hand") {
  // The slow device takes c, which spares 10 for 5, and a half of b, which spares 10 for 20.
  ProblemBuilder b;
  for (const char* name : {"slow", "g", "h"}) b.Device(name);
  b.AllToAll(0, kGigabytePerSecond);
  b.Op("a", {40, 10, 10});
  b.Op("b", {20, 10, 10});
  b.Op("c", {5, 10, 10});
  const auto problem = b.Build();
  const CompiledPeriod compiled(*problem);
  // Less than 15: b may not run there; c is 10 of the 30. Less than 25: the slow device has 25 ns.
  CHECK(LeastWork(compiled, std::vector{1, 2}, 15) == 30 - 10 - 1 - 14);
  CHECK(LeastWork(compiled, std::vector{1, 2}, 25) == 30 - 20 - 1 - 24);
}

// Returns the least payment of a set of groups by trying each; kMaxNanos: there is none.
Nanos ByTrying(const CompiledPeriod& p, int device, Nanos least_work, Nanos known) {
  Nanos least = kMaxNanos;
  for (std::uint32_t set = 0; set < 1U << p.num_groups; ++set) {
    Nanos cost = 0, transfers = 0;
    for (int g = 0; g < p.num_groups; ++g) {
      if ((set >> g & 1) == 0) continue;
      cost = std::min(known, cost + std::min(known, p.problem.group_cost(g, device)));
    }
    for (int i = 0; i < p.num_items; ++i) {
      bool crosses = false;
      for (const int g : p.readers_of(i)) crosses |= (set >> g & 1) != (set >> p.maker[i] & 1);
      if (crosses) transfers += ItemTimes(p, i).least();
    }
    if (cost >= least_work && cost + transfers < known) least = std::min(least, transfers);
  }
  return least;
}

TEST_CASE("least payments are those of all sets, and no better placement pays less") {
  Rng rng(21);
  int positive = 0, placements = 0;
  for (int trial = 0; trial < 150 * EMPLACE_TEST_SCALE; ++trial) {
    const auto problem = SmallPeriod(rng);
    const CompiledPeriod compiled(*problem);
    const PeriodState state(compiled);
    const std::vector<int> class_of = ClassesOfEqualCosts(compiled);
    const Nanos best = LeastPeriod(problem);
    if (best == kMaxNanos || best == 0) continue;
    for (const Nanos known : {best, best + 1, best + best / 4}) {
      const LeastPayments payments = PaymentsOf(compiled, known);
      for (int d = 0; d < problem->num_devices(); ++d) {
        std::vector<int> devices;
        for (int e = 0; e < problem->num_devices(); ++e) {
          if (class_of[e] == class_of[d]) devices.push_back(e);
        }
        const Nanos work = LeastWork(compiled, devices, known);
        const bool none = compiled.pays[d] == 0 || work <= 0;
        CHECK(payments.own[d] == (none ? 0 : std::min(known, ByTrying(compiled, d, work, known))));
        positive += payments.own[d] > 0 && payments.own[d] < known;
      }
      for (const Placement& placement : AllPlacements(*problem)) {
        PeriodTotals totals;
        state.SumUp(placement.device.data(), totals);
        if (totals.period() >= known) continue;
        ++placements;
        std::vector<Nanos> paid(problem->num_devices(), 0);
        for (int d = 0; d < problem->num_devices(); ++d) {
          CHECK(totals.load[d] - totals.busy[d] >= payments.own[d]);
          paid[class_of[d]] += totals.load[d] - totals.busy[d];
        }
        for (int d = 0; d < problem->num_devices(); ++d) {
          CHECK(paid[class_of[d]] >= payments.of_class[d]);
        }
      }
    }
  }
  CHECK(positive > 20);
  CHECK(placements > 100);
}

TEST_CASE("a search that is stopped has smaller bounds") {
  Rng rng(5);
  const auto problem = LayeredPeriod(rng, {.layers = 3, .num_devices = 3, .memory = 10});
  const CompiledPeriod compiled(*problem);
  const std::vector<int> class_of = ClassesOfEqualCosts(compiled);
  Nanos total = 0;
  for (int g = 0; g < problem->num_groups(); ++g) total += problem->group_cost(g, class_of.back());
  const Nanos known = total / 3 + total / 10;
  Nanos before = 0;
  for (const int most : {0, 1, 4, 1000}) {
    int looks = 0;
    const LeastPayments payments =
        FindLeastPayments(compiled, class_of, known, [&] { return looks++ >= most; });
    CHECK(payments.of_class.back() >= before);
    before = payments.of_class.back();
  }
  CHECK(before > 0);
}

}  // namespace
