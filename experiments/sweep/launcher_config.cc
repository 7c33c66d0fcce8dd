#include "experiments/sweep/launcher_config.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
void LauncherConfig::Visit(FieldVisitor& v) {
  v.Field("name",
          name,
          "launcher of the runs: local (child processes), hyperqueue, slurm, or mpi (ranks of an "
          "mpirun); see experiments/sweep/launchers/README.md");
  v.Field("bundle",
          bundle,
          AtLeast(0),
          "hyperqueue, slurm: number of runs for one worker; 0: its share of all runs, then runs "
          "that no other worker has started, which avoids the engine's pauses between workers");
  v.Field("cores",
          cores,
          AtLeast(0),
          "hyperqueue, slurm, mpi: cores of a worker, which does one run at a time; 0: one core. "
          "Does not apply to local, where runs share the cores");
  v.Field("patience_seconds",
          patience_seconds,
          AtLeast(0),
          "slurm: time [s] after which a task that works on none of its runs is cancelled and its "
          "runs are given to another; a controller that was killed may list an ended task as "
          "running. Must exceed the time in which a worker loads its problems");
  v.Field("options",
          options,
          "slurm: options for sbatch, as in --partition=long; hyperqueue: for `hq submit`");
  v.Field("server",
          server,
          "hyperqueue: folder of a running server; empty: $HQ_SERVER_DIR, else ~/.hq-server, else "
          "a new local cluster");
  v.Field("program",
          program,
          "hyperqueue, slurm: command by which workers start emplace, as in apptainer exec "
          "emplace.sif emplace; empty: the file of this program");
}

std::vector<std::string> SplitOptions(const std::string& text) {
  std::vector<std::string> options;
  bool inside = false;
  char quote = '\0';
  for (const char letter : text) {
    if (quote == '\0' && letter == ' ') {
      inside = false;
      continue;
    }
    if (!inside) options.emplace_back();
    inside = true;
    if (letter == quote) {
      quote = '\0';
    } else if (quote == '\0' && (letter == '\'' || letter == '"')) {
      quote = letter;
    } else {
      options.back() += letter;
    }
  }
  if (quote != '\0') {
    throw InputError(fmt::format("launcher: a {} is not closed in: {}", quote, text));
  }
  return options;
}

std::vector<std::vector<int>> MakeBundles(const std::vector<int>& runs, int size, int workers) {
  EMPLACE_CHECK(size >= 0 && workers >= 1);
  const int count = static_cast<int>(runs.size());
  const int step = size > 0 ? size : std::max(1, (count + workers - 1) / workers);
  std::vector<std::vector<int>> bundles;
  for (int begin = 0; begin < count; begin += step) {
    bundles.emplace_back(runs.begin() + begin, runs.begin() + std::min(begin + step, count));
  }
  return bundles;
}

}  // namespace emplace
