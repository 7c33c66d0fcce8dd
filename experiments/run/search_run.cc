#include "experiments/run/search_run.h"

#include <csignal>
#include <sstream>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;
// Long enough for a policy update on a graph of 80,000 ops: a search cut within a step begins anew.
constexpr auto kGrace = std::chrono::seconds(10);
constexpr double kNanosPerSecond = 1e9;

// `timeout` and batch systems signal a process and then its whole group: one request that comes
// twice.
constexpr auto kOnce = std::chrono::milliseconds(500);

std::atomic<Clock::rep> stop_requested{0};  // when; 0: not yet
std::atomic<bool> repeats_ignored{false};
std::atomic<Clock::rep> stop_seen{0};  // when the first search noticed; 0: not yet
static_assert(std::atomic<Clock::rep>::is_always_lock_free);  // or no handler may use it

void OnSignal(int number) {
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep first = 0;
  if (stop_requested.compare_exchange_strong(first, now) || repeats_ignored ||
      Clock::duration(now - first) < kOnce) {
    return;
  }
  signal(number, SIG_DFL);
  raise(number);
}

std::string Saved(const Agent& agent) {
  std::ostringstream saved;
  agent.Save(saved);
  return saved.str();
}

// What was found until now goes into `result`.
void Collect(const Agent* agent, const MeteredEvaluator& evaluator, SearchResult& result) {
  result.seconds = evaluator.seconds();
  result.best = evaluator.best();
  result.records = evaluator.records();
  if (agent != nullptr && agent->updates() != nullptr) result.updates = *agent->updates();
}

// Hands out a checkpoint if it is time for one.
class Checkpointer {
 public:
  explicit Checkpointer(const Checkpoints& checkpoints) : checkpoints_(checkpoints) {}

  void BetweenSteps(const Agent& agent, const MeteredEvaluator& evaluator, SearchResult result) {
    if (!checkpoints_.write || Clock::now() - last_ < interval_) return;
    result.status = SearchStatus::kStopped;
    result.checkpoint = Saved(agent);
    Collect(&agent, evaluator, result);
    checkpoints_.write(result);
    last_ = Clock::now();
  }

 private:
  const Checkpoints& checkpoints_;
  std::chrono::duration<double> interval_{checkpoints_.every_seconds};
  Clock::time_point last_ = Clock::now();
};

// Why the loop ended without an exception of the agent's. Counts the steps that ended.
SearchStatus Search(Agent& agent,
                    MeteredEvaluator& evaluator,
                    const Budget& budget,
                    Checkpointer& checkpointer,
                    SearchResult& result) {
  std::int64_t& steps = result.steps;
  try {
    for (; !agent.Finished(); ++steps) {
      if (StopRequest::requested()) return SearchStatus::kStopped;
      if (steps >= budget.steps || evaluator.remaining() <= 0 ||
          evaluator.seconds() >= budget.seconds) {
        return SearchStatus::kBudget;
      }
      checkpointer.BetweenSteps(agent, evaluator, result);
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
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

void StopRequest::IgnoreRepeats() {
  repeats_ignored = true;
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

double HardwareSeconds(const std::vector<EvaluationRecord>& records, int steps_per_measurement) {
  double seconds = 0;
  for (const EvaluationRecord& record : records) {
    if (record.feasible) seconds += static_cast<double>(record.step_time) / kNanosPerSecond;
  }
  return steps_per_measurement * seconds;
}

std::string SearchLabel(const AgentSpec& spec, std::uint64_t seed) {
  return spec.entry->uses_seed ? fmt::format("{}.seed{}", spec.label, seed) : spec.label;
}

SearchResult RunSearch(std::shared_ptr<const Problem> problem,
                       const SimulatorOptions& simulator,
                       const AgentSpec& spec,
                       std::uint64_t seed,
                       const Budget& budget,
                       const SearchResult* earlier,
                       const Checkpoints& checkpoints) {
  SearchResult result;
  result.label = SearchLabel(spec, seed);
  result.seed = seed;
  if (StopRequest::requested()) return earlier != nullptr ? *earlier : result;
  std::unique_ptr<Evaluator> inner;
  std::unique_ptr<Agent> agent;
  std::optional<MeteredEvaluator> evaluator;
  try {
    inner = MakeSimulator(problem, simulator);
    agent = spec.entry->make({.problem = problem,
                              .seed = seed,
                              .end_construction = Interrupt(StopRequest::requested),
                              .end_step = Interrupt(StopRequest::urgent)},
                             spec.settings);
    evaluator.emplace(*inner, budget, [] { return StopRequest::urgent(); });
    if (earlier != nullptr) {
      std::istringstream saved(earlier->checkpoint);
      agent->Load(saved);
      evaluator->Restore(earlier->best, earlier->records, earlier->seconds);
      result.steps = earlier->steps;
    }
    Checkpointer checkpointer(checkpoints);
    result.status = Search(*agent, *evaluator, budget, checkpointer, result);
    if (result.status == SearchStatus::kStopped) {
      result.checkpoint = Saved(*agent);
    } else if (result.status == SearchStatus::kBudget && StopRequest::urgent()) {
      if (earlier != nullptr) return *earlier;  // a checkpoint is worth more than part of a step
      result.status = SearchStatus::kStopped;
    }
  } catch (const Interrupted&) {  // within a step, as above
    if (earlier != nullptr) return *earlier;
    result.status = SearchStatus::kStopped;
  } catch (const std::exception& error) {
    result.status = SearchStatus::kFailed;
    result.error = error.what();
  }
  if (evaluator) Collect(agent.get(), *evaluator, result);
  return result;
}

}  // namespace emplace
