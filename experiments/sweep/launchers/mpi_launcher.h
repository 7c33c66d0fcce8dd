#pragma once

#include <string>
#include <vector>

#include "experiments/sweep/launcher.h"
#include "experiments/sweep/run_worker.h"
#include "framework/ranks/launched_rank.h"

namespace emplace {

/// `mpirun -n 4 emplace sweep CONFIG --launcher mpi`: every rank executes one run at a time. Rank r
/// begins with every size-th run from the r-th on, then takes runs that the others have not begun.
/// Rank 0 holds the folder's lock, shows progress and reports the end. The ranks share only the
/// folder and its board. They call no function of MPI, so every RankLauncher works, including
/// `srun` without MPI.
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

/// The work of the ranks above 0: waits until rank 0 has begun the sweep in the folder, then
/// executes its runs. After a stop request a rank saves its state and waits for the end of rank 0,
/// five seconds at most.
/// @param frozen  the text of sweep.yaml, as rank 0 writes it
/// @throws RunError if rank 0 has not begun within two minutes
void WorkAsRank(const Sweep& sweep,
                const LaunchedRank& rank,
                const std::string& frozen,
                const WorkerSettings& settings);

}  // namespace emplace
