#include <algorithm>

#include <doctest/doctest.h>

#include "framework/base/parallel.h"
#include "framework/ranks/communicator.h"
#include "tests/support/thread_ranks.h"

using namespace emplace;

namespace {

TEST_CASE("ranks of one machine divide its cores") {
  // All threads may run on the same cores.
  for (const int size : {1, 2, 100}) {
    testing::RunThreadRanks(size, [&](Communicator& ranks) {
      CHECK(CoresPerRank(ranks) == std::max(1, NumCores() / size));
    });
  }
}

}  // namespace
