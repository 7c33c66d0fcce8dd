#pragma once

#include <string>
#include <vector>

#include "framework/config/fields.h"

namespace emplace {

/// Returns the text of --help-config: every key of a config with its sentence and default, as YAML
/// in which the keys of maps are written "map.key". Sentences are wrapped to the width of stdout.
/// @param what  the kind of config, for the first line: "a run config"
std::string FormatConfigHelp(const std::string& what, const std::vector<FieldHelp>& fields);

}  // namespace emplace
