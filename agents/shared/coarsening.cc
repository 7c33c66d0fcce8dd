#include "agents/shared/coarsening.h"

#include <cstdint>
#include <numeric>
#include <utility>

#include "agents/shared/devices.h"

namespace emplace {

std::vector<double> MeanCosts(const Problem& problem) {
  std::vector<double> costs;
  for (int g = 0; g < problem.num_groups(); ++g) {
    costs.push_back(MeanCost(problem, g, ~std::uint64_t{0}));
  }
  return costs;
}

std::vector<int> RandomOrder(int n, Rng& rng) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (int i = n; i > 1; --i) std::swap(order[i - 1], order[UniformInt(rng, i)]);
  return order;
}

}  // namespace emplace
