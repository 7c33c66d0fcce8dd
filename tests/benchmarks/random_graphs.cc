#include "tests/benchmarks/random_graphs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "framework/base/random.h"
#include "tests/support/problems.h"

namespace emplace::testing {

std::shared_ptr<const Problem> RandomGraphProblem(int num_ops, Nanos latency, bool neighbors) {
  Rng rng(7);
  ProblemBuilder b;
  for (int d = 0; d < 4; ++d) b.Device("d" + std::to_string(d), std::int64_t{1} << 40);
  b.AllToAll(latency, {10'000'000'000, 1});
  for (int v = 0; v < num_ops; ++v) {
    std::vector<int> inputs;
    if (v > 0) inputs.push_back(std::max(0, v - 1 - UniformInt(rng, 8)));
    if (v > 1 && Uniform01(rng) < 0.5) inputs.push_back(std::max(0, v - 1 - UniformInt(rng, 200)));
    std::vector<Nanos> costs;
    for (int d = 0; d < 4; ++d) costs.push_back(1'000 + UniformInt(rng, 100'000));
    b.Op("op" + std::to_string(v), costs, inputs, 1 + UniformInt(rng, 1'000'000));
    if (neighbors) b.Interfere(v, std::vector<Interference>(4, {256 + v % 3 * 128, 512}));
  }
  for (int d = 0; d < 4 && neighbors; ++d) {
    for (int e = 0; e < d; ++e) b.Share(d, e);
  }
  return b.Build();
}

std::vector<Placement> VariedPlacements(const Problem& problem) {
  Rng rng(8);
  std::vector<Placement> placements;
  for (int i = 0; i < 64; ++i) {
    Placement placement = RandomPlacement(rng, problem);
    if (i % 2 == 0) {
      const int blocks = 1 + UniformInt(rng, 8), offset = UniformInt(rng, 4);
      for (int v = 0; v < problem.num_groups(); ++v) {
        if (Uniform01(rng) < 0.05) continue;
        const auto block = static_cast<std::int64_t>(v) * blocks / problem.num_groups();
        placement.device[v] = static_cast<DeviceIndex>((block + offset) % 4);
      }
    }
    placements.push_back(std::move(placement));
  }
  return placements;
}

}  // namespace emplace::testing
