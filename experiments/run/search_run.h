#pragma once

// One agent with one seed against one problem.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/run/run_config.h"
#include "experiments/run/run_progress.h"
#include "framework/search/lockstep.h"
#include "framework/search/meter.h"

namespace emplace {

enum class SearchStatus : std::uint8_t {
  kFinished,  ///< the agent had nothing more to do
  kBudget,    ///< the budget ended the search
  kStopped,   ///< the user ended it (StopRequest), or who watches it (Observers::watch)
  kNotBegun,  ///< the user ended the run before it began; no results file holds such a search
  kFailed,    ///< an exception ended it
};
std::string_view ToString(SearchStatus status);
/// How far the search has come of which results say this status.
RunProgress ProgressOf(std::string_view status);

/// What a search found, and all that it needs to go on.
struct SearchResult {
  std::string label;  ///< SearchLabel()
  std::uint64_t seed = 0;
  SearchStatus status = SearchStatus::kStopped;
  std::string error;                           ///< of a failed one
  std::optional<MeteredEvaluator::Best> best;  ///< of all evaluations; also if the search failed
  std::vector<EvaluationRecord> records;       ///< one per evaluation, in order
  UpdateTable updates;                         ///< without columns if the agent does not learn
  std::int64_t steps = 0;                      ///< of the agent, those that ended
  Nanos bound = 0;                             ///< Agent::bound() after the last of them [ns]
  double seconds = 0;                          ///< over all parts of a resumed search [s]
  std::string checkpoint;                      ///< saved agent, if stopped between two steps
};

/// Write and read a result but for its updates, which are part of the checkpoint, for another rank
/// of the run (framework/base/raw_stream.h).
void WriteRawResult(std::ostream& out, const SearchResult& result);
SearchResult ReadRawResult(std::istream& in);

/// Step time of the best placement if it fits. [ns]
std::optional<Nanos> FittingTime(const SearchResult& result);

/// Whether the budget ended the search of an agent that learns before its second update. Some
/// learners make the first one from the last evaluations of a small budget, and then nothing is
/// evaluated by what it changed.
bool LearnedNothing(const SearchResult& result);

/// How long the evaluations would have taken on the hardware: the sum of their step times, times
/// the steps of one measurement. A placement that does not fit counts nothing: it fails before its
/// first step ends. [s]
double HardwareSeconds(const std::vector<EvaluationRecord>& records, int steps_per_measurement);

/// What a search is called in results: "hill_climb.seed2"; without the seed if the agent uses none.
std::string SearchLabel(const AgentSpec& spec, std::uint64_t seed);

/// State of a search between two of its steps, or after its end.
struct SearchMoment {
  std::string_view label;  ///< SearchLabel()
  std::uint64_t seed = 0;
  std::int64_t steps = 0, evaluations = 0;
  double seconds = 0;                    ///< as SearchResult::seconds [s]
  std::optional<Nanos> step_time;        ///< of the best placement so far that fits [ns]
  Nanos bound = 0;                       ///< as SearchResult::bound [ns]
  const UpdateTable* updates = nullptr;  ///< Agent::updates(); valid within the call alone
  std::optional<SearchStatus> ended;     ///< empty while the search runs
};

/// Who is called while a search runs.
struct Observers {
  double every_seconds = 0;  ///< at least so long between two checkpoints [s]
  /// Takes a checkpoint between two steps: the result so far, from which the search can resume.
  /// Empty: none are made.
  std::function<void(const SearchResult&)> write = {};
  /// Called before every step but the first, and after the end. Returns whether the search
  /// continues; false stops it, as a request to stop does. Empty: not called.
  std::function<bool(const SearchMoment&)> watch = {};
  /// Gets the text of a policy file when the search of an agent that learns a policy
  /// (agents/shared/policy_file.h) has ended; not if it was stopped. Empty: none is made.
  std::function<void(const std::string&)> save_policy = {};
};

/// Makes the agent and lets it search until it has finished, the budget is used up or a stop is
/// requested, by the user or an observer. A stop requested before gives `earlier`, or a result with
/// status kNotBegun. An exception of the agent or the evaluator is not thrown on: it gives a result
/// with status kFailed.
/// @param problem      what the agent sees
/// @param simulator    options of the simulator that evaluates its placements
/// @param earlier      a stopped search with a checkpoint, to go on from; the result is both parts
///   as one. nullptr: a new search
/// @param observers    change nothing in the search, but for its seconds; if a call throws, the
///   search fails
/// @param gpu          that simulates (MakeGpuSimulator()); -1: none
/// @param lockstep     of the ranks that make this search together, each with the same arguments;
///   nullptr: this process alone. Rank 0's result counts: it alone heeds requests to stop, seconds
///   and `observers`. What breaks the meetings of the ranks is thrown (RunError)
SearchResult RunSearch(std::shared_ptr<const Problem> problem,
                       const SimulatorOptions& simulator,
                       const AgentSpec& spec,
                       std::uint64_t seed,
                       const Budget& budget,
                       const SearchResult* earlier = nullptr,
                       const Observers& observers = {},
                       int gpu = -1,
                       Lockstep* lockstep = nullptr);

/// A device with the step time of all groups that may run there on it, the others where
/// SingleDevicePlacement() puts them (agents/single_device/single_device.h).
struct SingleDevice {
  std::string device;   ///< its name in the cluster
  Nanos step_time = 0;  ///< the problem's objective [ns]
};

/// Simulates every device of the cluster as the single one, of interchangeable devices the first.
/// Returns the one with the shortest step time among those whose placement fits into memory, of
/// equals the first: the baseline of every speed-up. None if no placement fits.
/// @throws InputError as MakeSimulator() does
std::optional<SingleDevice> BestSingleDevice(std::shared_ptr<const Problem> problem,
                                             const SimulatorOptions& simulator);

}  // namespace emplace
