#include "experiments/sweep/run_store.h"

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "experiments/console/output.h"
#include "experiments/sweep/run_board.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/results/results_file.h"
#include "framework/results/results_image.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

bool IsSweep(const SweepFolder& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder.frozen(), ignored) &&
         ReadFile(folder.frozen()).find(kSweepFormat) != std::string::npos;
}

// Returns DIR for the results DIR/runs/0003.h5 of a sweep's run, and for DIR itself.
std::optional<fs::path> SweepOf(const fs::path& results) {
  if (fs::is_directory(results)) return results;
  const fs::path runs = results.parent_path();
  if (runs.filename() != "runs" || !IsSweep(SweepFolder(runs.parent_path(), 1))) {
    return std::nullopt;
  }
  return runs.parent_path();
}

// Refuses other files and folders, in which no lock may be made. Reads no record.
void RequireResults(const fs::path& path) {
  if (!fs::is_directory(path)) {
    internal::ReadResultsImage(path);
  } else if (!IsSweep(SweepFolder(path, 1))) {
    ReadResultRuns({path});  // says why
  }
}

// Workers of a batch system may outlive the process that holds the lock.
void RequireNoWorkers(const SweepFolder& folder) {
  std::error_code ignored;
  if (!fs::exists(folder.board(), ignored)) return;
  if (RunBoard(folder.board(), std::numeric_limits<int>::max()).NumClaimed() == 0) return;
  throw InputError(folder.path().string() +
                   ": workers of a killed sweep still write to it; wait for their end");
}

// Returns the files with a placement. @throws InputError if there is none
std::vector<fs::path> FilesWithPlacement(const ProblemRuns& problem) {
  ProblemRuns found = problem;
  std::erase_if(found.runs, [](const ResultRun* run) { return !run->best; });
  if (!found.runs.empty()) return found.Files();
  throw InputError(
      fmt::format("{}: no agent of this run found a placement", problem.Files().front().string()));
}

}  // namespace

RunStore::RunStore(const std::vector<fs::path>& paths) {
  for (const fs::path& path : paths) RequireResults(path);
  std::set<fs::path> locked;  // a second lock would wait for the first
  for (const fs::path& named : paths) {
    std::error_code error;
    fs::path path = fs::canonical(named, error);
    if (error) path = named;
    const std::optional<fs::path> sweep = SweepOf(path);
    if (!locked.insert(sweep.value_or(path)).second) continue;
    if (sweep) {
      const SweepFolder folder(fs::is_directory(path) ? named : *sweep, 1);
      folders_.emplace_back(folder);
      RequireNoWorkers(folder);
    } else {
      files_.emplace_back(named, PrintWarning);
    }
  }
  results_ = ReadResultRuns(paths);
}

EarlierRun RunStore::Read(const ProblemRuns& problem, const RunFiles& files) const {
  return ReadRun(ResultsReader(FilesWithPlacement(problem).front()), files);
}

std::vector<Candidate> RunStore::ReadFound(const ProblemRuns& problem,
                                           const EarlierRun& run) const {
  std::vector<Candidate> found;
  for (const fs::path& path : FilesWithPlacement(problem)) {
    for (Candidate& next : ReadCandidates(ResultsReader(path), run)) {
      AddCandidate(std::move(next), found);
    }
  }
  return found;
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
