#include "experiments/table/seed_interval.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace emplace {

void SeedCounts::Include(const SeedCounts& other) {
  if (other.most == 0) return;
  least = most == 0 ? other.least : std::min(least, other.least);
  most = std::max(most, other.most);
}

std::string ToString(const SeedCounts& seeds) {
  if (seeds.least < seeds.most) return fmt::format("{} to {} seeds", seeds.least, seeds.most);
  return fmt::format("{} seed{}", seeds.most, seeds.most == 1 ? "" : "s");
}

double RangeLevel(int num_seeds) {
  return 1 - std::pow(2, 1 - num_seeds);
}

}  // namespace emplace
