#pragma once

#include <vector>

#include "framework/base/random.h"
#include "framework/learn/matrix.h"

namespace emplace {

/// Draws one column for each row, with probability exp(log_probabilities[row, col]). A column of
/// -infinity is never drawn. Calls Uniform01() once for each row, from the first row to the last.
/// @return [rows] columns
/// @throws RunError for a row without a possible column: all entries are NaN or -infinity
std::vector<int> SampleRows(const Matrix& log_probabilities, Rng& rng);
/// Draws `count` times, one after another. @return [count][rows] columns
std::vector<std::vector<int>> SampleRows(const Matrix& log_probabilities, int count, Rng& rng);
/// Returns the most probable column of each row, the first of equals.
/// @throws RunError as SampleRows
std::vector<int> ArgmaxRows(const Matrix& log_probabilities);

}  // namespace emplace
