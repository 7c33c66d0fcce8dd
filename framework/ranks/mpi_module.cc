#include "framework/ranks/mpi_module.h"

#include <optional>

#include "framework/base/error.h"
#include "framework/ranks/launched_rank.h"

namespace emplace {
namespace {

#ifdef EMPLACE_MPI_MODULE
constexpr const char* kBuiltMpiModule = EMPLACE_MPI_MODULE;  // its full path
#else
constexpr const char* kBuiltMpiModule = nullptr;
#endif

}  // namespace

const OpenedModule& ThisMpiModule() {
  static const OpenedModule result =
      kBuiltMpiModule == nullptr ? OpenedModule{nullptr, "built without MPI"}
                                 : OpenModule(ModulePlaces("EMPLACE_MPI_MODULE", kBuiltMpiModule),
                                              "MPI",
                                              kMpiModuleEntry,
                                              kRanksStamp);
  return result;
}

int LaunchedRanks() {
  const std::optional<LaunchedRank> found = FindLaunchedRank();
  return found && found->launcher != RankLauncher::kSlurm ? found->size : 0;
}

std::unique_ptr<Communicator> JoinLaunchedRanks() {
  const int launched = LaunchedRanks();
  if (launched == 0) return nullptr;
  const OpenedModule& opened = ThisMpiModule();
  if (opened.module == nullptr) {
    throw RunError("a launcher started " + std::to_string(launched) +
                   " processes of emplace, which would all do the same: " + opened.error +
                   "; install Open MPI and build again, or start a single process");
  }
  auto ranks = static_cast<const MpiModule*>(opened.module)->join();
  if (ranks->size() != launched) {
    throw RunError("a launcher started " + std::to_string(launched) + " processes, but MPI " +
                   "finds " + std::to_string(ranks->size()) +
                   "; start them with the mpirun of the Open MPI that emplace was built with");
  }
  return ranks;
}

}  // namespace emplace
