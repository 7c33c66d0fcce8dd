#pragma once

// A run from its plan to its results file: what `emplace run` and emplace.run() of the Python
// package do.

#include <filesystem>
#include <functional>
#include <string>

#include "experiments/run/run_report.h"

namespace emplace {

/// How a run is carried out; nothing here changes a result.
struct RunChoices {
  std::filesystem::path output;  ///< results file (HDF5)
  bool resume = false;           ///< continue the run in `output`, if there is one
  bool force = false;            ///< overwrite it
  /// The user's options where `output` exists, for the message.
  std::string instead = "--force overwrites it, --resume continues it, -o names another file";
  bool quiet = false;             ///< no progress on stderr
  double checkpoint_seconds = 0;  ///< between checkpoints of a running search; 0: none [s]
  /// Observers::watch of every search; threads call it at the same time.
  std::function<bool(const SearchMoment&)> watch = {};
  std::filesystem::path policies = {};  ///< folder for what agents learn, LABEL.policy; empty: none
  std::function<void()> begins = {};    ///< called before the first search, with all else prepared
  std::function<void()> ends = {};      ///< called after the last, with `output` still locked
};

/// Loads the problem of a plan.
/// @param strict  refuses a graph of which there is something to warn
/// @throws InputError as the readers of the files do
LoadedProblem LoadProblem(const RunPlan& plan, bool strict = false);

/// Makes ready for searching, and checks that every agent can be made for the problem.
/// @param problem  of the plan
/// @param jobs     searches at a time; < 0: what the plan says; 0: one per core
/// @param ranks    that make the run together, each calling this with the same plan, and one search
///   at a time; nullptr: this process alone
/// @throws InputError as the agents do; RunError if a launcher started several processes, and there
///   are no ranks
Run PrepareRun(RunPlan plan, LoadedProblem problem, int jobs = -1, RunRanks* ranks = nullptr);

/// Checks that an agent of the run learns a policy that can be saved.
/// @throws InputError naming the agents that do
void RequirePolicySource(const Run& run);

/// Makes all searches and writes them; each is on disk as soon as it has ended. Afterwards
/// Run::results and the proven bound are complete. A stop request (stop_request.h) ends it early.
/// On other ranks than 0 it only searches along.
/// @throws InputError if the results to go on from are another run's, or if `output` holds
///   something and neither `resume` nor `force` is set; RunError if the file cannot be written
void ExecuteRun(Run& run, const RunChoices& choices);

/// Writes the best placement over all agents and seeds beside the results, as
/// <output>.placement.json. To be called by RunChoices::ends, so that no other run writes its own
/// in between.
/// @return what to tell about it; empty: no search found any
std::string WriteBestPlacement(const Run& run,
                               const std::vector<TableRow>& rows,
                               const std::filesystem::path& output);

/// @throws RunError if the user stopped the run, or searches failed
void RequireComplete(const Run& run, const std::filesystem::path& output);

}  // namespace emplace
