#pragma once

#include <string_view>

namespace emplace::testing {

inline bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace emplace::testing
