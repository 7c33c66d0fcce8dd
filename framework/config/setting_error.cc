#include "framework/config/setting_error.h"

#include <algorithm>

#include <fmt/format.h>

namespace emplace {

void RequireChoice(const std::string& key,
                   const std::string& value,
                   const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  throw SettingError(key, fmt::format("expected {}, got \"{}\"", JoinChoices(choices), value));
}

std::string JoinChoices(const std::vector<std::string>& choices) {
  std::string text;
  for (const std::string& choice : choices) {
    if (!text.empty()) text += ", ";
    text += '"' + choice + '"';
  }
  return text;
}

}  // namespace emplace
