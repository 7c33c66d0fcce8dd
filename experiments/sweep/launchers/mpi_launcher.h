#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/sweep/launcher.h"
#include "experiments/sweep/run_worker.h"

namespace emplace {

/// This process among those that one mpirun or srun has started.
struct MpiRank {
  int rank = 0;
  int size = 1;
};

/// Reads rank and size from what the starter puts into the environment: OMPI_COMM_WORLD_RANK and
/// _SIZE (Open MPI), PMI_RANK and _SIZE (MPICH, Intel MPI), SLURM_PROCID and SLURM_NTASKS (srun).
/// @return nothing outside of such a start
/// @throws InputError for values that are no rank and size
std::optional<MpiRank> FindMpiRank();

/// `mpirun -n 4 emplace sweep CONFIG --launcher mpi`: every rank works through the runs, one at a
/// time; rank r begins with every size-th run from the r-th on, then takes what the others have not
/// begun. Rank 0 holds the folder's lock, shows progress and reports the end. The ranks share the
/// folder and its board alone: they call no function of MPI, so emplace is not linked to one, and
/// any starter that numbers its processes will do.
///
/// This is the launcher of rank 0; the others call WorkAsRank().
class MpiLauncher : public Launcher {
 public:
  /// @throws InputError outside of an mpirun
  explicit MpiLauncher(const LaunchOrder& order);
  std::string description() const override;
  void Submit(const std::vector<int>& runs) override;
  std::vector<EndedRuns> Watch() override;
  void Cancel() override {}

 private:
  MpiRank rank_;
  RunWorker worker_;
  std::vector<int> submitted_;
};

/// What the ranks above 0 do: wait until rank 0 has begun the sweep in the folder, then work
/// through its runs. Asked to stop, a rank saves what it has and stays until rank 0 has ended, five
/// seconds at most.
/// @param frozen  the text of sweep.yaml, as rank 0 writes it
/// @throws RunError if rank 0 has not begun within two minutes
void WorkAsRank(const Sweep& sweep,
                const MpiRank& rank,
                const std::string& frozen,
                const WorkerSettings& settings);

}  // namespace emplace
