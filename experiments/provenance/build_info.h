#pragma once

// Which program this is. Written at every build, from build_info.cc.in.

#include <string_view>

namespace emplace {

/// "0.1.0"
std::string_view Version();
/// Abbreviated git commit that this program was built from, followed by "-dirty" if files were
/// changed since; "unknown" if the sources were neither a git checkout nor made by `git archive`.
std::string_view Commit();

}  // namespace emplace
