#pragma once

// All code that uses MPI (mpi/) is in a separate shared object, libemplace_mpi.so. It is opened if
// a launcher (mpirun) has started the program. The module needs none of our functions. It reports
// errors as RunError, whose type both sides compile from one header.

#include <memory>
#include <string>

#include "framework/base/module.h"
#include "framework/ranks/communicator.h"

namespace emplace {

/// The functions of the module.
struct MpiModule {
  const char* stamp;  ///< kRanksStamp of its build; must stay the first field
  /// Joins the job that mpirun started; called once in a process. The destructor of the
  /// communicator leaves the job, which all ranks must do: a process that ends without it ends the
  /// job.
  /// @throws RunError if MPI cannot be initialised
  std::unique_ptr<Communicator> (*join)();
};

/// Name of the one exported function of the module, const MpiModule*().
inline constexpr const char* kMpiModuleEntry = "EmplaceMpiModule";

/// Identifies the build of this program or module: compiler and flags, and a checksum of the
/// sources under framework/ranks. Hidden, because program and module each have their own.
[[gnu::visibility("hidden")]] extern const char* const kRanksStamp;

/// Returns the module of this program. The first call opens it, from ModulePlaces() with the
/// environment variable EMPLACE_MPI_MODULE. `error` is "built without MPI" if the program has none.
const OpenedModule& ThisMpiModule();

/// Returns the number of processes that a launcher of MPI started (FindLaunchedRank(): Open MPI or
/// PMI), or 0. A task of a bare `srun` counts as started alone, because MPI would not find the
/// other tasks.
/// @throws InputError as FindLaunchedRank()
int LaunchedRanks();

/// Joins the processes that a launcher started.
/// @return nullptr without a launcher
/// @throws RunError if the MPI module cannot be opened, or if MPI finds another number of processes
///   than LaunchedRanks(), because the launcher belongs to another MPI
std::unique_ptr<Communicator> JoinLaunchedRanks();

}  // namespace emplace
