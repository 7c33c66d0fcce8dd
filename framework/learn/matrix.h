#pragma once

// The one matrix type of framework/learn: float32, row by row. A row is an op, a group, a sample.

#include <Eigen/Core>

namespace emplace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace emplace
