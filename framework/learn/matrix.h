#pragma once

// The matrix type of framework/learn: float32, row-major. A row is an op, a group or a sample.

#include <Eigen/Core>

namespace emplace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace emplace
