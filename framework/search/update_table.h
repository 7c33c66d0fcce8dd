#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace emplace {

/// An agent's own metrics, one row per update of its policy or model: loss, learning rate, ...
struct UpdateTable {
  std::vector<std::string> columns;
  std::vector<double> values;  ///< [num_rows, columns.size()], row by row; NaN: not known

  std::int64_t num_rows() const {
    return columns.empty() ? 0 : static_cast<std::int64_t>(values.size() / columns.size());
  }
};

}  // namespace emplace
