#pragma once

#include <string>
#include <vector>

#include "framework/config/fields.h"

namespace emplace {

/// What --help-config prints: every key of a config with its sentence and default, as YAML in which
/// the keys of maps are written "map.key".
/// @param what  what has the keys, for the first line: "a run config"
std::string FormatConfigHelp(const std::string& what, const std::vector<FieldHelp>& fields);

}  // namespace emplace
