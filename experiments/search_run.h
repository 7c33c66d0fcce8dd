#pragma once

// One agent with one seed against one problem.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run_config.h"
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
  std::string label;  ///< "hill_climb.seed2"; without seed if none is used
  std::uint64_t seed = 0;
  SearchStatus status = SearchStatus::kStopped;
  std::string error;                           ///< of a failed one
  std::optional<MeteredEvaluator::Best> best;  ///< what was found until the end, however it came
  std::vector<EvaluationRecord> records;
  double seconds = 0;
  std::string checkpoint;  ///< saved agent, if stopped between two steps
};

/// Set by ctrl-C. A second ctrl-C kills the process.
class StopRequest {
 public:
  /// SIGINT and SIGTERM request a stop from now on.
  static void CatchSignals();
  /// True once a stop is requested.
  static bool requested();
  /// True a moment later: searches first get the chance to end their step, so that they can be
  /// saved.
  static bool urgent();
};

/// Runs until the agent has finished, the budget ends or a stop is requested. Never throws what the
/// agent or the evaluator threw: that is a result with status kFailed.
/// @param simulator  options for an evaluator of its own
SearchResult RunSearch(std::shared_ptr<const Problem> problem,
                       const SimulatorOptions& simulator,
                       const AgentSpec& spec,
                       std::uint64_t seed,
                       const Budget& budget);

}  // namespace emplace
