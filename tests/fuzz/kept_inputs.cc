#include "tests/fuzz/kept_inputs.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>

#include "tests/support/paths.h"

namespace emplace::fuzz {

std::vector<std::string> FilesOf(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> contents;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    contents.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return contents;
}

std::vector<std::string> KeptInputs(const FuzzTarget& target, const std::string& what) {
  return FilesOf(testing::SourceDir() / "tests/fuzz" / what / target.name);
}

}  // namespace emplace::fuzz
