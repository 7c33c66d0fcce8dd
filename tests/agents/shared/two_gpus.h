#pragma once

// An example to calculate by hand: a and c on gpu:0, b, which reads a, on gpu:1.
//
//   gpu:0  a 0..100, c 100..160        message 100..160        gpu:1  b 160..260

#include <memory>

#include "framework/search/evaluator.h"
#include "simulator/simulator.h"
#include "tests/support/problems.h"

namespace emplace::testing {

struct TwoGpus {
  TwoGpus() {
    ProblemBuilder builder = Gpus(2, 10);
    builder.Op("a", {100}, {}, 50);
    builder.Op("b", {100}, {0});
    builder.Op("c", {60});
    problem = builder.Build();
    outcome = MakeSimulator(problem, {})->Evaluate(placement, {.op_times = true});
  }
  std::shared_ptr<const Problem> problem;
  Placement placement{{0, 1, 0}};
  Outcome outcome;
};

}  // namespace emplace::testing
