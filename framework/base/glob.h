#pragma once

#include <string_view>

namespace emplace {

/// True if all of `text` matches `pattern`: '*' stands for any characters (none, and '/',
/// included), '?' for exactly one, everything else for itself. Time O(|pattern| * |text|).
bool MatchesGlob(std::string_view pattern, std::string_view text);

}  // namespace emplace
