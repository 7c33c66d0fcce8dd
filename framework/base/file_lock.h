#pragma once

// Keeps two programs from writing one file in turns, each over what the other has written.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "framework/base/lock_file.h"

namespace emplace {

/// While one lives nobody else gets one for the same file, in this process or another; on a network
/// file system that carries locks on no other machine either. Who only reads needs none.
///
/// It is held on the file ".NAME.lock" beside the file, which names process and host and goes away
/// with the lock. What a killed process leaves of it holds nobody up: the next one takes it over.
class FileLock {
 public:
  /// A device or pipe gets no lock.
  /// @param file  need not be there
  /// @param warn  told, once, that the file system has no locks; there the file is not guarded
  /// @throws InputError if it is held, also after waiting a second (a killed process may take a
  ///   moment to end); names the holder
  /// @throws RunError if the file cannot be written, as RequireWritable() (file.h), or its lock
  FileLock(const std::filesystem::path& file, const std::function<void(const std::string&)>& warn);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  bool Take(const std::filesystem::path& file, const std::function<void(const std::string&)>& warn);

  std::filesystem::path path_;  // of the lock's own file
  std::optional<LockFile> lock_;
};

}  // namespace emplace
