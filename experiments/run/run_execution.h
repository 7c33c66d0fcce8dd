#pragma once

// Executes a run, from its plan to its results file, for `emplace run` and for emplace.run() of the
// Python package.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "experiments/run/run_report.h"

namespace emplace {

/// How a run is executed. None of these choices changes a result.
struct RunChoices {
  std::filesystem::path output;  ///< results file (HDF5)
  bool resume = false;           ///< continue the run in `output` if there is one
  bool force = false;            ///< overwrite `output`
  /// Options that the error message offers if `output` exists.
  std::string instead = "--force overwrites it, --resume continues it, -o names another file";
  bool quiet = false;             ///< no progress on stderr
  double checkpoint_seconds = 0;  ///< least time between checkpoints of a search; 0: none [s]
  /// Observers::watch of every search; threads call it concurrently.
  std::function<bool(const SearchMoment&)> watch = {};
  std::filesystem::path policies = {};  ///< folder for learned policies, LABEL.policy; empty: none
  std::function<void()> begins = {};    ///< called before the first search, after all preparations
  std::function<void()> ends = {};      ///< called after the last, while `output` is still locked
};

/// Loads the problems of plans, each file once.
class ProblemLoader {
 public:
  /// @param strict  refuses a graph that causes warnings
  explicit ProblemLoader(bool strict = false) : strict_(strict) {}
  /// @throws InputError as the readers of the files do
  LoadedProblem Load(const RunPlan& plan);

 private:
  bool strict_;
  std::map<std::filesystem::path, std::shared_ptr<const Graph>> graphs_;
  std::map<std::filesystem::path, std::shared_ptr<const Cluster>> clusters_;
  std::map<std::filesystem::path, std::shared_ptr<const CostTable>> costs_;
};

/// Loads the problem of one plan, as above.
LoadedProblem LoadProblem(const RunPlan& plan, bool strict = false);

/// Prepares the searches and checks that every agent can be made for the problem.
/// @param problem  of the plan
/// @param jobs     number of concurrent searches; < 0: as in the plan; 0: one per core
/// @param ranks    ranks that execute the run together, one search at a time; each calls this with
///   the same plan. nullptr: this process alone
/// @throws InputError as the agents do; RunError if a launcher started several processes but
///   `ranks` is nullptr
Run PrepareRun(RunPlan plan, LoadedProblem problem, int jobs = -1, RunRanks* ranks = nullptr);

/// Checks that at least one agent of the run learns a policy that can be saved.
/// @throws InputError naming the agents that learn such a policy
void RequirePolicySource(const Run& run);

/// Makes all searches and writes each to disk as soon as it ends. Afterwards Run::results and the
/// proven bound are complete. A stop request (stop_request.h) ends the run early. Ranks above 0
/// only take part in the searches.
/// @throws InputError if the results to resume belong to another run, or if `output` contains
///   something and neither `resume` nor `force` is set; RunError if the file cannot be written
void ExecuteRun(Run& run, const RunChoices& choices);

/// Writes the best placement over all agents and seeds to <output>.placement.json. Call it in
/// RunChoices::ends, so that no other run can write its placement in between.
/// @return text for the user; empty if no search found a placement
std::string WriteBestPlacement(const Run& run,
                               const std::vector<TableRow>& rows,
                               const std::filesystem::path& output);

/// @throws RunError if the user stopped the run, or if searches failed
void RequireComplete(const Run& run, const std::filesystem::path& output);

}  // namespace emplace
