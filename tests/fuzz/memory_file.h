#pragma once

#include <filesystem>
#include <string_view>

namespace emplace::fuzz {

/// A file in memory, for readers that want a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::filesystem::path path() const;

 private:
  int descriptor_;
};

}  // namespace emplace::fuzz
