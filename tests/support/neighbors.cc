#include "tests/support/neighbors.h"

namespace emplace::testing {

RandomNeighbors::RandomNeighbors(Rng& rng, const Problem& problem, int count) {
  for (int i = 0; i < count; ++i) {
    const int most = Uniform01(rng) < 0.1 ? problem.num_groups() + 3 : 4;
    for (int left = UniformInt(rng, most + 1); left > 0; --left) {
      const int group = Uniform01(rng) < 0.1 && !moves.empty()
                            ? moves.back().group
                            : UniformInt(rng, problem.num_groups());
      int device = UniformInt(rng, problem.num_devices());
      while (!problem.allowed(group, device)) device = (device + 1) % problem.num_devices();
      moves.push_back({group, static_cast<DeviceIndex>(device)});
    }
    begin.push_back(static_cast<int>(moves.size()));
  }
}

Placement RandomNeighbors::Moved(Placement base, int i) const {
  for (int m = begin[i]; m < begin[i + 1]; ++m) base.device[moves[m].group] = moves[m].device;
  return base;
}

std::vector<Placement> RandomNeighbors::Placements(const Placement& base) const {
  std::vector<Placement> placements;
  for (int i = 0; i < size(); ++i) placements.push_back(Moved(base, i));
  return placements;
}

}  // namespace emplace::testing
