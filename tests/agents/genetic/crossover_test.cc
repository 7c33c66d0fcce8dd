#include "agents/genetic/crossover.h"

#include <set>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// A chain of ops that cost 10 ns each, on devices of one kind, or each of its own.
std::shared_ptr<const Problem> Chain(int num_ops, int num_devices, bool one_kind) {
  ProblemBuilder builder = Gpus(num_devices);
  int last = builder.Op("op0", {10}, {}, 8);
  for (int i = 1; i < num_ops; ++i) last = builder.Op(fmt::format("op{}", i), {10}, {last}, 8);
  const auto problem = builder.Build();
  return one_kind ? WithEqualKinds(*problem) : problem;
}

TEST_CASE("equal devices are renamed, different ones are not") {
  const Placement a{{0, 0, 0, 1, 1, 2}}, b{{2, 2, 0, 0, 1, 1}};
  // Shared groups: 2 of b is 0 of a twice; (0, 0), (1, 0), (1, 1) and (2, 1) once each, of which
  // the least device of a still free comes first: 1 with 0. So 1 of b is 2.
  CHECK(MatchDevices(*Chain(6, 3, true), a, b) == Placement{{0, 0, 1, 1, 2, 2}});
  CHECK(MatchDevices(*Chain(6, 3, false), a, b) == b);
}

TEST_CASE("a placement matches any renaming of itself") {
  const auto problem = Chain(12, 3, true);
  Rng rng(3);
  for (int trial = 0; trial < 20; ++trial) {
    Placement a = RandomPlacement(rng, *problem), b = a;
    for (DeviceIndex& device : b.device) device = static_cast<DeviceIndex>((device + 1) % 3);
    CHECK(MatchDevices(*problem, a, b) == a);
    CHECK(Crossover(*problem, a, b, rng) == a);
  }
}

TEST_CASE("blocks are inherited whole, and each of both parents") {
  const auto problem = Chain(8, 2, false);
  // They agree on groups 2 and 5; {0, 1}, {3, 4} and {6}, {7} are blocks.
  const Placement a{{0, 0, 0, 1, 1, 0, 0, 1}}, b{{1, 1, 0, 0, 0, 0, 1, 0}};
  std::set<std::vector<DeviceIndex>> children;
  Rng rng(7);
  for (int i = 0; i < 400; ++i) {
    const Placement child = Crossover(*problem, a, b, rng);
    CHECK(child.device[0] == child.device[1]);
    CHECK(child.device[2] == 0);
    CHECK(child.device[3] == child.device[4]);
    CHECK(child.device[5] == 0);
    children.insert(child.device);
  }
  CHECK(children.size() == 16);  // two ways for each of four blocks
}

TEST_CASE("children keep every group where it may run") {
  Rng rng(11);
  for (int trial = 0; trial < 50; ++trial) {
    const auto problem = MixedProblem(rng, 20, 3, kUnlimitedMemory);
    const Placement a = RandomPlacement(rng, *problem), b = RandomPlacement(rng, *problem);
    const Placement child = Crossover(*problem, a, b, rng);
    for (int g = 0; g < problem->num_groups(); ++g) CHECK(problem->allowed(g, child.device[g]));
  }
}

}  // namespace
