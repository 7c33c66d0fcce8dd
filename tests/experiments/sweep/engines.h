#pragma once

// The engines of sweeps' launchers that this machine has. A test says so and ends where one is not.

#include <cstdlib>
#include <map>
#include <string>

#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace emplace::testing {

/// What mpirun needs so that root may start four ranks on fewer cores.
inline std::map<std::string, std::string> MpiEnvironment() {
  return {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
          {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
          {"OMPI_MCA_rmaps_base_oversubscribe", "1"}};
}

/// With a python3 that knows HyperQueue first in the PATH: the one there is, or that of
/// build/hyperqueue, which scripts/test makes.
inline std::map<std::string, std::string> HyperQueueEnvironment() {
  const std::string made = (BinaryDir().parent_path() / "hyperqueue/bin").string();
  return {{"PATH", made + ":" + std::getenv("PATH")},
          {"HQ_SERVER_DIR", "/nonexistent"}};  // no server of the user's
}

inline bool Runs(const std::string& command, const std::map<std::string, std::string>& with = {}) {
  return RunProcess({"/bin/sh", "-c", command}, {.environment = with}).exit_code == 0;
}

inline bool HasMpi() {
  return Runs("mpirun -n 1 true", MpiEnvironment());
}
inline bool HasHyperQueue() {
  return Runs("python3 -c 'import hyperqueue'", HyperQueueEnvironment());
}

/// The path of the script that starts Slurm here.
inline std::string SlurmLocalhost() {
  return (SourceDir() / "scripts/slurm_localhost").string();
}
inline bool HasSlurm() {
  return Runs(SlurmLocalhost() + " true");
}

}  // namespace emplace::testing
