#pragma once

// A file whose lock keeps other processes out, and whose text names who holds it.

#include <filesystem>
#include <optional>
#include <string>

namespace emplace {

/// A process that holds a lock or was killed with it, as the text of the lock's file names it:
/// "process 7 on host".
struct LockHolder {
  int pid = 0;
  std::string host;

  static LockHolder ThisProcess();
  /// Nothing if the text is no holder's.
  static std::optional<LockHolder> Parse(const std::string& text);
  std::string Text() const;
  /// On another machine.
  bool is_elsewhere() const;
  /// False only of a process of this machine that has ended.
  bool may_live() const;
};

/// The lock, flock(), is held until this object and the processes forked meanwhile have ended,
/// however they end. On a network file system that carries locks it keeps out other machines, too.
class LockFile {
 public:
  /// Makes the file if it is not there. @throws std::system_error if it cannot be opened, also if
  /// it is a link
  explicit LockFile(const std::filesystem::path& path);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  /// @return false if another holds it
  /// @throws std::system_error if the file system has no locks
  bool TryLock() const;
  /// Has the path still this file? Another may have removed it since it was opened.
  bool is_named() const;
  /// Replaces the text. @return false if that fails, with nothing in it; errno tells why
  bool Write(const std::string& text) const;

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace emplace
