#pragma once

#include <string_view>

namespace emplace {

/// "0.1.0"
std::string_view Version();
/// Abbreviated git commit this program was built from, "-dirty" behind it when files were changed;
/// "unknown" outside a git checkout.
std::string_view Commit();

}  // namespace emplace
