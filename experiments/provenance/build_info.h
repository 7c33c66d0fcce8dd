#pragma once

// The version and commit of this program, written at every build from build_info.cc.in.

#include <string_view>

namespace emplace {

/// Returns "0.1.0".
std::string_view Version();
/// Returns the abbreviated git commit of the sources, followed by "-dirty" if files were changed
/// since; "unknown" if the sources were neither a git checkout nor made by `git archive`.
std::string_view Commit();

}  // namespace emplace
