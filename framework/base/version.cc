#include "framework/base/version.h"

#include <fmt/format.h>

namespace emplace {

std::string WhyUnreadable(std::int64_t version, std::int64_t newest) {
  if (version > newest) {
    return fmt::format(
        "expected at most {}, got {}: made by a newer version of emplace", newest, version);
  }
  if (version >= 1) return "";
  return fmt::format(
      "expected {}, got {}", newest == 1 ? "1" : fmt::format("1 to {}", newest), version);
}

}  // namespace emplace
