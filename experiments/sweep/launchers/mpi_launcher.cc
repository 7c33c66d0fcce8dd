#include "experiments/sweep/launchers/mpi_launcher.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "experiments/console/stop_request.h"
#include "framework/base/error.h"
#include "framework/base/file.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr auto kRankPatience = std::chrono::minutes(2);
constexpr auto kRankEndPatience = std::chrono::seconds(5);
constexpr auto kToldPause = milliseconds(300);

LaunchedRank RequireRank() {
  const std::optional<LaunchedRank> rank = FindLaunchedRank();
  if (rank) return *rank;
  throw InputError(
      "launcher mpi: this process has no rank (mpirun sets OMPI_COMM_WORLD_RANK or PMI_RANK, srun "
      "SLURM_PROCID); start it as in mpirun -n 4 emplace sweep CONFIG --launcher mpi");
}

// Returns all runs, those of the rank first.
std::vector<int> OrderFor(const std::vector<int>& runs, const LaunchedRank& rank) {
  std::vector<int> order, others;
  for (size_t i = 0; i < runs.size(); ++i) {
    (static_cast<int>(i) % rank.size == rank.rank ? order : others).push_back(runs[i]);
  }
  order.insert(order.end(), others.begin(), others.end());
  return order;
}

// After mpirun has passed on a signal, it kills all ranks a second later, or as soon as one of them
// ends. Therefore no rank ends before rank 0, which waits until all have saved their state. Rank 0
// empties the lock's file and then reports the end.
void WaitForStopOfRank0(const SweepFolder& folder) {
  const auto end = Clock::now() + kRankEndPatience;
  while (Clock::now() < end && !ReadFile(folder.lock()).empty()) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  std::this_thread::sleep_for(kToldPause);
}

// Returns whether rank 0 has taken the lock, checked or frozen the sweep and written the board.
// Only then does the board name the process that holds the lock. The sweep may even be complete.
bool HasBegun(const Sweep& sweep, const std::string& frozen) {
  const SweepFolder& folder = sweep.folder;
  if (!fs::exists(folder.lock()) || !fs::exists(folder.board()) || !IsFrozenAs(folder, frozen)) {
    return false;
  }
  const RunBoard board(folder.board(), folder.num_runs());
  const std::vector<RunProgress> marks = board.Marks();
  if (std::count(marks.begin(), marks.end(), RunProgress::kDone) == std::ssize(marks)) return true;
  const std::string owner = ReadFile(folder.lock());
  return !owner.empty() && board.owner() == owner;
}

}  // namespace

MpiLauncher::MpiLauncher(const LaunchOrder& order)
    : rank_(RequireRank()),
      worker_(order.sweep,
              order.board,
              {.jobs = 1,
               .cores = std::max(1, order.config.cores),
               .checkpoint_seconds = order.checkpoint_seconds}) {
}

std::string MpiLauncher::description() const {
  return fmt::format("{} ranks", rank_.size);
}

void MpiLauncher::Submit(const std::vector<int>& runs) {
  worker_.Add(OrderFor(runs, rank_));
  submitted_.insert(submitted_.end(), runs.begin(), runs.end());
}

std::vector<EndedRuns> MpiLauncher::Watch() {
  if (worker_.idle()) std::this_thread::sleep_for(milliseconds(100));
  worker_.Step();
  if (!worker_.idle() || submitted_.empty()) return {};
  return {{std::exchange(submitted_, {}), ""}};
}

void WorkAsRank(const Sweep& sweep,
                const LaunchedRank& rank,
                const std::string& frozen,
                const WorkerSettings& settings) {
  const auto end = Clock::now() + kRankPatience;
  while (!HasBegun(sweep, frozen)) {
    if (StopRequest::requested()) return;
    if (Clock::now() > end) {
      throw RunError(fmt::format("{}: rank {} has waited {} minutes for rank 0 to start the sweep",
                                 sweep.folder.path().string(),
                                 rank.rank,
                                 kRankPatience.count()));
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
  RunBoard board(sweep.folder.board(), sweep.folder.num_runs());
  RunWorker worker(sweep, board, settings);
  std::vector<int> runs(sweep.plan.runs.size());
  for (size_t run = 0; run < runs.size(); ++run) runs[run] = static_cast<int>(run);
  worker.Add(OrderFor(runs, rank));
  while (!worker.idle()) worker.Step();
  if (StopRequest::requested() || board.stop_requested()) WaitForStopOfRank0(sweep.folder);
}

}  // namespace emplace
