#include "experiments/config_help.h"

#include <fmt/format.h>

namespace emplace {

std::string FormatConfigHelp(const std::string& what, const std::vector<FieldHelp>& fields) {
  std::string text = fmt::format(
      "# Keys of {} with their defaults. \"map.key\" stands for a key of a map;\n"
      "# --set KEY=VALUE replaces a key from the command line.\n",
      what);
  for (const FieldHelp& field : fields) {
    if (field.default_value.empty()) {  // a map, its keys follow
      text += fmt::format("\n# {}: {}\n", field.key, field.help);
      continue;
    }
    const bool is_list = field.default_value.starts_with("- ");
    text += fmt::format(
        "\n# {}\n{}:{}{}\n", field.help, field.key, is_list ? "\n  " : " ", field.default_value);
  }
  return text;
}

}  // namespace emplace
