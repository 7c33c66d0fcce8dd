#pragma once

// Where a table's layout comes from.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/table/table_layout.h"

namespace emplace {

/// What --layout and the key `table` of a sweep name: a file (a layout, or a sweep config with the
/// key `table`), a name of `emplace list layouts`, or of a sweep that has such a key.
/// @param where     place of `text` in messages
/// @param beside    folder for relative paths
/// @param settings  "key=value" texts that replace or add keys of the layout
/// @throws InputError as ReadTableLayout(); for an unknown name with the choices
TableLayout FindTableLayout(const std::string& text,
                            const std::string& where,
                            const std::filesystem::path& beside = {},
                            const std::vector<std::string>& settings = {});

/// The value of a sweep's key `table`: a map is the layout, a text names one as above.
TableLayout ReadSweepTable(const ConfigNode& table, const std::filesystem::path& beside);

}  // namespace emplace
