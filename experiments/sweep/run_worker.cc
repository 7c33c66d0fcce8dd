#include "experiments/sweep/run_worker.h"

#include <optional>
#include <string>
#include <utility>

#include "experiments/console/stop_request.h"
#include "framework/base/error.h"

namespace emplace {
RunWorker::RunWorker(const Sweep& sweep, RunBoard& board, const WorkerSettings& settings)
    : sweep_(sweep),
      board_(board),
      settings_(settings),
      pool_([this](int run) { Work(run); }, [this](const WorkerEnd& end) { Ended(end); }) {
  EMPLACE_CHECK(settings.jobs >= 1 && settings.cores >= 1);
}

void RunWorker::Add(const std::vector<int>& runs) {
  queue_.insert(queue_.end(), runs.begin(), runs.end());
}

bool RunWorker::idle() const {
  return pool_.size() == 0 && queue_.empty();
}

bool RunWorker::IsToStop() const {
  return StopRequest::requested() || board_.stop_requested();
}

void RunWorker::Step() {
  BeginOrStop();
  if (idle()) return;
  pool_.Wait();
  BeginOrStop();  // keeps all workers busy while the caller handles the ended runs
}

void RunWorker::BeginOrStop() {
  if (IsToStop()) {
    queue_.clear();
    pool_.AskToStop();
  } else {
    BeginSome();
  }
}

void RunWorker::BeginSome() {
  while (pool_.size() < settings_.jobs && !queue_.empty()) {
    if (!Begin(queue_.front())) return;
    queue_.pop_front();
  }
}

// Returns false if the system cannot start a process now.
bool RunWorker::Begin(int run) {
  std::optional<RunClaim> claim = board_.Claim(run);
  if (!claim || claim->mark() == RunProgress::kDone || claim->mark() == RunProgress::kFailed)
    return true;
  if (ResumeRunState(sweep_.folder.run(run), LabelOfRun(sweep_.plan, run)).progress ==
      RunProgress::kDone) {
    claim->Mark(RunProgress::kDone);
    return true;
  }
  claims_.emplace(run, std::move(*claim));
  const std::string refused = pool_.Begin(run);
  if (refused.empty()) return true;
  claims_.erase(run);
  if (pool_.size() == 0) throw RunError(refused);
  return false;
}

// Runs in the process of the run.
void RunWorker::Work(int run) {
  std::erase_if(claims_, [&](const auto& claim) { return claim.first != run; });
  SweepTask task = MakeTask(sweep_, run);
  task.plan.UseCores(settings_.cores);
  claims_.at(run).Mark(RunSweepTask(task, settings_.checkpoint_seconds));
}

void RunWorker::Ended(const WorkerEnd& end) {
  const auto claim = claims_.extract(end.task);
  if (end.ok) return;
  RunProgress progress = StateOfRun(sweep_, end.task).progress;
  if (progress != RunProgress::kDone) {
    WriteFailure(MakeTask(sweep_, end.task), end.error);
    progress = RunProgress::kFailed;
  }
  claim.mapped().Mark(progress);
}

}  // namespace emplace
