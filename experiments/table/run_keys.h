#pragma once

#include <string>
#include <vector>

namespace emplace {

/// Returns the keys of a run config that can define or select rows of tables, and `agent` (its
/// label).
std::vector<std::string> RunKeys();

}  // namespace emplace
