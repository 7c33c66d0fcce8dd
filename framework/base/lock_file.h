#pragma once

// A file with a lock that excludes other processes. Its text names the holder.

#include <filesystem>
#include <optional>
#include <string>

namespace emplace {

/// A process that holds a lock, or was killed while it held one. The text of the lock file names
/// it: "process 7 on host".
struct LockHolder {
  int pid = 0;
  std::string host;

  static LockHolder ThisProcess();
  /// Returns nullopt if the text does not name a holder.
  static std::optional<LockHolder> Parse(const std::string& text);
  std::string Text() const;
  /// Returns whether the process belongs to another machine.
  bool is_elsewhere() const;
  /// Returns false only for a process of this machine that has ended.
  bool may_live() const;
};

/// The lock is an flock(). It ends when this object and the processes forked meanwhile have ended,
/// even if they are killed. On a network file system that supports locks it also excludes other
/// machines.
class LockFile {
 public:
  /// Creates the file if it does not exist.
  /// @throws std::system_error if the file cannot be opened or is a link
  explicit LockFile(const std::filesystem::path& path);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  /// @return false if another process or object holds the lock
  /// @throws std::system_error if the file system has no locks
  bool TryLock() const;
  /// Returns whether the path still names this file, which another process may have removed.
  bool is_named() const;
  /// Replaces the text. @return false, with errno set, if that fails; the file is empty then
  bool Write(const std::string& text) const;

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace emplace
