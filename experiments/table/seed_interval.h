#pragma once

// Intervals of a number that is known from a few seeds.
//
// All n independent draws lie on one side of the median of their distribution with probability 2^-n
// for each side. Otherwise the median lies between the least and the greatest draw. Their range is
// therefore an interval of the median with the level 1 - 2^(1-n), which is 50, 75, 87.5 and 93.75 %
// for n = 2, 3, 4, 5. A bootstrap of so few numbers gives their range, too, for any requested
// level. Therefore the interval is the range with its own level below six seeds, and the 95 %
// interval of a bootstrap from six seeds on.

#include <optional>
#include <string>

namespace emplace {

inline constexpr int kBootstrapSeeds = 6;  ///< with fewer an interval is the range

/// The least and greatest number of seeds of some agents; 0: none of the numbers is random.
struct SeedCounts {
  int least = 0, most = 0;
  void Include(const SeedCounts& other);
};
/// Returns "2 seeds" or "2 to 5 seeds".
std::string ToString(const SeedCounts& seeds);

/// An interval of a number.
struct Interval {
  double low = 0, high = 0;
  bool is_range = false;        ///< else the 95 % percentile interval of a bootstrap
  std::optional<double> level;  ///< probability that such an interval contains the median of all
                                ///< possible seeds; none: unknown
  SeedCounts seeds;             ///< number of seeds that it is computed from
};

/// Returns the level of the range of `num_seeds` seeds: 1 - 2^(1 - num_seeds).
double RangeLevel(int num_seeds);

}  // namespace emplace
