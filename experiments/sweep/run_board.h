#pragma once

// Who works at which run of a sweep, for all processes that work in its folder, on any machine that
// shares it. The file `board` has one byte per run:
//
//   its lock   held by the process that works at the run, and gone with that process, however it
//              ends: so no run is done by two, and none stays taken
//   its value  what the last process left: '.' nothing yet, 's' stopped, 'd' done, 'f' failed
//
// behind them '.', or 'x' once all workers shall stop, and the name of the sweep that began it. The
// values tell where something new is to be read. They are no results: a run is done if its file
// says so, and every start of a sweep writes the board anew from the files.
//
// Locks are those of open file descriptions (fcntl F_OFD_SETLK). Network file systems must keep
// them between machines: NFS does; Lustre does if it is mounted with `flock`, not with
// `localflock`.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace emplace {

enum class RunMark : char { kNone = '.', kStopped = 's', kDone = 'd', kFailed = 'f' };

/// The lock of one run, held as long as this object, or a copy that a fork made of it, lives.
class RunClaim {
 public:
  RunClaim(RunClaim&& other) noexcept;
  RunClaim& operator=(RunClaim&& other) noexcept;
  ~RunClaim();

  int run() const { return run_; }
  RunMark mark() const;
  /// @throws RunError if the board cannot be written
  void Mark(RunMark mark) const;

 private:
  friend class RunBoard;
  RunClaim(std::filesystem::path path, int file, int run);
  std::filesystem::path path_;
  int file_ = -1, run_ = 0;
};

class RunBoard {
 public:
  /// Opens the board, makes it if it is not there.
  /// @param num_runs  of the whole sweep
  /// @throws RunError if it cannot be opened
  RunBoard(std::filesystem::path path, int num_runs);
  ~RunBoard();
  RunBoard(const RunBoard&) = delete;
  RunBoard& operator=(const RunBoard&) = delete;

  /// Writes the whole board, without a request to stop. Locks stay as they are. For the sweep that
  /// holds the FolderLock.
  /// @param marks  [num_runs]
  /// @param owner  names the sweep, one line
  void Begin(const std::vector<RunMark>& marks, const std::string& owner);
  /// The owner of the last Begin(); empty before it.
  std::string owner() const;

  /// [num_runs]; kNone before Begin().
  std::vector<RunMark> Marks() const;
  /// Asks all workers, wherever they are, to save what they have and end.
  void RequestStop();
  bool stop_requested() const;

  /// Takes a run that nobody works at; nothing if somebody does.
  /// @throws RunError if the file system keeps no locks
  std::optional<RunClaim> Claim(int run) const;
  bool IsClaimed(int run) const;
  /// Number of runs that somebody works at.
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
