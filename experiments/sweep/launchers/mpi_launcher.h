#pragma once

#include <string>
#include <vector>

#include "experiments/sweep/launcher.h"
#include "experiments/sweep/run_worker.h"
#include "framework/ranks/launched_rank.h"

namespace emplace {

/// `mpirun -n 4 emplace sweep CONFIG --launcher mpi`: every rank works through the runs, one at a
/// time; rank r begins with every size-th run from the r-th on, then takes what the others have not
/// begun. Rank 0 holds the folder's lock, shows progress and reports the end. The ranks share the
/// folder and its board alone: they call no function of MPI, so that every RankLauncher will do,
/// `srun` without MPI too.
///
/// This is the launcher of rank 0; the others call WorkAsRank().
class MpiLauncher : public Launcher {
 public:
  /// @throws InputError without a rank, or as FindLaunchedRank()
  explicit MpiLauncher(const LaunchOrder& order);
  std::string description() const override;
  void Submit(const std::vector<int>& runs) override;
  std::vector<EndedRuns> Watch() override;
  void Cancel() override {}

 private:
  LaunchedRank rank_;
  RunWorker worker_;
  std::vector<int> submitted_;
};

/// What the ranks above 0 do: wait until rank 0 has begun the sweep in the folder, then work
/// through its runs. Asked to stop, a rank saves what it has and stays until rank 0 has ended, five
/// seconds at most.
/// @param frozen  the text of sweep.yaml, as rank 0 writes it
/// @throws RunError if rank 0 has not begun within two minutes
void WorkAsRank(const Sweep& sweep,
                const LaunchedRank& rank,
                const std::string& frozen,
                const WorkerSettings& settings);

}  // namespace emplace
