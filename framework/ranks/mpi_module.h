#pragma once

// All code that uses MPI (mpi/) is in a shared object of its own, libemplace_mpi.so, which is
// opened when a launcher (mpirun) has started the program. It needs none of our functions: it says
// errors as RunError, whose type both sides compile from one header.

#include <memory>
#include <string>

#include "framework/base/module.h"
#include "framework/ranks/communicator.h"

namespace emplace {

/// The functions that the module offers.
struct MpiModule {
  const char* stamp;  ///< kRanksStamp of its build; stays the first field
  /// Joins the job that mpirun started, once in a process. The communicator's end leaves it: then
  /// all ranks must do so; a process that ends without ends the job.
  /// @throws RunError if MPI cannot begin
  std::unique_ptr<Communicator> (*join)();
};

/// Name of the one function that the module exports, const MpiModule*().
inline constexpr const char* kMpiModuleEntry = "EmplaceMpiModule";

/// What this program or module was built from: compiler and flags, and a checksum of the sources
/// under framework/ranks. Hidden: each has its own.
[[gnu::visibility("hidden")]] extern const char* const kRanksStamp;

/// The module of this program, opened at the first call, from ModulePlaces() of the environment
/// variable EMPLACE_MPI_MODULE. `error` is "built without MPI" if it has none.
const OpenedModule& ThisMpiModule();

/// Returns how many processes a launcher of MPI started (FindLaunchedRank(): Open MPI or PMI). 0:
/// none did. A task of a bare `srun` counts as started alone: MPI would not find the other tasks.
/// @throws InputError as FindLaunchedRank()
int LaunchedRanks();

/// Joins the processes that a launcher started.
/// @return nullptr if there was none
/// @throws RunError if MPI's module cannot be opened, or if it finds another number of processes
///   than LaunchedRanks(): a launcher of another MPI
std::unique_ptr<Communicator> JoinLaunchedRanks();

}  // namespace emplace
