#pragma once

#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::testing {

/// Returns the parts of a line between blanks: Words("run r.yaml -o r.h5") are four.
inline std::vector<std::string> Words(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

/// Returns how often a text holds a part, which may overlap itself.
inline int Occurrences(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace emplace::testing
