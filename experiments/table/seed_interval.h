#pragma once

// Intervals of a number that is known from a few seeds.
//
// The least and the greatest of n independent draws have the median of their distribution between
// them unless all draws lie on one side of it, which happens with probability 2^-n for each side:
// their range is an interval of the median with the level 1 - 2^(1-n), which is 50, 75, 87.5 and
// 93.75 % for n = 2, 3, 4, 5. A bootstrap of so few numbers gives their range, too, whatever level
// it is asked for. Therefore an interval is called the range, with the level that it has, below six
// seeds, and is the 95 % interval of a bootstrap from six on.

#include <optional>
#include <string>

namespace emplace {

inline constexpr int kBootstrapSeeds = 6;  ///< with fewer an interval is the range

/// How many seeds the numbers of some agents are of; 0: none of them is by chance.
struct SeedCounts {
  int least = 0, most = 0;
  void Include(const SeedCounts& other);
};
/// "2 seeds", "2 to 5 seeds"
std::string ToString(const SeedCounts& seeds);

/// Where a number may lie.
struct Interval {
  double low = 0, high = 0;
  bool is_range = false;        ///< else the 95 % percentile interval of a bootstrap
  std::optional<double> level;  ///< chance that such an interval contains the median of all seeds
                                ///< that there could be; none: not known
  SeedCounts seeds;             ///< that it rests on
};

/// Returns the level of the range of `num_seeds` seeds: 1 - 2^(1 - num_seeds).
double RangeLevel(int num_seeds);

}  // namespace emplace
