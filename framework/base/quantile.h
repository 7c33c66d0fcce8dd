#pragma once

// Median and quantiles of a sample, the only ones of the program.

#include <span>
#include <vector>

namespace emplace {

/// Quantile of a sample: linear interpolation between the order statistics at places
/// q * (n - 1) (type 7 of Hyndman and Fan 1996, as NumPy's default). Exact at both ends and between
/// equal values; infinite values count as such.
/// @param values  not empty; NaN if one of them is NaN   @param q  in [0, 1]
double Quantile(std::vector<double> values, double q);

/// The same of values in ascending order without NaN.
double QuantileOfSorted(std::span<const double> sorted, double q);

/// Quantile(values, 1/2): the mean of the two in the middle where their number is even.
double Median(std::vector<double> values);

}  // namespace emplace
