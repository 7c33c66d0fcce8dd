#include "experiments/table/run_keys.h"

#include <algorithm>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

TEST_CASE("keys for rows: those of a run config, and the agent") {
  const std::vector<std::string> keys = RunKeys();
  for (const char* key :
       {"agent", "graph", "cluster", "semantics", "priority", "budget.evaluations"}) {
    CHECK(std::count(keys.begin(), keys.end(), key) == 1);
  }
  for (const char* key : {"agents", "seeds", "jobs", "threads", "output"}) {
    CHECK(std::count(keys.begin(), keys.end(), key) == 0);
  }
}

}  // namespace
