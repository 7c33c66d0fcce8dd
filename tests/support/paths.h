#pragma once

#include <filesystem>
#include <string>

namespace emplace::testing {

/// Root of the source tree.
std::filesystem::path SourceDir();
/// Root of the build tree.
std::filesystem::path BinaryDir();

/// A folder of its own for one test, removed with everything in it at the end.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Message of the Error that `f` throws; "(nothing was thrown)" if it throws none.
template <class Error, class F>
std::string MessageOf(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

}  // namespace emplace::testing
