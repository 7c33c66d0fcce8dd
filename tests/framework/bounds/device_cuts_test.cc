#include "framework/bounds/device_cuts.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/bounds/lower_bound.h"
#include "tests/support/layered_periods.h"
#include "tests/support/problems.h"
#include "tests/support/small_periods.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("what no better placement parts is merged") {
  const auto problem = PairOfOps();
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

bool Refuted(const std::shared_ptr<const Problem>& problem, Nanos period) {
  return IsRefuted(*problem, period, [] { return false; });
}

TEST_CASE("what is together has too little room, or no device, by hand") {
  const auto pair = PairOfOps();
  CHECK(Refuted(pair, 14));        // merged, 20 on one device
  CHECK_FALSE(Refuted(pair, 15));  // 14 is the optimum

  // a -> b -> c -> d, 10 each, 3 for any transfer, two devices. Sets with a: {a} has 10 and 3 to
  // pay, all 40 and nothing; between the two a load of 22 has at most 20 and at least 2 to pay.
  // With b: {b} 10 and 6, {a, b} 20 and 3, between them 22 has at least 3.4 to pay, 4 as a whole
  // number, so at most 18. That is 2 * (10 / 20 + 10 / 18) > 2. A load of 23 leaves 21 and 20.
  ProblemBuilder b = Gpus(2, 0);
  for (int v = 0; v < 4; ++v) {
    b.Op(std::string(1, static_cast<char>('a' + v)),
         {10},
         v == 0 ? std::vector<int>{} : std::vector{v - 1},
         3);
  }
  const auto chain = WithObjective(*b.Build(), Objective::kPeriod);
  CHECK(LeastPeriod(chain) == 23);
  CHECK(Refuted(chain, 23));
  CHECK_FALSE(Refuted(chain, 24));
}

TEST_CASE("devices that do not pay have room at their own cost, by hand") {
  // Two ops, 10 each where they pay, 12 where not, nothing to transfer: 12. By cuts, two devices
  // of 10 and 12 take 11 of 10 and 12 each: shares of 10/11 and 12/11, at the price 10/12 together
  // 2 * 10/11 < 1 + 10/12; a period of 11 (at most 10) 2 * 10/10 > 1 + 10/12.
  ProblemBuilder b;
  b.kind(b.Device("free")).pays_transfers = false;
  b.Device("p");
  b.AllToAll(0, kGigabytePerSecond);
  b.Op("a", {12, 10});
  b.Op("b", {12, 10});
  const auto problem = WithObjective(*b.Build(), Objective::kPeriod);
  CHECK(LeastPeriod(problem) == 12);
  CHECK(Refuted(problem, 11));
  CHECK_FALSE(Refuted(problem, 13));
}

TEST_CASE("nothing is refuted that is reached, and a bound by cuts is refuted") {
  Rng rng(12);
  int refuted = 0, optimal = 0;
  for (int trial = 0; trial < 200 * EMPLACE_TEST_SCALE; ++trial) {
    const auto problem = SmallPeriod(rng);
    const Nanos least = LeastPeriod(problem);
    if (least == kMaxNanos || least == 0) continue;
    for (const Nanos period : {least / 2, least - 1, least, least + 1, 2 * least}) {
      if (period < 1) continue;
      const bool is_refuted = Refuted(problem, period);
      if (period > least) CHECK_FALSE(is_refuted);
      refuted += is_refuted;
    }
    Nanos bound = 1;
    ProveByCuts(
        *problem,
        1,
        least + 5,
        [] { return false; },
        [&](Nanos value) {
          CHECK(value > bound);
          bound = value;
        });
    CHECK(bound <= least);
    if (bound > 1) CHECK(Refuted(problem, bound));
    optimal += bound == least;
  }
  CHECK(refuted > 100);
  CHECK(optimal > 20);
}

TEST_CASE("where transfers are dear, cuts prove more than the work") {
  Rng rng(9);
  const auto problem = LayeredPeriod(rng, {.layers = 2, .num_devices = 6});
  Nanos bound = 1;
  ProveByCuts(
      *problem, 1, 2'000'000, [] { return false; }, [&](Nanos value) { bound = value; });
  CHECK(static_cast<double>(bound) > 1.1 * static_cast<double>(ProveBound(*problem).value));

  // An end that is wanted ends it without a proof.
  CHECK_FALSE(IsRefuted(*problem, bound, [] { return true; }));
}

}  // namespace
