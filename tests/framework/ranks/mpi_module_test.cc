// What a launcher says, and modules that are none; tests/experiments/run/ranks_test.py has mpirun.

#include "framework/ranks/mpi_module.h"

#include <cstdlib>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/framework/ranks/rank_environment.h"
#include "tests/support/paths.h"

using namespace emplace;
using emplace::testing::RankEnvironment;

namespace {

TEST_CASE("how many processes a launcher started") {
  {
    const RankEnvironment none{};
    CHECK(LaunchedRanks() == 0);
    CHECK(JoinLaunchedRanks() == nullptr);
    const RankEnvironment pmi{{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}};
    CHECK(LaunchedRanks() == 3);
  }
  const RankEnvironment open_mpi{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
  CHECK(LaunchedRanks() == 2);
  // The module is opened once; a file that is none stays so for this process.
  setenv("EMPLACE_MPI_MODULE", "/nowhere/m.so", 1);
  const std::string error = testing::MessageOf<RunError>([] { JoinLaunchedRanks(); });
  CHECK(error.find("a launcher started 2 processes of emplace, which would all do the same: ") ==
        0);
  const bool is_built = ThisMpiModule().error != "built without MPI";
  CHECK(error.find(is_built ? "cannot load the MPI module: found no /nowhere/m.so"
                            : "built without MPI") != std::string::npos);
  unsetenv("EMPLACE_MPI_MODULE");
}

}  // namespace
