#include "agents/genetic/crossover.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "agents/shared/devices.h"

namespace emplace {
namespace {

bool Interchangeable(const Cluster& cluster, int a, int b) {
  const Device &x = cluster.device(a), &y = cluster.device(b);
  return x.kind == y.kind && x.memory == y.memory && x.slots == y.slots;
}

}  // namespace

Placement MatchDevices(const Problem& problem, const Placement& a, const Placement& b) {
  const int num_devices = problem.num_devices();
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - num_devices);
  std::vector<double> shared(std::size_t(num_devices) * num_devices, 0);
  for (int g = 0; g < problem.num_groups(); ++g) {
    shared[a.device[g] * num_devices + b.device[g]] += MeanCost(problem, g, all);
  }
  struct Pair {
    double cost;
    int a, b;
  };
  std::vector<Pair> pairs;
  for (int i = 0; i < num_devices; ++i) {
    for (int j = 0; j < num_devices; ++j) {
      if (!Interchangeable(problem.cluster(), i, j)) continue;
      pairs.push_back({shared[i * num_devices + j], i, j});
    }
  }
  std::ranges::stable_sort(pairs, [](const Pair& x, const Pair& y) { return x.cost > y.cost; });
  std::vector<int> renamed(num_devices, -1);
  std::uint64_t taken = 0;
  for (const Pair& pair : pairs) {
    if (renamed[pair.b] >= 0 || (taken >> pair.a & 1)) continue;
    renamed[pair.b] = pair.a;
    taken |= std::uint64_t{1} << pair.a;
  }
  Placement matched = b;
  for (int g = 0; g < problem.num_groups(); ++g) {
    const int device = renamed[b.device[g]];
    if (problem.allowed(g, device)) matched.device[g] = static_cast<DeviceIndex>(device);
  }
  return matched;
}

Placement Crossover(const Problem& problem, const Placement& a, const Placement& b, Rng& rng) {
  const Placement other = MatchDevices(problem, a, b);
  Placement child = a;
  const int num_groups = problem.num_groups();
  std::vector<bool> seen(num_groups, false);
  std::vector<int> block;
  for (int first = 0; first < num_groups; ++first) {
    if (seen[first] || a.device[first] == other.device[first]) continue;
    seen[first] = true;
    block.assign(1, first);
    for (std::size_t i = 0; i < block.size(); ++i) {
      for (const Problem::Edge& edge : problem.neighbors(block[i])) {
        const int g = edge.neighbor;
        if (seen[g] || a.device[g] != a.device[first] || other.device[g] != other.device[first]) {
          continue;
        }
        seen[g] = true;
        block.push_back(g);
      }
    }
    if (Uniform01(rng) < 0.5) continue;
    for (const int g : block) child.device[g] = other.device[g];
  }
  return child;
}

}  // namespace emplace
