#pragma once

// Median and quantiles of a sample. All parts of the program use these functions.

#include <span>
#include <utility>
#include <vector>

namespace emplace {

/// Returns a quantile of a sample by linear interpolation between the order statistics at positions
/// q * (n - 1) (type 7 of Hyndman and Fan 1996, the default of NumPy). Exact at both ends and
/// between equal values; infinite values are allowed.
/// @param values  not empty; the result is NaN if one of them is NaN   @param q  in [0, 1]
double Quantile(std::vector<double> values, double q);

/// Returns the same for values in ascending order without NaN.
double QuantileOfSorted(std::span<const double> sorted, double q);

/// Returns Quantile(values, 1/2): the mean of the two middle values if their number is even.
double Median(std::vector<double> values);

/// Returns the lower weighted median: the least value with at least half of the weight at or below
/// it. @param values  (value, weight >= 0), not empty
double WeightedMedian(std::vector<std::pair<double, double>> values);

}  // namespace emplace
