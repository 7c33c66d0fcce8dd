#pragma once

// The board records which process executes which run of a sweep, for all processes that work in the
// sweep's folder on any machine. The file `board` has one byte per run:
//
//   its lock   held by the process that executes the run; the system frees it when the process ends
//              for any reason, so no run is executed twice and none stays locked
//   its value  the state left by the last process: '.' none yet, 's' stopped, 'd' done, 'f' failed
//
// After these bytes comes '.', or 'x' if all workers must stop, and the name of the sweep that
// began the board. The values only show which run files have news. They are not results: a run is
// done if its file says so, and every start of a sweep rewrites the board from the files.
//
// Locks belong to open file descriptions (fcntl F_OFD_SETLK). Network file systems must keep them
// between machines: NFS does; Lustre does if it is mounted with `flock`, not with `localflock`.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/run_progress.h"

namespace emplace {

/// The lock of one run. It is held as long as this object or a copy of it in a forked process
/// lives.
class RunClaim {
 public:
  RunClaim(RunClaim&& other) noexcept;
  RunClaim& operator=(RunClaim&& other) noexcept;
  ~RunClaim();

  int run() const { return run_; }
  RunProgress mark() const;
  /// @throws RunError if the board cannot be written
  void Mark(RunProgress mark) const;

 private:
  friend class RunBoard;
  RunClaim(std::filesystem::path path, int file, int run);
  std::filesystem::path path_;
  int file_ = -1, run_ = 0;
};

class RunBoard {
 public:
  /// Opens the board and creates it if it does not exist.
  /// @param num_runs  of the whole sweep
  /// @throws RunError if it cannot be opened
  RunBoard(std::filesystem::path path, int num_runs);
  ~RunBoard();
  RunBoard(const RunBoard&) = delete;
  RunBoard& operator=(const RunBoard&) = delete;

  /// Writes the whole board, without a stop request. Locks do not change. Only the sweep that holds
  /// the FolderLock may call this.
  /// @param marks  [num_runs]
  /// @param owner  name of the sweep, one line
  void Begin(const std::vector<RunProgress>& marks, const std::string& owner);
  /// Returns the owner of the last Begin(); empty before it.
  std::string owner() const;

  /// [num_runs]; kNone before Begin().
  std::vector<RunProgress> Marks() const;
  /// Asks all workers on all machines to save their state and end.
  void RequestStop();
  bool stop_requested() const;

  /// Locks a run; none if another process holds its lock.
  /// @throws RunError if the file system keeps no locks
  std::optional<RunClaim> Claim(int run) const;
  bool IsClaimed(int run) const;
  /// Returns the number of runs that are being executed.
  int NumClaimed() const;

 private:
  std::string Read(int begin, int count) const;
  void Write(const std::string& text, int begin);
  int CountClaimed(int begin, int end) const;

  std::filesystem::path path_;
  int num_runs_;
  int file_ = -1;
};

}  // namespace emplace
