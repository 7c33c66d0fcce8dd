#pragma once

#include <string>
#include <vector>

namespace emplace {

/// Keys of a run config that rows of tables can be made of or selected by, `agent` (its label)
/// included.
std::vector<std::string> RunKeys();

}  // namespace emplace
