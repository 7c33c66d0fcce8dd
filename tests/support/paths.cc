#include "tests/support/paths.h"

#include <cstdlib>
#include <stdexcept>

namespace emplace::testing {

std::filesystem::path SourceDir() {
  return EMPLACE_SOURCE_DIR;
}

std::filesystem::path BinaryDir() {
  return EMPLACE_BINARY_DIR;
}

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "emplace_test_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed: " + name);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace emplace::testing
