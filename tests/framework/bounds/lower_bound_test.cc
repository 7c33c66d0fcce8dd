#include "framework/bounds/lower_bound.h"

#include "framework/bounds/bounds.h"
#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("the better of critical path and work is named") {
  ProblemBuilder chain = Gpus(2);
  chain.Op("a", {10});
  chain.Op("b", {10}, {0});
  const LowerBound path = ProveBound(*chain.Build());
  CHECK(path.value == 20);
  CHECK(path.method == "critical_path");

  ProblemBuilder wide = Gpus(2);
  for (const char* name : {"a", "b", "c", "d"}) wide.Op(name, {10});
  const LowerBound work = ProveBound(*wide.Build());
  CHECK(work.value == 20);
  CHECK(work.method == "work");
}

}  // namespace
