#pragma once

// Prevents two programs from writing the same file in turns and overwriting each other's content.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "framework/base/lock_file.h"

namespace emplace {

/// At most one FileLock exists for a file at a time, in this process and in all others. This
/// includes other machines if a network file system supports locks. A process that only reads the
/// file needs no lock.
///
/// The lock is held on a lock file ".NAME.lock" next to the file. The lock file names the process
/// and the host of the holder and is removed with the lock. The lock file of a killed process
/// blocks nobody: the next process takes it over.
class FileLock {
 public:
  /// Takes the lock; a device or pipe gets none.
  /// @param file  may be absent
  /// @param warn  called once if the file system has no locks; the file is not protected then
  /// @throws InputError naming the holder if the lock is still held after a second (a killed
  ///   process may take a moment to end)
  /// @throws RunError if the file (see RequireWritable() in file.h) or its lock cannot be written
  FileLock(const std::filesystem::path& file, const std::function<void(const std::string&)>& warn);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  bool Take(const std::filesystem::path& file, const std::function<void(const std::string&)>& warn);

  std::filesystem::path path_;  // of the lock file
  std::optional<LockFile> lock_;
};

}  // namespace emplace
