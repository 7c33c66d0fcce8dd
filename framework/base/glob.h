#pragma once

#include <string_view>

namespace emplace {

/// Returns true if all of `text` matches `pattern`: '*' stands for any number of characters (also
/// 0, and '/' included), '?' for exactly one, any other character for itself. Time O(|pattern| *
/// |text|).
bool MatchesGlob(std::string_view pattern, std::string_view text);

}  // namespace emplace
