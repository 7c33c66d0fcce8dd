#pragma once

#include <vector>

#include "framework/base/random.h"
#include "framework/learn/matrix.h"

namespace emplace {

/// One column per row, drawn with probability exp(log_probabilities[row, col]); a column of
/// -infinity is never drawn. Takes one Uniform01() per row, from the first row to the last.
/// @return [rows] columns
/// @throws RunError for a row of which nothing can be drawn: not numbers, or -infinity throughout
std::vector<int> SampleRows(const Matrix& log_probabilities, Rng& rng);
/// The most probable column of each row, the first of equals. @throws RunError as SampleRows
std::vector<int> ArgmaxRows(const Matrix& log_probabilities);

}  // namespace emplace
