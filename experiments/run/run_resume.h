#pragma once

// Reads the searches of a stopped or killed run from its results file, for --resume.

#include <filesystem>
#include <map>
#include <string>

#include "experiments/problem/load.h"
#include "experiments/run/run_config.h"
#include "experiments/run/search_run.h"
#include "framework/search/stateful.h"

namespace emplace {

/// Checks that a run is resumed with the settings of its results. The keys `jobs`, `threads`,
/// `output`, `gpu` and `evaluator` may differ, because no result depends on them.
/// @param before, now  the settings as YAML
/// @param what         name of the settings in the message: "config", "setting of seq2seq"
/// @param name         of the results file
/// @throws InputError naming the first key that differs, with both values
void RequireSameSettings(const std::string& before,
                         const std::string& now,
                         const std::string& what,
                         const std::string& name);

/// Checks that an agent or trainer can load a checkpoint.
/// @param where  file and group of the checkpoint, for messages
/// @throws InputError if it cannot
void RequireLoadable(Stateful& made, const std::string& checkpoint, const std::string& where);

/// Searches by label (SearchLabel()). Searches that ended (finished, or budget used up) are
/// complete; stopped searches have a checkpoint. Searches that failed or were stopped within a step
/// are left out: they start from scratch.
using EarlierSearches = std::map<std::string, SearchResult>;

/// Reads the searches of `plan` from a results file. The plan and the files that it names must be
/// those of the results, so that both parts together equal one uninterrupted run.
/// @throws InputError naming the results and the first key that differs, with both values; or the
///   parts of the problem that differ; or a checkpoint that its agent refuses
EarlierSearches ReadEarlierSearches(const std::filesystem::path& results,
                                    const RunPlan& plan,
                                    const LoadedProblem& problem);

/// Makes a search of a run, or the rest of it. A complete search is returned unchanged. For a
/// search that is stopped within a step the last checkpoint is returned, if there is one.
/// @param searches   of the run's earlier parts
/// @param observers  `write` also gets the final result, unless it already got it. An exception of
///   `write` ends the search and is rethrown, so that the last checkpoint stays
/// @param replicated  as for RunSearch()
SearchResult MakeOrResume(const RunPlan& plan,
                          const AgentSpec& spec,
                          std::uint64_t seed,
                          const LoadedProblem& problem,
                          const SimulatorOptions& simulator,
                          const EarlierSearches& searches,
                          Observers observers,
                          ReplicatedSearch* replicated = nullptr);

}  // namespace emplace
