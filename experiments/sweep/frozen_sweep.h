#pragma once

// Reads the file sweep.yaml as a sweep, for a worker that gets a part of the runs.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/sweep/sweep.h"

namespace emplace {

/// Reads run numbers in the form of the option --runs: "0-99,103".
/// @throws InputError for any other form, a repeated number, or a number of `num_runs` or more
std::vector<int> ParseRuns(const std::string& text, int num_runs);
/// Returns the shortest text of this form. @param runs  ascending
std::string RunsText(const std::vector<int>& runs);

/// Returns the number of runs of the sweep that is frozen in `folder`.
/// @throws InputError if there is no sweep, or one of a newer version
int CountFrozenRuns(const std::filesystem::path& folder);

/// Reads the frozen sweep and loads the problems of some of its runs.
/// @param runs      ascending; Sweep::plan.runs has all runs of the sweep, but only these are
///   filled. The sweep contains only their configs and problems
/// @param beside    folder of the sweep's config, for relative paths in it
/// @param registry  must outlive the sweep
/// @throws InputError as MakeRunPlan() and LoadSweepProblems() do; or naming the first part of a
///   problem that has changed since the sweep was frozen
Sweep ReadFrozenSweep(const std::filesystem::path& folder,
                      const std::vector<int>& runs,
                      const std::filesystem::path& beside,
                      const AgentRegistry& registry);

}  // namespace emplace
