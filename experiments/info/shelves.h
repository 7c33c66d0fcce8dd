#pragma once

// The names that `emplace list` shows.

#include <string>
#include <vector>

namespace emplace {

/// Returns the names on one of the menus of `emplace list`. @param what  "graphs"
/// @throws InputError for a menu that is not there, with the choices
std::vector<std::string> NamesOnShelf(const std::string& what);

}  // namespace emplace
