#include "framework/ranks/launched_rank.h"

#include <cstdlib>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

struct RankVariables {
  RankLauncher launcher;
  const char *rank, *size;
};

constexpr RankVariables kRankVariables[] = {
    {RankLauncher::kOpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {RankLauncher::kPmi, "PMI_RANK", "PMI_SIZE"},
    {RankLauncher::kSlurm, "SLURM_PROCID", "SLURM_NTASKS"},
};

}  // namespace

std::optional<LaunchedRank> FindLaunchedRank() {
  for (const RankVariables& names : kRankVariables) {
    const char* const rank = std::getenv(names.rank);
    const char* const size = std::getenv(names.size);
    if (rank == nullptr || size == nullptr) continue;
    const LaunchedRank found{std::atoi(rank), std::atoi(size), names.launcher};
    if (found.rank >= 0 && found.rank < found.size) return found;
    throw InputError(
        fmt::format("{}={} and {}={} in the environment are not a rank and a size; expected a rank "
                    "of at least 0 and less than the size",
                    names.rank,
                    rank,
                    names.size,
                    size));
  }
  return std::nullopt;
}

}  // namespace emplace
