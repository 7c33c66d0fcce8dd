#pragma once

#include <optional>

namespace emplace {

/// Programs that start several processes and pass each its rank in the environment.
enum class RankLauncher {
  kOpenMpi,  ///< mpirun of Open MPI: OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE
  kPmi,      ///< mpirun of MPICH or Intel MPI, `srun --mpi=pmi2`: PMI_RANK, PMI_SIZE
  kSlurm,    ///< `srun` without MPI: SLURM_PROCID, SLURM_NTASKS
};

/// The rank of this process among the processes of one launcher.
struct LaunchedRank {
  int rank = 0;  ///< in 0 .. size - 1
  int size = 1;
  RankLauncher launcher = RankLauncher::kOpenMpi;
};

/// Reads rank and size from the environment variables of the first RankLauncher that has set both.
/// Open MPI's mpirun within a Slurm job therefore takes precedence over the job.
///
/// MPI can only join the processes of the first two launchers (LaunchedRanks() in mpi_module.h).
/// Tasks of a bare `srun` are ranks of a sweep: they share its folder, and each searches alone.
/// @return nullopt if no launcher has started this process
/// @throws InputError for values that are not a rank and a size
std::optional<LaunchedRank> FindLaunchedRank();

}  // namespace emplace
