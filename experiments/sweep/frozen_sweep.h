#pragma once

// The file sweep.yaml back as a sweep, for a worker that gets a part of its runs.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/sweep/sweep.h"

namespace emplace {

/// Reads numbers of runs as the option --runs has them: "0-99,103".
/// @throws InputError for anything else, a number twice, or one of `num_runs` or more
std::vector<int> ParseRuns(const std::string& text, int num_runs);
/// The shortest text of the kind. @param runs  ascending
std::string RunsText(const std::vector<int>& runs);

/// Number of runs of the sweep that is frozen in `folder`.
/// @throws InputError if there is none, or one of a newer version
int CountFrozenRuns(const std::filesystem::path& folder);

/// Reads the frozen sweep and loads the problems of some of its runs.
/// @param runs      ascending; Sweep::plan.runs has all runs of the sweep, but only these are
///   filled, and its configs and problems are those that they need
/// @param beside    folder of the sweep's config, for relative paths in it
/// @param registry  must outlive the sweep
/// @throws InputError as MakeRunPlan() and LoadSweepProblems() do; or naming the first part of a
///   problem that is another than it was when the sweep was frozen
Sweep ReadFrozenSweep(const std::filesystem::path& folder,
                      const std::vector<int>& runs,
                      const std::filesystem::path& beside,
                      const AgentRegistry& registry);

}  // namespace emplace
