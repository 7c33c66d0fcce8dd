#pragma once

// The numbers of one row of a table: medians over seeds, formulas, and both in every resample.

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/table/table_layout.h"
#include "experiments/table/table_runs.h"
#include "framework/base/random.h"

namespace emplace {

inline constexpr int kTableResamples = 10000;

/// A number with what it is in each resample.
struct Resampled {
  bool run = true;                   ///< false: `missing` is without a finished run
  std::vector<std::string> missing;  ///< agents, or names of columns that there are not
  double value = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> samples;  ///< [kTableResamples]; empty: no chance is in it

  double At(int resample) const { return samples.empty() ? value : samples[resample]; }
};

struct Interval {
  double low = 0, high = 0;
};

/// 95 % percentile interval: of N samples in order, number 0.025 N and number 0.975 N. None without
/// samples, or if one of them is undefined.
std::optional<Interval> PercentileInterval(const Resampled& number);

/// The middle one in order, the mean of the middle two of an even number; infinite ones count. NaN
/// if one is.
double MedianOf(std::vector<double> values);

/// A generator that depends on the text alone.
Rng GeneratorFor(const std::string& text);

class RowValues {
 public:
  /// @param columns, order  as of a TableLayout   @param unit  of step times
  /// @param name  of the row, for messages   @param runs  of the row, outlive nothing
  /// @throws InputError if the runs of a column differ in more than the seed
  RowValues(const std::vector<LayoutColumn>& columns,
            const std::vector<int>& order,
            const std::string& unit,
            const std::string& name,
            const std::vector<const ResultRun*>& runs);

  const Resampled& column(int index) const { return columns_[index]; }
  /// Runs of the column, done or not; none of a formula.
  const std::vector<const ResultRun*>& runs(int index) const { return runs_[index]; }
  /// Those of them whose number is finite.
  int num_finite(int index) const { return num_finite_[index]; }

  /// In the columns' units. A name that is no column is missing.
  Resampled Evaluate(const Formula& formula) const;

 private:
  Resampled EvaluateColumn(int index, const LayoutColumn& column);

  std::string unit_, name_;
  std::map<std::string, int> index_of_;
  std::vector<Resampled> columns_;
  std::vector<std::vector<const ResultRun*>> runs_;
  std::vector<int> num_finite_;
};

}  // namespace emplace
