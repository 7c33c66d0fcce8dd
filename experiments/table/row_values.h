#pragma once

// Computes the numbers of one row of a table: medians over seeds, formulas of them, and both in
// every resample of the bootstrap (result_table.h).
//
// The expected effort until a target is reached assumes that a search that ends without the target
// starts again with another seed. It is
//
//   sum over all runs of min(effort at the target, effort at the end) / number that reached it,
//
// the expected running time of COCO (Hansen, Auger, Ros, Mersmann, Tusar and Brockhoff, "COCO: a
// platform for comparing continuous optimizers in a black-box setting", Optimization Methods and
// Software 36(1), 2021). Unlike a median it includes the effort of unsuccessful searches.

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/table/table_layout.h"
#include "experiments/table/table_runs.h"
#include "framework/base/random.h"

namespace emplace {

// Intervals of a number that is known from a few seeds.
//
// All n independent draws lie on one side of the median of their distribution with probability 2^-n
// for each side. Otherwise the median lies between the least and the greatest draw. Their range is
// therefore an interval of the median with the level 1 - 2^(1-n), which is 50, 75, 87.5 and 93.75 %
// for n = 2, 3, 4, 5. A bootstrap of so few numbers gives their range, too, for any requested
// level. Therefore the interval is the range with its own level below six seeds, and the 95 %
// interval of a bootstrap from six seeds on.

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

inline constexpr int kTableResamples = 10000;

/// A number and its values in the resamples.
struct Resampled {
  bool run = true;                   ///< false: a finished run is missing
  std::vector<std::string> missing;  ///< these agents, or names that are not columns
  double value = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> samples;  ///< [kTableResamples]; empty: the number is not random
  SeedCounts seeds;             ///< number of resampled seeds
  bool is_median = false;       ///< median over the seeds of one agent

  double At(int resample) const { return samples.empty() ? value : samples[resample]; }
};

/// Returns the interval of a number. With kBootstrapSeeds or more it is the 95 % percentile
/// interval: samples number 0.025 N and 0.975 N of N ordered samples. With fewer it is the range of
/// the samples. For a median that is the range of the seeds, with the level RangeLevel(); for
/// others, such as formulas, the level is unknown. None without samples, or if a sample is NaN.
std::optional<Interval> IntervalOf(const Resampled& number);

/// Returns a random generator whose state depends only on the text.
Rng GeneratorFor(const std::string& text);

/// Computes all columns of a row.
class RowValues {
 public:
  /// @param columns, order  of a TableLayout
  /// @param unit            unit of step times
  /// @param name            name of the row, for messages
  /// @param runs            runs of the row; must outlive this object
  /// @throws InputError if the runs of a column differ in more than the seed
  RowValues(const std::vector<LayoutColumn>& columns,
            const std::vector<int>& order,
            const std::string& unit,
            const std::string& name,
            const std::vector<const ResultRun*>& runs);

  const Resampled& column(int index) const { return columns_[index]; }
  /// Returns the runs of the column, done or not; none for a formula.
  const std::vector<const ResultRun*>& runs(int index) const { return runs_[index]; }
  /// Returns the number of runs with a finite number; with a target: that reached it.
  int num_finite(int index) const { return num_finite_[index]; }

  /// Evaluates a formula of columns, in their units. Unknown names are added to `missing`.
  Resampled Evaluate(const Formula& formula) const;
  /// Evaluates the formula without resamples as if a column had another value; the columns computed
  /// from it change as well. @pre Evaluate(formula).run
  double EvaluateIf(const Formula& formula, const std::string& column, double value) const;

  /// Returns the step times of all done runs of the row whose placements fit, ascending [unit].
  const std::vector<double>& known_times() const { return known_times_; }
  /// Returns a bound on all of these times [unit]; 0: none.
  double bound() const { return bound_; }

 private:
  Resampled EvaluateColumn(int index, const LayoutColumn& column);
  double ValueIf(const std::string& name, const std::string& column, double value) const;

  std::vector<LayoutColumn> layout_;
  std::string unit_, name_;
  std::map<std::string, int> index_of_;
  std::vector<Resampled> columns_;
  std::vector<std::vector<const ResultRun*>> runs_;
  std::vector<int> num_finite_;
  std::vector<double> known_times_;
  double bound_ = 0;
};

}  // namespace emplace
