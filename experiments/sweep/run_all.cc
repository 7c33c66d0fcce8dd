#include "experiments/sweep/run_all.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "experiments/console/stop_request.h"
#include "experiments/sweep/sweep_report.h"
#include "framework/base/progress.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kIdleWorkers = 3;   // workers without progress in a row until a run fails
constexpr int kQuietMoments = 5;  // checks without a claim until all workers count as stopped
constexpr auto kStopPatience = std::chrono::seconds(60);

class RunCollector {
 public:
  RunCollector(const Sweep& sweep,
               std::vector<ResultRun>& states,
               RunBoard& board,
               Launcher& launcher,
               bool quiet)
      : sweep_(sweep),
        states_(states),
        board_(board),
        launcher_(launcher),
        bests_(sweep, states),
        has_ended_(states.size(), false),
        idle_workers_(states.size(), 0),
        marks_(states.size(), RunProgress::kNew) {
    for (int run = 0; run < std::ssize(states); ++run) {
      if (states[run].progress == RunProgress::kDone) {
        has_ended_[run] = true;
        marks_[run] = RunProgress::kDone;
        continue;
      }
      if (states[run].progress == RunProgress::kFailed) states[run] = {};  // starts again
      states[run].error.clear();
      left_.push_back(run);
    }
    num_done_ = static_cast<int>(std::ssize(states) - std::ssize(left_));
    progress_.emplace("runs", std::ssize(states), !quiet, num_done_);
  }

  void Run(const std::string& owner) {
    board_.Begin(marks_, owner);
    Submit(left_);
    while (num_ended_ < std::ssize(left_) && !HasStopped()) {
      const std::vector<EndedRuns> ends = launcher_.Watch();
      Collect();
      for (const EndedRuns& end : ends) TakeEnd(end);
      LookForLost();
      ShowProgress();
    }
  }

 private:
  // A run whose worker has ended without finishing it.
  struct LostRun {
    int run = 0;
    bool was_idle = false;  // the worker has finished no other run
    std::string why;
  };

  void Submit(const std::vector<int>& runs) {
    if (runs.empty()) return;
    num_submitted_ += std::ssize(runs);
    launcher_.Submit(runs);
  }

  // Asks the workers to stop if the user did. Returns true once they have stopped or do not answer.
  bool HasStopped() {
    if (!StopRequest::requested()) return false;
    if (!stop_begun_) {
      stop_begun_ = Clock::now();
      board_.RequestStop();
      launcher_.Cancel();
    }
    const bool is_quiet = board_.NumClaimed() == 0;
    num_quiet_ = is_quiet ? num_quiet_ + 1 : 0;
    const bool over = (is_quiet && num_submitted_ == 0) || num_quiet_ > kQuietMoments ||
                      Clock::now() - *stop_begun_ > kStopPatience;
    if (over) Collect();
    return over;
  }

  // Reads the runs whose marks on the board have changed.
  void Collect() {
    std::vector<RunProgress> marks = board_.Marks();
    for (const int run : left_) {
      if (has_ended_[run] || marks[run] == marks_[run]) continue;
      const bool is_stop = marks[run] == RunProgress::kStopped;
      if (is_stop && !StopRequest::requested()) continue;  // it will resume
      Report(run);
      has_ended_[run] = !is_stop;
      if (!is_stop) ++num_ended_;
    }
    marks_ = std::move(marks);
  }

  void Report(int run) {
    ResultRun& state = states_[run];
    state = StateOfRun(sweep_, run);
    if (!state.error.empty()) ++num_failed_;
    if (state.progress == RunProgress::kDone) ++num_done_;
    bests_.Update(run);
    best_ = bests_.Text(sweep_.problems.of_config[sweep_.plan.runs[run].config]);
    progress_->Line(fmt::format("{}: {}", RunTitle(sweep_.plan, run), ShortState(state)));
  }

  void TakeEnd(const EndedRuns& end) {
    num_submitted_ -= std::ssize(end.runs);
    const bool was_idle =
        std::none_of(end.runs.begin(), end.runs.end(), [&](int run) { return has_ended_[run]; });
    for (const int run : end.runs) {
      if (!has_ended_[run]) lost_.push_back({run, was_idle, end.why});
    }
  }

  // Submits runs again that no worker has any more.
  void LookForLost() {
    if (lost_.empty() || StopRequest::requested()) return;
    std::vector<int> again;
    std::vector<LostRun> held;
    for (LostRun& lost : lost_) {
      if (has_ended_[lost.run]) continue;
      const std::optional<RunClaim> claim = board_.Claim(lost.run);
      if (!claim) {
        held.push_back(std::move(lost));
      } else if (IsHopeless(lost)) {
        GiveUp(*claim, lost.why);
      } else {
        again.push_back(lost.run);
      }
    }
    lost_ = std::move(held);
    std::sort(again.begin(), again.end());
    Submit(again);
  }

  bool IsHopeless(const LostRun& lost) {
    const ResultRun now = StateOfRun(sweep_, lost.run);
    if (now.progress == RunProgress::kDone) return false;  // its mark is delayed
    std::int64_t& evaluations = states_[lost.run].evaluations;
    const bool went_on = !lost.was_idle || now.evaluations > evaluations;
    evaluations = now.evaluations;
    int& idle_workers = idle_workers_[lost.run];
    idle_workers = went_on ? 0 : idle_workers + 1;
    return idle_workers >= kIdleWorkers;
  }

  void GiveUp(const RunClaim& claim, const std::string& why) {
    WriteFailure(MakeTask(sweep_, claim.run()),
                 fmt::format("{} workers ended without finishing it{}{}",
                             kIdleWorkers,
                             why.empty() ? "" : "; the last: ",
                             why));
    claim.Mark(RunProgress::kFailed);
  }

  void ShowProgress() {
    progress_->Update(num_done_,
                      fmt::format("{} running{}{}{}",
                                  board_.NumClaimed(),
                                  num_failed_ > 0 ? fmt::format(", {} failed", num_failed_) : "",
                                  best_.empty() ? "" : "; best ",
                                  best_));
  }

  const Sweep& sweep_;
  std::vector<ResultRun>& states_;
  RunBoard& board_;
  Launcher& launcher_;
  BestRuns bests_;
  std::vector<int> left_;
  std::vector<bool> has_ended_;     // [runs]
  std::vector<int> idle_workers_;   // [runs] workers in a row without progress
  std::vector<RunProgress> marks_;  // [runs] as last seen
  std::vector<LostRun> lost_;
  std::optional<Progress> progress_;
  std::optional<Clock::time_point> stop_begun_;
  std::int64_t num_submitted_ = 0;  // runs whose workers have not ended
  int num_ended_ = 0, num_done_ = 0, num_failed_ = 0, num_quiet_ = 0;
  std::string best_;
};

}  // namespace

void RunAll(const Sweep& sweep,
            std::vector<ResultRun>& states,
            RunBoard& board,
            Launcher& launcher,
            const std::string& owner,
            bool quiet) {
  RunCollector(sweep, states, board, launcher, quiet).Run(owner);
}

}  // namespace emplace
