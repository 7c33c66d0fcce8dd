#include "tests/support/small_periods.h"

#include <algorithm>
#include <string>
#include <vector>

#include "simulator/simulator.h"
#include "tests/support/problems.h"

namespace emplace::testing {

std::shared_ptr<const Problem> PairOfOps() {
  ProblemBuilder b;
  b.Device("p");
  b.Device("q");
  b.AllToAll(0, kGigabytePerSecond);
  b.Op("a", {10}, {}, 4);
  b.Op("b", {10}, {0});
  return WithObjective(*b.Build(), Objective::kPeriod);
}

std::shared_ptr<const Problem> SmallPeriod(Rng& rng) {
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

}  // namespace emplace::testing
