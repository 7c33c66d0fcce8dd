// `emplace sweep-worker`: the program that the launchers of a sweep start on other machines.

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "agents/registry.h"
#include "experiments/commands.h"
#include "experiments/console/stop_request.h"
#include "experiments/sweep/frozen_sweep.h"
#include "experiments/sweep/run_worker.h"

namespace emplace {
namespace {

struct SweepWorkerOptions {
  std::string folder, runs, beside = ".";
  bool others = false;
  int jobs = 1, cores = 1;
  double checkpoint_seconds = 30;
};

// Returns the runs that are neither executed nor ended.
std::vector<int> FreeRuns(const RunBoard& board) {
  std::vector<int> free;
  const std::vector<RunProgress> marks = board.Marks();
  for (int run = 0; run < std::ssize(marks); ++run) {
    const bool has_ended = marks[run] == RunProgress::kDone || marks[run] == RunProgress::kFailed;
    if (!has_ended && !board.IsClaimed(run)) free.push_back(run);
  }
  return free;
}

int RunSweepWorker(const SweepWorkerOptions& options) {
  const int num_runs = CountFrozenRuns(options.folder);
  std::vector<int> runs(static_cast<size_t>(num_runs));
  std::iota(runs.begin(), runs.end(), 0);
  if (!options.runs.empty()) runs = ParseRuns(options.runs, num_runs);
  while (!runs.empty()) {
    const Sweep sweep = ReadFrozenSweep(options.folder, runs, options.beside, AllAgents());
    StopRequest::CatchSignals();
    RunBoard board(sweep.folder.board(), num_runs);
    RunWorker worker(sweep,
                     board,
                     {.jobs = options.jobs,
                      .cores = options.cores,
                      .checkpoint_seconds = options.checkpoint_seconds});
    worker.Add(runs);
    while (!worker.idle()) worker.Step();
    const bool is_over = !options.others || StopRequest::requested() || board.stop_requested();
    runs = is_over ? std::vector<int>() : FreeRuns(board);
  }
  return 0;
}

}  // namespace

void AddSweepWorkerCommand(Command program) {
  auto options = std::make_shared<SweepWorkerOptions>();
  Command command = program.AddCommand(
      "sweep-worker", "Do runs of a sweep that `emplace sweep` started; started by the launchers");
  command.Add("folder", options->folder, "the sweep's folder").Type("DIR").Required();
  command.Add("--runs", options->runs, "numbers of runs, as in 0-99,103; default: all");
  command.AddFlag("--others",
                  options->others,
                  "then also do other runs of the sweep that no other worker does");
  command.Add("--jobs", options->jobs, "runs at a time").Positive().ShowDefault();
  command.Add("--beside", options->beside, "folder of the sweep's config, for relative paths in it")
      .Type("DIR")
      .ShowDefault();
  command.Add("--cores", options->cores, "cores for each run, unless its config sets `threads`")
      .Positive()
      .ShowDefault();
  command
      .Add("--checkpoint-seconds",
           options->checkpoint_seconds,
           "least time between two checkpoints [s]")
      .NotNegative()
      .ShowDefault();
  command.Footer(
      "Any number of workers, on any machine that shares the folder, may get the same runs. A "
      "worker\n"
      "skips runs that are done or that another worker does, resumes stopped runs from their "
      "checkpoints\n"
      "and ends when none is left. SIGTERM saves checkpoints first. Results are in the folder.");
  command.Does([options] { return RunSweepWorker(*options); });
}

}  // namespace emplace
