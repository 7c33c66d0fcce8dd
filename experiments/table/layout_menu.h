#pragma once

// Finding the layout of a table by what the user calls it.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/table/table_layout.h"

namespace emplace {

/// What --layout and the key `table` of a sweep name: a file (a layout, or a sweep config with the
/// key `table`), a name of `emplace list layouts`, or of a sweep that has such a key.
/// @param where     place of `text` in messages
/// @param beside    folder for relative paths
/// @param settings  of --set, see ApplySettings(); keys of the layout
/// @throws InputError as ReadTableLayout(); for an unknown name with the choices
TableLayout FindTableLayout(const std::string& text,
                            const std::string& where,
                            const std::filesystem::path& beside = {},
                            const std::vector<std::string>& settings = {});

/// The layout that a sweep's key `table` has as its value: a map is the layout itself, a text names
/// one as FindTableLayout() takes it.
TableLayout ReadSweepTable(const ConfigNode& table, const std::filesystem::path& beside);

}  // namespace emplace
