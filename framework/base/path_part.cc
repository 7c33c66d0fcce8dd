#include "framework/base/path_part.h"

#include <algorithm>

namespace emplace {
namespace {

constexpr std::size_t kMostBytes = 255;  // NAME_MAX of Linux

bool EndsPath(unsigned char c) {
  return c < ' ' || c == '\x7f' || c == '/';
}

}  // namespace

bool IsPathPart(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= kMostBytes &&
         std::ranges::none_of(name, EndsPath);
}

bool IsPathBelow(std::string_view path) {
  while (true) {
    const std::size_t slash = path.find('/');
    if (!IsPathPart(path.substr(0, slash))) return false;
    if (slash == path.npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace emplace
