#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "framework/config/fields.h"

namespace emplace {

/// Returns the text of --help-config: every key of a config with its sentence and default, as YAML
/// in which the keys of maps are written "map.key". Sentences are wrapped to the width of stdout.
/// @param what  the kind of config, for the first line: "a run config"
std::string FormatConfigHelp(const std::string& what, const std::vector<FieldHelp>& fields);

/// Returns YAML with every key and its value, which reads back as the config.
/// @param fields  DescribeFields() of the config
std::string FormatConfig(const std::vector<FieldHelp>& fields);
/// Puts a margin before each line of a text; the last line also ends with a newline.
std::string IndentLines(const std::string& text, std::size_t margin);

}  // namespace emplace
