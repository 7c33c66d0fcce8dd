#include "experiments/sweep/launchers/mpi_launcher.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "experiments/stop_request.h"
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
// Rank and size, by who starts the processes.
constexpr std::pair<const char*, const char*> kStarters[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
};

MpiRank RequireRank() {
  const std::optional<MpiRank> rank = FindMpiRank();
  if (rank) return *rank;
  std::string variables;
  for (const auto& [rank_name, size_name] : kStarters) {
    variables += fmt::format("{}{}", variables.empty() ? "" : ", ", rank_name);
  }
  throw InputError(
      fmt::format("launcher mpi: this process has no rank (none of {} is set); start it as in "
                  "mpirun -n 4 emplace sweep CONFIG --launcher mpi",
                  variables));
}

// All runs, those of the rank first.
std::vector<int> OrderFor(const std::vector<int>& runs, const MpiRank& rank) {
  std::vector<int> order, others;
  for (size_t i = 0; i < runs.size(); ++i) {
    (static_cast<int>(i) % rank.size == rank.rank ? order : others).push_back(runs[i]);
  }
  order.insert(order.end(), others.begin(), others.end());
  return order;
}

// Once mpirun has passed a signal on, it kills all ranks a second later, or as soon as one of them
// ends: so nobody ends before rank 0, which waits for all to have saved. Rank 0 empties the lock's
// file and then tells the end.
void WaitForStopOfRank0(const SweepFolder& folder) {
  const auto end = Clock::now() + kRankEndPatience;
  while (Clock::now() < end && !ReadFile(folder.lock()).empty()) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  std::this_thread::sleep_for(kToldPause);
}

// Rank 0 has taken the lock, checked or frozen the sweep and written the board: only then does the
// board name the process that holds the lock. It may even have come to the end.
bool HasBegun(const Sweep& sweep, const std::string& frozen) {
  const SweepFolder& folder = sweep.folder;
  if (!fs::exists(folder.lock()) || !fs::exists(folder.board()) || !IsFrozenAs(folder, frozen)) {
    return false;
  }
  const RunBoard board(folder.board(), folder.num_runs());
  const std::vector<RunMark> marks = board.Marks();
  if (std::count(marks.begin(), marks.end(), RunMark::kDone) == std::ssize(marks)) return true;
  const std::string owner = ReadFile(folder.lock());
  return !owner.empty() && board.owner() == owner;
}

}  // namespace

std::optional<MpiRank> FindMpiRank() {
  for (const auto& [rank_name, size_name] : kStarters) {
    const char* rank = std::getenv(rank_name);
    const char* size = std::getenv(size_name);
    if (rank == nullptr || size == nullptr) continue;
    const MpiRank found{std::atoi(rank), std::atoi(size)};
    if (found.rank < 0 || found.rank >= found.size) {
      throw InputError(
          fmt::format("{}={} and {}={} are no rank and size", rank_name, rank, size_name, size));
    }
    return found;
  }
  return std::nullopt;
}

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
                const MpiRank& rank,
                const std::string& frozen,
                const WorkerSettings& settings) {
  const auto end = Clock::now() + kRankPatience;
  while (!HasBegun(sweep, frozen)) {
    if (StopRequest::requested()) return;
    if (Clock::now() > end) {
      throw RunError(fmt::format("{}: rank {} has waited {} minutes for rank 0 to begin the sweep",
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
