#pragma once

// The runs that a table is made of, read from the folder of a sweep or from results files. Reading
// takes no lock and changes nothing, so that a sweep may be running.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/run_progress.h"
#include "experiments/run/search_record.h"
#include "framework/bounds/lower_bound.h"
#include "framework/search/problem_id.h"

namespace emplace {

/// One search: an agent with a seed on a problem. Its record is empty, but for agent and seed, if
/// there is no file yet.
struct ResultRun : SearchRecord {
  std::filesystem::path file;
  std::string title;  ///< "#3 seq2seq with seed 0", "quickstart.h5: seq2seq.seed0"
  std::string group;  ///< "/agents/seq2seq.seed0"; empty if there is no file yet
  std::map<std::string, std::string> keys;  ///< resolved run config: dotted key -> value, without
                                            ///< agents, seeds, output and jobs
  RunProgress progress = RunProgress::kNew;

  // Of a run that is done.
  double best_ns = 0;  ///< step time of the best placement; infinite: none fits [ns]

  // Of a run that has a file.
  std::int64_t ranks = 1;            ///< processes that made it together
  std::optional<ProblemId> problem;  ///< a bound in the file of one run holds for all with this id
  LowerBound bound;                  ///< the largest in the files of those that were read together
  /// Shortest step time of all runs of the problem that are done and were read together, whatever
  /// their agents, budgets and rows; infinite: none fits, or the problem is not known [ns]
  double best_known_ns = std::numeric_limits<double>::infinity();
  bool is_optimal() const { return best_ns <= static_cast<double>(bound.value); }
  /// Of the best single device (/problem@best_single_device_ns); NaN: the file does not say it [ns]
  double best_single_device_ns = std::numeric_limits<double>::quiet_NaN();
  /// Of the agent's best placement in the file, as `emplace stress` found it; NaN: it did not.
  double noise_regret = std::numeric_limits<double>::quiet_NaN();
};

struct ResultRuns {
  std::vector<ResultRun> runs;                  ///< in the sweep's order, or that of the files
  std::vector<std::string> sources;             ///< the paths as they were given
  std::optional<std::filesystem::path> layout;  ///< table.yaml of the (only) sweep folder
};

/// Reads runs.
/// @param paths  each the folder of a sweep or a results file
/// @throws InputError for a folder without a sweep, a file that is no results file, is of another
///   version or holds no run
ResultRuns ReadResultRuns(const std::vector<std::filesystem::path>& paths);

/// Runs with the same problem. They point into the ResultRuns.
using RunsOfProblem = std::vector<const ResultRun*>;

/// Puts runs of the same problem together, problems in the order of their first runs. Runs without
/// a file are left out; a warning on stderr names the damaged ones.
std::vector<RunsOfProblem> RunsByProblem(const ResultRuns& results);

/// A point of a search's learning curve (framework/results/FORMAT.md, "Best so far"): evaluation
/// number `evaluations`, from 1 on, found a better placement than all before.
struct BestSoFar {
  std::int64_t evaluations = 0;
  double best_ns = 0;  ///< [ns]
  double seconds = 0;  ///< since the search began [s]
  /// That measuring the same placements until here would have taken [s].
  double hardware_seconds = 0;
};

/// Every improvement of a run that is done, in order; empty if nothing fitted.
/// @throws InputError if its file holds no evaluations
std::vector<BestSoFar> ReadBestSoFar(const ResultRun& run);

/// The run's value for one of RunKeys(); nullptr if its config has no such key, because an earlier
/// version of emplace wrote it.
const std::string* FindRunKey(const ResultRun& run, const std::string& key);

}  // namespace emplace
