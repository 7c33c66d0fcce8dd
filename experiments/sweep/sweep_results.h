#pragma once

// The results file of one run of a sweep. It has the form of `emplace run` and two more attributes
// of /config: `sweep` (its name) and `run` ("#3 graph=nmt cluster=2xk80 agent=seq2seq seed=0").

#include <filesystem>
#include <string>

#include "experiments/provenance/provenance.h"
#include "experiments/run/search_run.h"
#include "experiments/sweep/sweep_problems.h"
#include "experiments/table/table_runs.h"

namespace emplace {

/// Returns version and commit of a program: "0.1.0 (commit 1ae1b4c)".
std::string ProgramText(const Provenance& provenance);

/// Reads the state of a run: its record, progress and program. Empty without a file.
/// @param path   its file
/// @param label  SearchLabel() of the run
/// @throws InputError if the file exists but is not a results file of this version
ResultRun ReadRunState(const std::filesystem::path& path, const std::string& label);

/// Reads the state for --resume. A damaged file is renamed to "0003.h5.damaged", with a warning on
/// stderr, and its run starts from scratch.
ResultRun ResumeRunState(const std::filesystem::path& path, const std::string& label);

/// The inputs of a worker for one run.
struct SweepTask {
  RunPlan plan;  ///< PlanOfRun()
  const SweepProblem* problem = nullptr;
  std::string title;  ///< "#3 graph=nmt ..."
  std::filesystem::path path;
  Provenance provenance;

  std::string label() const { return SearchLabel(plan.agents[0], plan.seeds[0]); }
};

/// Begins the run or resumes it from its checkpoint, and writes its file: first checkpoints, then
/// the result at the end or at a stop request. A checkpoint stays until the next one or the result
/// replaces it. If the run resumes results of another version or commit of emplace, /config has the
/// attribute `earlier_programs`.
/// @return state of the run: kDone, kStopped or, if an exception ended its search, kFailed
/// @param checkpoint_seconds  least time between two checkpoints [s]
/// @throws InputError for a checkpoint of another run, RunError if the file cannot be written
RunProgress RunSweepTask(const SweepTask& task, double checkpoint_seconds);

/// Records that the process of a run ended too early. A checkpoint stays, with `error` added;
/// without a checkpoint the run is failed.
void WriteFailure(const SweepTask& task, const std::string& error);

}  // namespace emplace
