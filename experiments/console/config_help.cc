#include "experiments/console/config_help.h"

#include <algorithm>

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

// Returns whether a YAML text has to be below its key.
bool IsBlock(const std::string& text) {
  const ConfigNode value = ConfigNode::FromString(text, "default");
  return (value.IsMap() || value.IsSequence()) && text[0] != '{' && text[0] != '[';
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

std::string IndentLines(const std::string& text, size_t margin) {
  std::string indented;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    indented += std::string(margin, ' ') + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return indented;
}

std::string FormatConfig(const std::vector<FieldHelp>& fields) {
  std::string text;
  for (const FieldHelp& field : fields) {
    const size_t margin = 2 * std::ranges::count(field.key, '.');
    const std::string key = field.key.substr(field.key.rfind('.') + 1);  // npos + 1 is 0
    const bool is_map = field.default_value.empty();                     // its keys follow
    if (is_map || IsBlock(field.default_value)) {
      text += IndentLines(key + ":", margin) + IndentLines(field.default_value, margin + 2);
    } else {
      text += IndentLines(key + ": " + field.default_value, margin);
    }
  }
  return text;
}

}  // namespace emplace
