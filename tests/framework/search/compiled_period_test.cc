#include "framework/search/compiled_period.h"

#include <doctest/doctest.h>

#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// a(100 B) -> b, c; b(10 B) -> d, in groups {a}, {b, c}, {d}; an input of 7 B for a and d. 1 B/ns,
// latency 5.
std::shared_ptr<const Problem> Grouped() {
  ProblemBuilder b;
  b.Device("d0", 120);
  b.Device("d1");
  b.AllToAll(5, kGigabytePerSecond);
  b.Op("a", {30, 40}, {}, 100);
  b.Op("b", {20}, {0}, 10);
  b.Op("c", {1}, {0}, 1);
  b.Op("d", {7}, {1}, 2);
  const int input = b.Input("in", 7);
  b.op(0).inputs.push_back(input);
  b.op(3).inputs.push_back(input);
  return b.Build(Grouping(std::vector<int>{0, 1, 1, 2}));
}

TEST_CASE("items are what crosses between groups") {
  const auto problem = Grouped();
  const CompiledPeriod compiled(*problem);
  CHECK(compiled.num_items == 2);  // of a, read once by {b, c}; of b
  CHECK(compiled.maker == std::vector<int>{0, 1});
  CHECK(compiled.readers_of(0).size() == 1);
  CHECK(compiled.readers_of(1)[0] == 2);
  CHECK(compiled.num_inputs == 1);
  CHECK(compiled.bytes == std::vector<std::int64_t>{100, 11, 2});
  CHECK(compiled.transfer_time[compiled.times[0] + compiled.path[1]] == 105);
  CHECK(compiled.degree(1) == 2);
}

TEST_CASE("a state tells the loads of a placement and of moves") {
  const auto problem = Grouped();
  const CompiledPeriod compiled(*problem);
  PeriodState state(compiled);
  state.SetTo({0, 0, 0});
  CHECK(state.totals().load == std::vector<Nanos>{58, 0});
  CHECK(state.totals().bytes == std::vector<std::int64_t>{120, 0});
  // {b, c} to d1: a's output crosses, 105 on both sides, and b's back, 15.
  const Move move{1, 1};
  CHECK(state.Try({&move, 1}).load == std::vector<Nanos>{30 + 7 + 105 + 15, 21 + 105 + 15});
  CHECK(state.readers(0) == 0b10);
  state.Undo();
  CHECK(state.device() == std::vector<DeviceIndex>{0, 0, 0});
  CHECK(state.totals().period() == 58);
  CHECK(state.readers(0) == 0b01);
  state.Try({&move, 1});
  state.Keep();
  // a after it: 40 there; only b's output still crosses, and the input is on both devices.
  const Move second{0, 1};
  const PeriodTotals& totals = state.Try({&second, 1});
  CHECK(totals.load == std::vector<Nanos>{7 + 15, 40 + 21 + 15});
  CHECK(totals.busy == std::vector<Nanos>{7, 61});
  CHECK(totals.bytes == std::vector<std::int64_t>{2 + 7, 100 + 11 + 7});
}

}  // namespace
