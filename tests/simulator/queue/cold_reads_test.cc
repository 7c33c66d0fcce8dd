// Ops that take longer for what arrived from another device (simulator/README.md, "Cold reads").

#include "tests/simulator/simulate.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

constexpr Bandwidth kHalfAByteANano{500'000'000, 1};

// a(10; 4 B), which b(2) and c(3) read, on two devices; what arrives on d1 is read at 0.5 B/ns.
ProblemBuilder Readers() {
  ProblemBuilder b = Gpus(2, 0);
  b.kind(1).cold_read = kHalfAByteANano;
  b.Op("a", {10}, {}, 4);
  b.Op("b", {2}, {0});
  b.Op("c", {3}, {0});
  return b;
}

TEST_CASE("the reader of least id takes longer, on its device, in both semantics") {
  const auto problem = Readers().Build();
  for (const Semantics semantics : AllSemantics()) {
    CAPTURE(ToString(semantics));
    const SimulatorOptions options{.semantics = semantics};
    // a 0-10, its copy 10-14. b is the first reader on d1: 2 + 4 / 0.5 = 10, 14-24. c 24-27.
    const Outcome both = Simulate(problem, {0, 1, 1}, options).outcome;
    CHECK(both.start == std::vector<Nanos>{0, 14, 24});
    CHECK(both.finish == std::vector<Nanos>{10, 24, 27});
    CHECK(both.devices[1].busy == 13);
    // b on d0, so c is the first: 3 + 8 = 11, 14-25.
    CHECK(Simulate(problem, {0, 0, 1}, options).outcome.finish == std::vector<Nanos>{10, 12, 25});
    // d0 has no cold_read, and on d1 alone nothing arrives: as if there were none.
    CHECK(Simulate(problem, {1, 0, 0}, options).outcome.step_time == 10 + 4 + 2 + 3);
    CHECK(Simulate(problem, {1, 1, 1}, options).outcome.step_time == 10 + 2 + 3);
  }
}

TEST_CASE("ids decide who pays, not the order of issue") {
  SimulatorOptions options{.semantics = Semantics::kStream, .issue_order = {0, 2, 1}};
  // c 14-17 costs 3, though it reads first; b pays: 17-27.
  const Outcome outcome = Simulate(Readers().Build(), {0, 1, 1}, options).outcome;
  CHECK(outcome.start == std::vector<Nanos>{0, 17, 14});
  CHECK(outcome.finish == std::vector<Nanos>{10, 27, 17});
}

TEST_CASE("several tensors add up, each rounded up; graph inputs and control edges are free") {
  ProblemBuilder b = Gpus(2, 0);
  b.kind(1).cold_read = Bandwidth{400'000'000, 1};
  b.Op("a", {1}, {}, 3);
  b.Op("b", {1}, {}, 5);
  b.Op("c", {1}, {0, 1});
  b.op(2).control_inputs = {0};
  b.op(2).inputs.push_back(b.Input("x", 100));
  // 3 / 0.4 = 7.5 and 5 / 0.4 = 12.5, rounded up 8 and 13: c takes 22.
  const Outcome outcome = Simulate(b.Build(), {0, 0, 1}, {.semantics = Semantics::kStream}).outcome;
  CHECK(outcome.finish[2] - outcome.start[2] == 22);
}

}  // namespace
