#pragma once

// Finds the layout of a table by a name or path.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/table/table_layout.h"

namespace emplace {

/// Returns the layout named by --layout or the key `table` of a sweep: a file (a layout, or a sweep
/// config with the key `table`), a name of `emplace list layouts`, or the name of a sweep that has
/// such a key.
/// @param where     place of `text` in messages
/// @param beside    folder for relative paths
/// @param settings  values of --set, see ApplySettings(); keys of the layout
/// @throws InputError as ReadTableLayout(); for an unknown name with the choices
TableLayout FindTableLayout(const std::string& text,
                            const std::string& where,
                            const std::filesystem::path& beside = {},
                            const std::vector<std::string>& settings = {});

/// Returns the layout in a sweep's key `table`. A map is the layout itself; a text names a layout
/// as in FindTableLayout().
TableLayout ReadSweepTable(const ConfigNode& table, const std::filesystem::path& beside);

}  // namespace emplace
