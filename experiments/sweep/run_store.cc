#include "experiments/sweep/run_store.h"

#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/base/error.h"
#include "framework/results/results_file.h"

namespace emplace {
namespace fs = std::filesystem;

RunStore::RunStore(const std::vector<fs::path>& paths)
    : results_(ReadResultRuns(paths)), lock_(paths) {
  results_ = ReadResultRuns(paths);
}

EarlierRun RunStore::Read(const ProblemRuns& problem, const RunFiles& files) const {
  ProblemRuns found = problem;
  std::erase_if(found.runs, [](const ResultRun* run) { return !run->best; });
  std::optional<EarlierRun> first;
  for (const fs::path& path : found.Files()) {
    if (!first) {
      first = ReadRun(path, files);
      continue;
    }
    for (Candidate& next : ReadCandidates(path, *first))
      AddCandidate(std::move(next), first->found);
  }
  if (!first) {
    throw InputError(fmt::format("{}: no agent of this run found a placement",
                                 problem.Files().front().string()));
  }
  return *std::move(first);
}

void RunStore::Extend(const ProblemRuns& problem,
                      const std::function<void(ResultsFile&)>& write) const {
  for (const fs::path& path : problem.Files()) {
    ResultsFile file(path, ResultsMode::kExtend);
    write(file);
    file.Commit();
  }
}

}  // namespace emplace
