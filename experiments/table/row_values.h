#pragma once

// The numbers of one row of a table: medians over seeds, formulas of them, and both in every
// resample of the bootstrap (result_table.h).
//
// What it is expected to take until a target is reached, if a search that ends without is begun
// anew with another seed, is
//
//   sum over all runs of min(when it was reached, when the run ended) / number that reached it
//
// the expected running time of COCO (Hansen, Auger, Ros, Mersmann, Tusar and Brockhoff, "COCO: a
// platform for comparing continuous optimizers in a black-box setting", Optimization Methods and
// Software 36(1), 2021 [R]). Unlike a median it counts what searching in vain has cost.

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/table/seed_interval.h"
#include "experiments/table/table_layout.h"
#include "experiments/table/table_runs.h"
#include "framework/base/random.h"

namespace emplace {

inline constexpr int kTableResamples = 10000;

/// A number, and what it is in each resample.
struct Resampled {
  bool run = true;                   ///< false: a finished run is missing
  std::vector<std::string> missing;  ///< of these agents; or names that are no columns
  double value = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> samples;  ///< [kTableResamples]; empty: no chance is in it
  SeedCounts seeds;             ///< that the samples are drawn from
  bool is_median = false;       ///< of the seeds of one agent, which alone are by chance

  double At(int resample) const { return samples.empty() ? value : samples[resample]; }
};

/// From kBootstrapSeeds on the 95 % percentile interval: of N samples in order, those with the
/// numbers 0.025 N and 0.975 N. With fewer the range of the samples, which is the range of the
/// seeds if the number is their median: that has RangeLevel(); others, such as formulas, have no
/// level. None without samples, or if one of them is NaN.
std::optional<Interval> IntervalOf(const Resampled& number);

/// A random generator whose state depends on the text alone.
Rng GeneratorFor(const std::string& text);

/// Computes all columns of a row.
class RowValues {
 public:
  /// @param columns, order  of a TableLayout   @param unit  of step times
  /// @param name  of the row, for messages
  /// @param runs  that the row selects; must outlive this
  /// @throws InputError if the runs of a column differ in more than the seed
  RowValues(const std::vector<LayoutColumn>& columns,
            const std::vector<int>& order,
            const std::string& unit,
            const std::string& name,
            const std::vector<const ResultRun*>& runs);

  const Resampled& column(int index) const { return columns_[index]; }
  /// Runs of the column, done or not; none for a formula.
  const std::vector<const ResultRun*>& runs(int index) const { return runs_[index]; }
  /// How many of them have a finite number; with a target: reached it.
  int num_finite(int index) const { return num_finite_[index]; }

  /// The value of a formula of columns, in their units. A name that is no column is told in
  /// `missing`.
  Resampled Evaluate(const Formula& formula) const;
  /// The same, without resamples, if a column, and with it those computed from it, had another
  /// value. @pre Evaluate(formula).run
  double EvaluateIf(const Formula& formula, const std::string& column, double value) const;

  /// Step times of all runs of the row that are done and fit, ascending [unit].
  const std::vector<double>& known_times() const { return known_times_; }
  /// A bound that holds for all of them [unit]; 0: none.
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
