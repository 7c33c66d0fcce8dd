#pragma once

// What `emplace run --resume` goes on from: the searches of a run that was stopped or killed, read
// back from its results file.

#include <filesystem>
#include <map>
#include <string>

#include "experiments/load.h"
#include "experiments/run/run_config.h"
#include "experiments/run/search_run.h"
#include "simulator/bounds.h"

namespace emplace {

/// @param what  was configured: "config", or "setting of ..."   @param name  of the results file
/// @throws InputError naming the first key that differs between two YAML texts, and both values;
///   jobs and output may differ
void RequireSameSettings(const std::string& before,
                         const std::string& now,
                         const std::string& what,
                         const std::string& name);

/// May two work bounds be those of one problem? Programs that wrote results of version 1 solved it
/// less exactly: up to 3e-6 below the optimum on the networks of configs/.
bool IsSameWorkBound(Nanos earlier, Nanos now);

/// A table that WriteUpdates() wrote. @param where  file and place, for messages
UpdateTable ReadUpdates(const class ResultsReader& reader,
                        const std::string& dataset,
                        const std::string& where);

/// Searches by label. Those that ended (finished, budget) are complete, those that were stopped
/// have a checkpoint; failed ones and those cut within a step are left out, they begin anew.
using EarlierSearches = std::map<std::string, SearchResult>;

/// The plan must be the one that the results were made with, except for `jobs` and `output`, so
/// that both parts together are what one uninterrupted run would have been.
/// @throws InputError naming results and the first key that differs with both values; another
///   graph, cluster or cost table behind the same names; a checkpoint that its agent refuses
EarlierSearches ReadEarlierSearches(const std::filesystem::path& results,
                                    const RunPlan& plan,
                                    const LoadedProblem& problem,
                                    const Bounds& bounds);

}  // namespace emplace
