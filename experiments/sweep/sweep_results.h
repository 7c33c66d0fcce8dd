#pragma once

// The results file of one run of a sweep: as `emplace run` writes them, with the attributes `sweep`
// (its name) and `run` ("#3 graph=nmt cluster=2xk80 agent=seq2seq seed=0") of /config.

#include <filesystem>
#include <string>

#include "experiments/provenance/provenance.h"
#include "experiments/run/run_progress.h"
#include "experiments/run/search_record.h"
#include "experiments/run/search_run.h"
#include "experiments/sweep/sweep_problems.h"

namespace emplace {

/// What the file of a run says; empty without one.
struct RunState : SearchRecord {
  RunProgress progress = RunProgress::kNew;
  std::string program;  ///< ProgramText() of the one that wrote it
};

/// Version and commit of a program: "0.1.0 (commit 1ae1b4c)".
std::string ProgramText(const Provenance& provenance);

/// Reads how far a run has come.
/// @param path   its file, which need not be there
/// @param label  SearchLabel() of the run
/// @throws InputError if the file is there but no results file of this version
RunState ReadRunState(const std::filesystem::path& path, const std::string& label);

/// The same for --resume: a damaged file is renamed to "0003.h5.damaged", with a warning on stderr,
/// and its run begins anew.
RunState ResumeRunState(const std::filesystem::path& path, const std::string& label);

/// What a worker needs to know of a run.
struct SweepTask {
  RunPlan plan;  ///< PlanOfRun()
  const SweepProblem* problem = nullptr;
  std::string title;  ///< "#3 graph=nmt ..."
  std::filesystem::path path;
  Provenance provenance;

  std::string label() const { return SearchLabel(plan.agents[0], plan.seeds[0]); }
};

/// Begins the run, or goes on with it from its checkpoint, and writes its file: checkpoints
/// meanwhile, the result at the end or when a stop is requested. A checkpoint stays until the next
/// one, or the result, is written. If the run goes on from what another version or commit of
/// emplace has found, /config has the attribute `earlier_programs`.
/// @return how far the run has come: kDone, kStopped or, if an exception ended its search, kFailed
/// @param checkpoint_seconds  at least so long between two checkpoints [s]
/// @throws InputError for a checkpoint of another run, RunError if the file cannot be written
RunProgress RunSweepTask(const SweepTask& task, double checkpoint_seconds);

/// Notes that the process of a run ended before its time: a checkpoint stays, with `error` beside
/// it; without one the run is failed.
void WriteFailure(const SweepTask& task, const std::string& error);

}  // namespace emplace
