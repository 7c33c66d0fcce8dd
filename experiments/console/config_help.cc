#include "experiments/console/config_help.h"

#include <fmt/format.h>

#include "experiments/console/output.h"

namespace emplace {
namespace {

// Returns "# TEXT", wrapped to the width of stdout.
std::string CommentOf(const std::string& text) {
  constexpr int kMark = 2;  // "# "
  const int columns = ViewOfOutput().columns;
  std::string comment = "# ";
  for (const char c : WrapLines(text, columns > kMark ? columns - kMark : 0, 0)) {
    comment += c == '\n' ? "\n# " : std::string(1, c);
  }
  return comment + "\n";
}

}  // namespace

std::string FormatConfigHelp(const std::string& what, const std::vector<FieldHelp>& fields) {
  std::string text = CommentOf(
      fmt::format("Keys of {} with their defaults. \"map.key\" stands for a key of a map;\n"
                  "--set KEY=VALUE replaces a key from the command line.",
                  what));
  for (const FieldHelp& field : fields) {
    if (field.default_value.empty()) {  // a map, its keys follow
      text += "\n" + CommentOf(field.key + ": " + field.help);
      continue;
    }
    const bool is_list = field.default_value.starts_with("- ");
    text += "\n" + CommentOf(field.help) +
            fmt::format("{}:{}{}\n", field.key, is_list ? "\n  " : " ", field.default_value);
  }
  return text;
}

}  // namespace emplace
