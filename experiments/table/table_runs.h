#pragma once

// Reads the runs of a table from the folder of a sweep or from results files. Reading takes no lock
// and changes nothing, so a sweep may be running.

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

/// A search: an agent with a seed on a problem. If it has no file yet, its record contains only
/// agent and seed.
struct ResultRun : SearchRecord {
  std::filesystem::path file;
  std::string title;  ///< "#3 seq2seq with seed 0", "quickstart.h5: seq2seq.seed0"
  std::string group;  ///< "/agents/seq2seq.seed0"; empty if there is no file yet
  /// Resolved run config: dotted key -> value, without agents, seeds, output and jobs.
  std::map<std::string, std::string> keys;
  RunProgress progress = RunProgress::kNew;
  std::string program;  ///< ProgramText() of the program that wrote it; only of a sweep's states

  // Only of a done run.
  double best_ns = 0;  ///< step time of the best placement; infinite: none fits [ns]

  // Only of a run that has a file.
  std::int64_t ranks = 1;            ///< processes that executed it together
  std::optional<ProblemId> problem;  ///< a bound in one file holds for all runs with this id
  LowerBound bound;                  ///< the largest bound in the files that were read together
  /// Shortest step time of all done runs of the problem that were read together, for all agents,
  /// budgets and rows; infinite: none fits, or the problem is not known [ns]
  double best_known_ns = std::numeric_limits<double>::infinity();
  bool is_optimal() const { return best_ns <= static_cast<double>(bound.value); }
  /// Step time of the best single device (/problem@best_single_device_ns); NaN: not in the file
  /// [ns]
  double best_single_device_ns = std::numeric_limits<double>::quiet_NaN();
  /// Noise regret of the agent's best placement, as `emplace stress` stored it; NaN: not in the
  /// file.
  double noise_regret = std::numeric_limits<double>::quiet_NaN();
};

struct ResultRuns {
  std::vector<ResultRun> runs;                  ///< in the sweep's order, or that of the files
  std::vector<std::string> sources;             ///< the given paths
  std::optional<std::filesystem::path> layout;  ///< table.yaml of the (only) sweep folder
};

/// Reads runs.
/// @param paths  folders of sweeps and results files
/// @throws InputError for a folder without a sweep, and for a file that is not a results file, has
///   another version or contains no run
ResultRuns ReadResultRuns(const std::vector<std::filesystem::path>& paths);

/// Runs of the same problem. They point into the ResultRuns.
struct ProblemRuns {
  std::string title;  ///< "inception_v3 on 4xk80"
  std::vector<const ResultRun*> runs;

  /// Returns the first run that found the best placement of the done runs; nullptr if none found
  /// one. @param agent  only runs of this label ("hill_climb", or "hill_climb.seed2"); empty: all
  const ResultRun* Best(const std::string& agent = "") const;
  /// Returns the files of the runs, each once.
  std::vector<std::filesystem::path> Files() const;
};

/// Groups runs by their problem, in the order of the first runs. Runs without a file are left out;
/// a warning on stderr names the damaged ones.
std::vector<ProblemRuns> RunsByProblem(const ResultRuns& results);

/// Returns the label of a run with its seed: "hill_climb.seed2"; "heft" for an agent without
/// randomness.
std::string LabelOf(const ResultRun& run);

/// A point of a search's learning curve (framework/results/FORMAT.md, "Best so far"): evaluation
/// number `evaluations`, counted from 1, found a better placement than all before.
struct BestSoFar {
  std::int64_t evaluations = 0;
  double best_ns = 0;  ///< [ns]
  double seconds = 0;  ///< since the start of the search [s]
  /// Time to measure the same placements up to here on hardware [s].
  double hardware_seconds = 0;
};

/// Returns every improvement of a done run in order; empty if no placement fits.
/// @throws InputError if its file contains no evaluations
std::vector<BestSoFar> ReadBestSoFar(const ResultRun& run);

/// Returns the run's value for one of RunKeys(); nullptr if its config, written by an earlier
/// version of emplace, does not have the key.
const std::string* FindRunKey(const ResultRun& run, const std::string& key);

}  // namespace emplace
