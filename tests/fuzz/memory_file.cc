#include "tests/fuzz/memory_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "framework/base/error.h"

namespace emplace::fuzz {

MemoryFile::MemoryFile(std::string_view content) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
  EMPLACE_CHECK(descriptor_ >= 0);
  while (!content.empty()) {
    const ssize_t put = write(descriptor_, content.data(), content.size());
    EMPLACE_CHECK(put > 0);
    content.remove_prefix(static_cast<std::size_t>(put));
  }
}

MemoryFile::~MemoryFile() {
  close(descriptor_);
}

std::filesystem::path MemoryFile::path() const {
  return fmt::format("/proc/self/fd/{}", descriptor_);
}

}  // namespace emplace::fuzz
