#include "framework/config/setting_error.h"

#include <limits>

#include <fmt/format.h>

namespace emplace {

void RequireRange(const std::string& key, double value, double low, double high) {
  if (value >= low && value <= high) return;
  throw SettingError(
      key,
      high == std::numeric_limits<double>::infinity()
          ? fmt::format("expected a number of at least {}, got {}", low, value)
          : fmt::format("expected a number from {} to {}, got {}", low, high, value));
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
