#pragma once

// Executes runs of a sweep, each in a separate process. Every worker of a sweep uses this class:
// the sweep's own process, a rank of MPI, a job of a batch system.

#include <deque>
#include <map>
#include <vector>

#include "experiments/sweep/process_pool.h"
#include "experiments/sweep/run_board.h"
#include "experiments/sweep/sweep.h"

namespace emplace {

struct WorkerSettings {
  int jobs = 1;   ///< concurrent runs
  int cores = 1;  ///< cores of each run, unless its config sets `threads`
  double checkpoint_seconds = 30;
};

/// Claims each run on the board before it begins. Skips runs that another process executes, and
/// runs that are done or have failed since the sweep began. A stopped run resumes from its
/// checkpoint. After the process of a run has ended, the run's file and its mark on the board show
/// the result.
///
/// After a stop request (StopRequest of this process, or on the board) no further run begins, and
/// the current runs save a checkpoint.
class RunWorker {
 public:
  /// @param sweep, board  must outlive this object
  /// @throws RunError if the library of results files is missing
  RunWorker(const Sweep& sweep, RunBoard& board, const WorkerSettings& settings);

  /// Appends runs to the queue.
  void Add(const std::vector<int>& runs);
  /// Returns whether no run is active and none is left to begin.
  bool idle() const;
  /// Begins runs up to the limit, waits until a run ends or a tick (0.2 s) has passed, and begins
  /// runs again.
  /// @throws RunError if not even one process can be started, or a failure cannot be written
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
