#include "experiments/run/search_run.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "agents/registry.h"
#include "agents/shared/devices.h"
#include "agents/shared/policy_file.h"
#include "agents/single_device/single_device.h"
#include "experiments/console/stop_request.h"
#include "experiments/provenance/provenance.h"
#include "experiments/run/run_problem.h"
#include "framework/base/error.h"
#include "framework/base/raw_stream.h"
#include "framework/cluster/symmetry.h"
#include "framework/search/distributed_evaluator.h"
#include "framework/search/state.h"
#include "simulator/gpu/gpu_simulator.h"
#include "simulator/simulator.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kNanosPerSecond = 1e9;

std::string Saved(Agent& agent) {
  std::ostringstream saved;
  agent.Save(saved);
  return saved.str();
}

// Returns the policy of a learning agent with its settings; empty if it learned none.
std::string LearnedPolicy(Agent& agent, const AgentSpec& spec) {
  auto* source = dynamic_cast<PolicySource*>(&agent);
  if (source == nullptr || !source->learns_policy()) return "";
  std::ostringstream policy;
  source->SavePolicy(policy);
  return PolicyFileText(policy.str(), spec.entry->resolve_settings(spec.settings));
}

// Copies the current results of the search to `result`.
void Collect(const Agent* agent, const MeteredEvaluator& evaluator, SearchResult& result) {
  result.seconds = evaluator.seconds();
  result.best = evaluator.best();
  result.records = evaluator.records();
  if (agent != nullptr && agent->updates() != nullptr) result.updates = *agent->updates();
}

SearchMoment MomentOf(const UpdateTable* updates,
                      const MeteredEvaluator& evaluator,
                      const SearchResult& so_far) {
  SearchMoment moment{.label = so_far.label,
                      .seed = so_far.seed,
                      .steps = so_far.steps,
                      .evaluations = std::ssize(evaluator.records()),
                      .seconds = evaluator.seconds(),
                      .bound = so_far.bound,
                      .updates = updates};
  const auto& records = evaluator.records();
  if (!records.empty() && records.back().best_step_time < kMaxNanos) {
    moment.step_time = records.back().best_step_time;
  }
  return moment;
}

// Calls the observers and makes checkpoints when they are due.
class Observed {
 public:
  explicit Observed(const Observers& observers) : observers_(observers) {}

  // Returns whether the search continues.
  bool BetweenSteps(Agent& agent, const MeteredEvaluator& evaluator, const SearchResult& so_far) {
    if (observers_.watch && so_far.steps > 0 &&
        !observers_.watch(MomentOf(agent.updates(), evaluator, so_far))) {
      return false;
    }
    if (!observers_.write || Clock::now() - last_ < interval_) return true;
    SearchResult result = so_far;
    result.status = SearchStatus::kStopped;
    result.checkpoint = Saved(agent);
    Collect(&agent, evaluator, result);
    observers_.write(result);
    last_ = Clock::now();
    return true;
  }

 private:
  const Observers& observers_;
  std::chrono::duration<double> interval_{observers_.every_seconds};
  Clock::time_point last_ = Clock::now();
};

// Lets the agent search and counts the completed steps. An agent's bound holds for the given issue
// order; it is ignored if searches may choose `any_order`. With several ranks only rank 0 observes
// stops and seconds and has observers. Returns why the search ended; exceptions of the agent and
// the evaluator propagate.
SearchStatus Search(Agent& agent,
                    MeteredEvaluator& evaluator,
                    DistributedEvaluator* distributed,
                    const Budget& budget,
                    Observed& observed,
                    bool any_order,
                    SearchResult& result) {
  std::int64_t& steps = result.steps;
  try {
    for (; !agent.Finished(); ++steps) {
      const bool decides = evaluator.ranks().rank == 0;
      if (decides && StopRequest::requested()) return SearchStatus::kStopped;
      if (steps >= budget.steps || evaluator.remaining() <= 0 ||
          (decides && evaluator.seconds() >= budget.seconds)) {
        return SearchStatus::kBudget;
      }
      if (distributed != nullptr) distributed->BetweenSteps();
      if (!observed.BetweenSteps(agent, evaluator, result)) return SearchStatus::kStopped;
      agent.Step(evaluator);
      if (!any_order) result.bound = agent.bound();
    }
    return SearchStatus::kFinished;
  } catch (const BudgetExhausted&) {
    if (!any_order) result.bound = agent.bound();
    return SearchStatus::kBudget;
  }
}

// Makes the search of RunSearch() after its initial checks. @param result  has label and seed
SearchResult MakeSearch(const std::shared_ptr<const Problem>& problem,
                        const SimulatorOptions& simulator,
                        const AgentSpec& spec,
                        const Budget& budget,
                        const SearchResult* earlier,
                        const Observers& observers,
                        std::optional<int> gpu,
                        ReplicatedSearch* replicated,
                        SearchResult result) {
  std::unique_ptr<Evaluator> inner;
  std::optional<DistributedEvaluator> distributed;
  std::unique_ptr<Agent> agent;
  std::optional<MeteredEvaluator> evaluator;
  try {
    inner = gpu ? MakeGpuSimulator(problem, simulator, *gpu) : MakeSimulator(problem, simulator);
    AgentContext context{.problem = problem, .seed = result.seed};
    std::function<bool()> cancelled;
    if (replicated == nullptr || replicated->rank() == 0) {
      context.end_construction = Interrupt(StopRequest::requested);
      context.end_step = Interrupt(StopRequest::urgent);
      cancelled = [] { return StopRequest::urgent(); };
    }
    agent = spec.entry->make(context, spec.settings);
    if (replicated != nullptr) distributed.emplace(*inner, *replicated);
    evaluator.emplace(
        distributed ? static_cast<Evaluator&>(*distributed) : *inner, budget, std::move(cancelled));
    if (earlier != nullptr) {
      std::istringstream saved(earlier->checkpoint);
      agent->Load(saved);
      evaluator->Restore(earlier->best, earlier->records, earlier->seconds);
      result.steps = earlier->steps;
      if (!simulator.order_may_change) result.bound = agent->bound();
    }
    Observed observed(observers);
    result.status = Search(*agent,
                           *evaluator,
                           distributed ? &*distributed : nullptr,
                           budget,
                           observed,
                           simulator.order_may_change,
                           result);
    if (result.status == SearchStatus::kStopped) {
      result.checkpoint = Saved(*agent);
    } else if (result.status == SearchStatus::kBudget && StopRequest::urgent()) {
      if (earlier != nullptr) return *earlier;  // last checkpoint: a partial step cannot resume
      result.status = SearchStatus::kStopped;
    }
    if (observers.save_policy && result.status != SearchStatus::kStopped) {
      const std::string policy = LearnedPolicy(*agent, spec);
      if (!policy.empty()) observers.save_policy(policy);
    }
  } catch (const Interrupted&) {  // within a step: also the last checkpoint
    if (earlier != nullptr) return *earlier;
    result.status = SearchStatus::kStopped;
  } catch (const std::exception& error) {
    result.status = SearchStatus::kFailed;
    result.error = error.what();
  }
  if (!evaluator) return result;
  Collect(agent.get(), *evaluator, result);
  if (observers.watch) {
    SearchMoment last =
        MomentOf(result.updates.columns.empty() ? nullptr : &result.updates, *evaluator, result);
    last.ended = result.status;
    try {
      observers.watch(last);
    } catch (const std::exception& error) {
      result.status = SearchStatus::kFailed;
      result.error = error.what();
    }
  }
  return result;
}

// Returns a checksum of the inputs that all ranks must share before they search.
std::uint64_t ChecksumOf(const ProblemId& problem,
                         const AgentSpec& spec,
                         const Budget& budget,
                         const SearchResult& result,
                         const SearchResult* earlier) {
  const std::string about = fmt::format("{} {} {} {} {} {}",
                                        VersionText(),
                                        result.label,
                                        spec.entry->resolve_settings(spec.settings),
                                        budget.evaluations,
                                        budget.steps,
                                        earlier != nullptr ? earlier->checkpoint : "");
  return Checksum(std::as_bytes(std::span(about)), Combined(problem));
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
    case SearchStatus::kNotBegun:
      return "not begun";
    case SearchStatus::kFailed:
      return "failed";
  }
  EMPLACE_CHECK(false);
  return "";
}

RunProgress ProgressOf(std::string_view status) {
  if (status == ToString(SearchStatus::kFinished) || status == ToString(SearchStatus::kBudget)) {
    return RunProgress::kDone;
  }
  return status == ToString(SearchStatus::kFailed) ? RunProgress::kFailed : RunProgress::kStopped;
}

std::optional<Nanos> FittingTime(const SearchResult& result) {
  if (!result.best || !result.best->outcome.feasible) return std::nullopt;
  return result.best->outcome.step_time;
}

bool LearnedNothing(const SearchResult& result) {
  return result.status == SearchStatus::kBudget && !result.updates.columns.empty() &&
         result.updates.num_rows() < 2;
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
                       const Observers& observers,
                       std::optional<int> gpu,
                       ReplicatedSearch* replicated) {
  SearchResult result;
  result.label = SearchLabel(spec, seed);
  result.seed = seed;
  bool wanted = !StopRequest::requested();
  if (replicated != nullptr) {
    wanted = replicated->Begin(
        ChecksumOf(IdOf(*problem, false, simulator), spec, budget, result, earlier), wanted);
  }
  if (!wanted) {
    if (earlier != nullptr) return *earlier;
    result.status = SearchStatus::kNotBegun;
    return result;
  }
  result = MakeSearch(
      problem, simulator, spec, budget, earlier, observers, gpu, replicated, std::move(result));
  if (replicated != nullptr) {
    if (replicated->broken()) throw RunError(result.error);
    replicated->End(fmt::format("{} {}", ToString(result.status), result.error));
  }
  return result;
}

void WriteRawResult(std::ostream& out, const SearchResult& result) {
  WriteRawText(out, result.label);
  WriteRaw(out, result.seed);
  WriteRaw(out, result.status);
  WriteRawText(out, result.error);
  WriteRaw(out, result.best.has_value());
  if (result.best) WriteRawBest(out, *result.best);
  WriteRawList(out, result.records);
  WriteRaw(out, result.steps);
  WriteRaw(out, result.bound);
  WriteRaw(out, result.seconds);
  WriteRawText(out, result.checkpoint);
}

SearchResult ReadRawResult(std::istream& in) {
  SearchResult result;
  result.label = ReadRawText(in);
  result.seed = ReadRaw<std::uint64_t>(in);
  result.status = ReadRaw<SearchStatus>(in);
  result.error = ReadRawText(in);
  if (ReadRaw<bool>(in)) result.best = ReadRawBest(in);
  result.records = ReadRawList<EvaluationRecord>(in);
  result.steps = ReadRaw<std::int64_t>(in);
  result.bound = ReadRaw<Nanos>(in);
  result.seconds = ReadRaw<double>(in);
  result.checkpoint = ReadRawText(in);
  return result;
}

std::optional<SingleDevice> BestSingleDevice(std::shared_ptr<const Problem> problem,
                                             const SimulatorOptions& simulator) {
  const Cluster& cluster = problem->cluster();
  std::vector<int> label = DevicesOfEqualCosts(problem->costs());
  for (int d = 0; d < cluster.num_devices(); ++d) {  // groups not allowed on d go elsewhere
    if (cluster.kind_of(d).device_class == DeviceClass::kGpu) label[d] += cluster.num_devices();
  }
  const std::vector<int> first = InterchangeableDevices(cluster, label);
  std::vector<int> devices;
  std::vector<Placement> placements;
  for (const int d : ComputingDevices(cluster)) {
    if (first[d] != d) continue;
    devices.push_back(d);
    placements.push_back(SingleDevicePlacement(*problem, d));
  }
  const std::vector<Outcome> outcomes = MakeSimulator(problem, simulator)->Evaluate(placements);
  std::optional<SingleDevice> best;
  for (size_t i = 0; i < devices.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    if (!outcome.feasible || (best && best->step_time <= outcome.step_time)) continue;
    best = {cluster.device(devices[i]).name, outcome.step_time};
  }
  return best;
}

}  // namespace emplace
