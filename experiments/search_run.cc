#include "experiments/search_run.h"

#include <csignal>
#include <sstream>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kGrace = std::chrono::seconds(2);

volatile std::sig_atomic_t stop_requested = 0;
std::atomic<Clock::rep> stop_seen{0};  // when the first search noticed; 0: not yet

void OnSignal(int) {
  stop_requested = 1;
}

// Why the loop ended without an exception of the agent's.
SearchStatus Search(Agent& agent, MeteredEvaluator& evaluator, const Budget& budget) {
  try {
    for (std::int64_t step = 0; !agent.Finished(); ++step) {
      if (StopRequest::requested()) return SearchStatus::kStopped;
      if (step >= budget.steps || evaluator.remaining() <= 0 ||
          evaluator.seconds() >= budget.seconds) {
        return SearchStatus::kBudget;
      }
      agent.Step(evaluator);
    }
    return SearchStatus::kFinished;
  } catch (const BudgetExhausted&) {
    return SearchStatus::kBudget;
  }
}

}  // namespace

std::string_view ToString(SearchStatus status) {
  switch (status) {
    case SearchStatus::kFinished:
      return "finished";
    case SearchStatus::kBudget:
      return "budget";
    case SearchStatus::kStopped:
      return "stopped";
    case SearchStatus::kFailed:
      return "failed";
  }
  EMPLACE_CHECK(false);
  return "";
}

void StopRequest::CatchSignals() {
  struct sigaction action {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESETHAND;  // the second one kills
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool StopRequest::requested() {
  return stop_requested != 0;
}

bool StopRequest::urgent() {
  if (!requested()) return false;
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep seen = 0;
  if (stop_seen.compare_exchange_strong(seen, now)) return false;
  return Clock::duration(now - seen) > kGrace;
}

SearchResult RunSearch(std::shared_ptr<const Problem> problem,
                       const SimulatorOptions& simulator,
                       const AgentSpec& spec,
                       std::uint64_t seed,
                       const Budget& budget) {
  SearchResult result;
  result.label = spec.entry->uses_seed ? fmt::format("{}.seed{}", spec.label, seed) : spec.label;
  result.seed = seed;
  if (StopRequest::requested()) return result;
  std::unique_ptr<Evaluator> inner;
  std::optional<MeteredEvaluator> evaluator;
  try {
    inner = MakeSimulator(problem, simulator);
    const std::unique_ptr<Agent> agent = spec.entry->make({problem, seed}, spec.settings);
    evaluator.emplace(*inner, budget, [] { return StopRequest::urgent(); });
    result.status = Search(*agent, *evaluator, budget);
    if (result.status == SearchStatus::kStopped) {
      std::ostringstream saved;
      agent->Save(saved);
      result.checkpoint = saved.str();
    } else if (result.status == SearchStatus::kBudget && StopRequest::urgent()) {
      result.status = SearchStatus::kStopped;
    }
  } catch (const std::exception& error) {
    result.status = SearchStatus::kFailed;
    result.error = error.what();
  }
  if (evaluator) {
    result.seconds = evaluator->seconds();
    result.best = evaluator->best();
    result.records = evaluator->records();
  }
  return result;
}

}  // namespace emplace
