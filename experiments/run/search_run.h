#pragma once

// One search: an agent with a seed on a problem.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/run/run_config.h"
#include "experiments/run/run_progress.h"
#include "framework/search/meter.h"
#include "framework/search/replicated_search.h"

namespace emplace {

enum class SearchStatus : std::uint8_t {
  kFinished,  ///< the agent had nothing more to do
  kBudget,    ///< the budget ended the search
  kStopped,   ///< the user (StopRequest) or an observer (Observers::watch) ended it
  kNotBegun,  ///< the user ended the run before the search began; no results file contains such a
              ///< search
  kFailed,    ///< an exception ended it
};
std::string_view ToString(SearchStatus status);
/// Returns the progress of a search whose results have this status.
RunProgress ProgressOf(std::string_view status);

/// The results of a search, and the state from which it can resume.
struct SearchResult {
  std::string label;  ///< SearchLabel()
  std::uint64_t seed = 0;
  SearchStatus status = SearchStatus::kStopped;
  std::string error;                           ///< if the search failed
  std::optional<MeteredEvaluator::Best> best;  ///< over all evaluations; also if the search failed
  std::vector<EvaluationRecord> records;       ///< one per evaluation, in order
  UpdateTable updates;                         ///< without columns if the agent does not learn
  std::int64_t steps = 0;                      ///< completed steps of the agent
  Nanos bound = 0;         ///< Agent::bound() after the last completed step [ns]
  double seconds = 0;      ///< over all parts of a resumed search [s]
  std::string checkpoint;  ///< saved agent, if the search stopped between two steps
};

/// Write and read a result for another rank of the run (framework/base/raw_stream.h). The updates
/// are left out: they are part of the checkpoint.
void WriteRawResult(std::ostream& out, const SearchResult& result);
SearchResult ReadRawResult(std::istream& in);

/// Returns the step time of the best placement if it fits. [ns]
std::optional<Nanos> FittingTime(const SearchResult& result);

/// Returns whether the budget ended the search of a learning agent before its second update. Some
/// learners make their first update from the last evaluations of a small budget; no evaluation then
/// benefits from it.
bool LearnedNothing(const SearchResult& result);

/// Returns the time of the evaluations on the hardware: the sum of their step times, times the
/// steps of one measurement. A placement that does not fit counts as 0: it fails before its first
/// step ends. [s]
double HardwareSeconds(const std::vector<EvaluationRecord>& records, int steps_per_measurement);

/// Returns the name of a search in results: "hill_climb.seed2", or without the seed if the agent
/// uses none.
std::string SearchLabel(const AgentSpec& spec, std::uint64_t seed);

/// State of a search between two of its steps, or after its end.
struct SearchMoment {
  std::string_view label;  ///< SearchLabel()
  std::uint64_t seed = 0;
  std::int64_t steps = 0, evaluations = 0;
  double seconds = 0;                    ///< as SearchResult::seconds [s]
  std::optional<Nanos> step_time;        ///< of the best placement so far that fits [ns]
  Nanos bound = 0;                       ///< as SearchResult::bound [ns]
  const UpdateTable* updates = nullptr;  ///< Agent::updates(); valid only during the call
  std::optional<SearchStatus> ended;     ///< empty while the search runs
};

/// Callbacks during a search.
struct Observers {
  double every_seconds = 0;  ///< least time between two checkpoints [s]
  /// Gets a checkpoint between two steps: the result so far, from which the search can resume.
  /// Empty: no checkpoints are made.
  std::function<void(const SearchResult&)> write = {};
  /// Called before every step except the first, and after the end. Returns whether the search
  /// continues; false stops it as a stop request does. Empty: not called.
  std::function<bool(const SearchMoment&)> watch = {};
  /// Gets the text of a policy file when the search of an agent that learns a policy
  /// (agents/shared/policy_file.h) has ended; not called if the search was stopped. Empty: no text
  /// is made.
  std::function<void(const std::string&)> save_policy = {};
};

/// Makes the agent and lets it search until it finishes, the budget is used up, or the user or an
/// observer requests a stop. If a stop was requested before the call, returns `earlier`, or a
/// result with status kNotBegun. Exceptions of the agent or the evaluator are not rethrown: the
/// result has status kFailed.
/// @param problem      problem that the agent sees
/// @param simulator    options of the simulator that evaluates its placements
/// @param earlier      a stopped search with a checkpoint to resume; the result covers both parts.
///   nullptr: a new search
/// @param observers    they change nothing in the search except its seconds; an exception of an
///   observer fails the search
/// @param gpu          GPU that simulates (MakeGpuSimulator())
/// @param replicated   of the ranks that make this search together, each with the same arguments;
///   nullptr: this process alone. Rank 0's result counts: only rank 0 observes stop requests,
///   seconds and `observers`. Errors of the communication between the ranks are thrown (RunError)
SearchResult RunSearch(std::shared_ptr<const Problem> problem,
                       const SimulatorOptions& simulator,
                       const AgentSpec& spec,
                       std::uint64_t seed,
                       const Budget& budget,
                       const SearchResult* earlier = nullptr,
                       const Observers& observers = {},
                       std::optional<int> gpu = {},
                       ReplicatedSearch* replicated = nullptr);

/// The step time if all groups that may run on a device are placed on it, and the others as by
/// SingleDevicePlacement() (agents/single_device/single_device.h).
struct SingleDevice {
  std::string device;   ///< name of the device in the cluster
  Nanos step_time = 0;  ///< the problem's objective [ns]
};

/// Simulates every computing device (ComputingDevices(), agents/shared/devices.h) as the single
/// one; of interchangeable devices only the first. Returns the first device with the shortest step
/// time among those whose placement fits into memory: the baseline of every speed-up. None if no
/// placement fits.
/// @throws InputError as MakeSimulator() does
std::optional<SingleDevice> BestSingleDevice(std::shared_ptr<const Problem> problem,
                                             const SimulatorOptions& simulator);

}  // namespace emplace
