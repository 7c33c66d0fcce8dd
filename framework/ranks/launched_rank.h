#pragma once

#include <optional>

namespace emplace {

/// Programs that start several processes and give each its rank in the environment.
enum class RankLauncher {
  kOpenMpi,  ///< mpirun of Open MPI: OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE
  kPmi,      ///< mpirun of MPICH or Intel MPI, `srun --mpi=pmi2`: PMI_RANK, PMI_SIZE
  kSlurm,    ///< `srun` that starts no MPI: SLURM_PROCID, SLURM_NTASKS
};

/// This process among those that one launcher has started.
struct LaunchedRank {
  int rank = 0;  ///< in 0 .. size - 1
  int size = 1;
  RankLauncher launcher = RankLauncher::kOpenMpi;
};

/// Reads rank and size from the environment, of the first RankLauncher that has set both: below
/// Slurm, Open MPI's mpirun counts and not the job around it. MPI can join the processes of the
/// first two alone (LaunchedRanks() in mpi_module.h): tasks of a bare `srun` are ranks of a sweep,
/// which share its folder, and each makes a whole search.
/// @return nothing if no launcher has started this process
/// @throws InputError for values that are no rank and size
std::optional<LaunchedRank> FindLaunchedRank();

}  // namespace emplace
