#pragma once

// Works through runs of a sweep, each in a process of its own. What works at a sweep is made of
// this, wherever it is: the sweep's own process, a rank of MPI, a job of a batch system.

#include <deque>
#include <map>
#include <vector>

#include "experiments/sweep/process_pool.h"
#include "experiments/sweep/run_board.h"
#include "experiments/sweep/sweep.h"

namespace emplace {

struct WorkerSettings {
  int jobs = 1;   ///< runs at a time
  int cores = 1;  ///< of each run, unless its config says `threads`
  double checkpoint_seconds = 30;
};

/// Each run is claimed on the board before it begins; one that another process works at, or that
/// is done or has failed since the sweep began, is passed over. A run that is stopped goes on from
/// its checkpoint. When its process has ended, its file and its mark on the board tell how.
///
/// A stop (StopRequest of this process, or of the board) lets no further run begin and those there
/// are save a checkpoint.
class RunWorker {
 public:
  /// @param sweep, board  must outlive this
  /// @throws RunError without the library of results files
  RunWorker(const Sweep& sweep, RunBoard& board, const WorkerSettings& settings);

  /// Puts runs at the end of the queue.
  void Add(const std::vector<int>& runs);
  /// Has nothing more to do: no run is under way, none is left that may begin.
  bool idle() const;
  /// Begins what there is room for, waits until a run ends or a tick has passed (0.2 s), and begins
  /// what there is room for then.
  /// @throws RunError if not even one process can be had, or a failure cannot be written
  void Step();

 private:
  bool IsToStop() const;
  void BeginOrStop();
  void BeginSome();
  bool Begin(int run);
  void Work(int run);
  void Ended(const WorkerEnd& end);

  const Sweep& sweep_;
  RunBoard& board_;
  WorkerSettings settings_;
  std::deque<int> queue_;
  std::map<int, RunClaim> claims_;  // by run
  ProcessPool pool_;
};

}  // namespace emplace
