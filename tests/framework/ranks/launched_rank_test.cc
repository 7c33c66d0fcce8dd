#include "framework/ranks/launched_rank.h"

#include <initializer_list>
#include <utility>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/ranks/mpi_module.h"
#include "tests/framework/ranks/rank_environment.h"
#include "tests/support/paths.h"

using namespace emplace;
using emplace::testing::RankEnvironment;

namespace {

void CheckRank(std::initializer_list<std::pair<const char*, const char*>> variables,
               RankLauncher launcher,
               int rank,
               int size) {
  const RankEnvironment environment(variables);
  const auto found = FindLaunchedRank();
  REQUIRE(found.has_value());
  CHECK(found->launcher == launcher);
  CHECK(found->rank == rank);
  CHECK(found->size == size);
}

TEST_CASE("rank and size by launcher") {
  CheckRank(
      {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}, RankLauncher::kOpenMpi, 1, 4);
  CheckRank({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}, RankLauncher::kPmi, 0, 1);
  CheckRank({{"SLURM_PROCID", "7"}, {"SLURM_NTASKS", "8"}}, RankLauncher::kSlurm, 7, 8);
  // mpirun on two nodes of a job of Slurm, and srun --mpi=pmi2.
  CheckRank({{"OMPI_COMM_WORLD_RANK", "3"},
             {"OMPI_COMM_WORLD_SIZE", "4"},
             {"SLURM_PROCID", "1"},
             {"SLURM_NTASKS", "2"}},
            RankLauncher::kOpenMpi,
            3,
            4);
  CheckRank({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "3"}},
            RankLauncher::kPmi,
            2,
            3);
}

TEST_CASE("no launcher, and an allocation of Slurm without srun") {
  const RankEnvironment none{};
  CHECK_FALSE(FindLaunchedRank().has_value());
  const RankEnvironment allocation{{"SLURM_NTASKS", "4"}};  // salloc -n 4
  CHECK_FALSE(FindLaunchedRank().has_value());
}

TEST_CASE("tasks of a bare srun are ranks of a sweep, and each makes a whole search") {
  const RankEnvironment environment{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}};
  CHECK(FindLaunchedRank()->size == 4);
  CHECK(LaunchedRanks() == 0);
  CHECK(JoinLaunchedRanks() == nullptr);
}

TEST_CASE("values that are no rank and size") {
  const auto message = [](const char* rank, const char* size) {
    const RankEnvironment environment{{"PMI_RANK", rank}, {"PMI_SIZE", size}};
    return testing::MessageOf<InputError>([] { FindLaunchedRank(); });
  };
  CHECK(message("4", "4") ==
        "PMI_RANK=4 and PMI_SIZE=4 in the environment are not a rank and a size; expected a rank "
        "of at least 0 and less than the size");
  CHECK(message("-1", "4").starts_with("PMI_RANK=-1 and PMI_SIZE=4 in the environment"));
  CHECK(message("0", "many").starts_with("PMI_RANK=0 and PMI_SIZE=many in the environment"));
}

}  // namespace
