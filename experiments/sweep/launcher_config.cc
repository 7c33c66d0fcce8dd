#include "experiments/sweep/launcher_config.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
void LauncherConfig::Visit(FieldVisitor& v) {
  v.Field("name",
          name,
          "who carries the runs out: local (processes of this one), hyperqueue, slurm, or mpi "
          "(ranks of an mpirun); experiments/sweep/launchers/README.md");
  v.Field("bundle",
          bundle,
          AtLeast(0),
          "hyperqueue, slurm: runs for one worker; 0: its share of all runs, and then what nobody "
          "else has begun, which spares the engine's pauses between workers");
  v.Field("cores",
          cores,
          AtLeast(0),
          "hyperqueue, slurm, mpi: cores of a worker, which does one run at a time; 0: one. Not "
          "for local, where runs share the cores");
  v.Field("patience_seconds",
          patience_seconds,
          AtLeast(0),
          "slurm: a task that runs for so long [s] and works at none of its runs is cancelled, and "
          "they are given to another: a controller that was killed may count it as running that "
          "has ended; longer than a worker takes to load its problems");
  v.Field("options",
          options,
          "slurm: options for sbatch, as in --partition=long; hyperqueue: for `hq submit`");
  v.Field("server",
          server,
          "hyperqueue: folder of a running server; empty: $HQ_SERVER_DIR, ~/.hq-server, or a local "
          "cluster where neither is there");
  v.Field("program",
          program,
          "hyperqueue, slurm: how workers start emplace, as in apptainer exec emplace.sif emplace; "
          "empty: by the file of this program");
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
    throw InputError(fmt::format("launcher: a {} without its end in: {}", quote, text));
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
