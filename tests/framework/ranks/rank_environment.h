#pragma once

#include <cstdlib>
#include <initializer_list>
#include <utility>

namespace emplace::testing {

/// The environment of a process that launchers have started with these variables and no others of
/// theirs. At its end no launcher has started this process.
class RankEnvironment {
 public:
  RankEnvironment(std::initializer_list<std::pair<const char*, const char*>> variables) {
    Clear();
    for (const auto& [name, value] : variables) setenv(name, value, 1);
  }
  ~RankEnvironment() { Clear(); }
  RankEnvironment(const RankEnvironment&) = delete;
  RankEnvironment& operator=(const RankEnvironment&) = delete;

 private:
  static void Clear() {
    for (const char* const name : {"OMPI_COMM_WORLD_RANK",
                                   "OMPI_COMM_WORLD_SIZE",
                                   "PMI_RANK",
                                   "PMI_SIZE",
                                   "SLURM_PROCID",
                                   "SLURM_NTASKS"}) {
      unsetenv(name);
    }
  }
};

}  // namespace emplace::testing
