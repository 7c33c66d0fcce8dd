#pragma once

// The text of default_policy.txt, compiled into the program (scripts/cmake/embed_text.cmake).

#include <string_view>

namespace emplace::internal {

extern const std::string_view kDefaultPolicy;

}  // namespace emplace::internal
