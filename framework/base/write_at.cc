#include "framework/base/write_at.h"

#include <cerrno>
#include <cstddef>

#include <unistd.h>

namespace emplace {

bool WriteAt(int file, std::string_view text, std::int64_t offset) {
  while (!text.empty()) {
    const ssize_t count = pwrite(file, text.data(), text.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
    offset += count;
  }
  return true;
}

}  // namespace emplace
