#pragma once

// What --resume goes on from: the searches of a run that was stopped or killed, read back from its
// results file.

#include <filesystem>
#include <map>
#include <string>

#include "experiments/problem/load.h"
#include "experiments/run/run_config.h"
#include "experiments/run/search_run.h"

namespace emplace {

/// Results go on only under the settings that they were made with; the keys `jobs`, `threads`,
/// `output`, `gpu` and `evaluator` may differ, as no result depends on them.
/// @param before, now  the settings as YAML
/// @param what         what they are, for the message: "config", "setting of seq2seq"
/// @param name         of the results file
/// @throws InputError naming the first key that differs, with both values
void RequireSameSettings(const std::string& before,
                         const std::string& now,
                         const std::string& what,
                         const std::string& name);

/// Searches by label (SearchLabel()). Those that ended (finished, or budget used up) are complete;
/// those that were stopped have a checkpoint. Failed ones and those cut within a step are left out:
/// they begin anew.
using EarlierSearches = std::map<std::string, SearchResult>;

/// Reads the searches of `plan` that a results file holds. The plan must be the one that the
/// results were made with, and so must the files behind its names, so that both parts together are
/// what one uninterrupted run would have been.
/// @throws InputError naming the results and the first key that differs, with both values; or what
///   parts of the problem that differ; or a checkpoint that its agent refuses
EarlierSearches ReadEarlierSearches(const std::filesystem::path& results,
                                    const RunPlan& plan,
                                    const LoadedProblem& problem);

/// Makes a search of a run, or what is left of it. One that is complete is returned as it is; of
/// one that was stopped within a step the last checkpoint is returned, if there is any.
/// @param searches   of the run's earlier parts
/// @param observers  `write` gets the result as well, unless it has got it before; what it throws
///   ends the search and is thrown on, so that the last checkpoint stays
/// @param lockstep   as for RunSearch()
SearchResult MakeOrResume(const RunPlan& plan,
                          const AgentSpec& spec,
                          std::uint64_t seed,
                          const LoadedProblem& problem,
                          const SimulatorOptions& simulator,
                          const EarlierSearches& searches,
                          Observers observers,
                          Lockstep* lockstep = nullptr);

}  // namespace emplace
