#pragma once

// One agent with one seed against one problem.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/run_config.h"
#include "framework/search/meter.h"

namespace emplace {

enum class SearchStatus : std::uint8_t {
  kFinished,  ///< the agent had nothing more to do
  kBudget,    ///< the budget ended the search
  kStopped,   ///< ctrl-C ended it
  kFailed,    ///< an exception ended it
};
std::string_view ToString(SearchStatus status);

struct SearchResult {
  std::string label;  ///< SearchLabel()
  std::uint64_t seed = 0;
  SearchStatus status = SearchStatus::kStopped;
  std::string error;                           ///< of a failed one
  std::optional<MeteredEvaluator::Best> best;  ///< what was found until the end, however it came
  std::vector<EvaluationRecord> records;
  UpdateTable updates;     ///< without columns if the agent does not learn
  std::int64_t steps = 0;  ///< of the agent, those that ended
  double seconds = 0;      ///< over all parts of a resumed search [s]
  std::string checkpoint;  ///< saved agent, if stopped between two steps
};

/// How long the evaluations would have taken on the hardware: the sum of their step times, times
/// the steps of one measurement. A placement that does not fit counts nothing: it fails before its
/// first step ends. [s]
double HardwareSeconds(const std::vector<EvaluationRecord>& records, int steps_per_measurement);

/// Set by ctrl-C. It ends a search between two of its steps, so that it can be saved and go on from
/// there, or, ten seconds later, within a step (urgent()). A construction, which would begin anew
/// anyway, ends at once. A second ctrl-C, half a second later or more,
/// kills the process.
class StopRequest {
 public:
  /// SIGINT, SIGTERM and the end of the terminal (SIGHUP, unless ignored as under nohup) request a
  /// stop from now on. A reader of our output that goes away does not end the process.
  static void CatchSignals();
  /// However often a stop is requested from now on, it is one request: of a process that has a
  /// supervisor.
  static void IgnoreRepeats();
  /// True once a stop is requested.
  static bool requested();
  /// True ten seconds later: searches first get the chance to end their step, so that they can be
  /// saved.
  static bool urgent();
};

/// "hill_climb.seed2"; without seed if the agent uses none.
std::string SearchLabel(const AgentSpec& spec, std::uint64_t seed);

/// Between two steps of a search, what it has found so far, in a form that it can go on from.
struct Checkpoints {
  double every_seconds = 0;                        ///< at least so long between two [s]
  std::function<void(const SearchResult&)> write;  ///< empty: none are made
};

/// Runs until the agent has finished, the budget ends or a stop is requested. Never throws what the
/// agent or the evaluator threw: that is a result with status kFailed.
/// @param simulator  options for an evaluator of its own
/// @param earlier    with a checkpoint: goes on from there and returns both parts as one
/// @param checkpoints  their making changes nothing in the search; a writer's exception fails it
SearchResult RunSearch(std::shared_ptr<const Problem> problem,
                       const SimulatorOptions& simulator,
                       const AgentSpec& spec,
                       std::uint64_t seed,
                       const Budget& budget,
                       const SearchResult* earlier = nullptr,
                       const Checkpoints& checkpoints = {});

}  // namespace emplace
