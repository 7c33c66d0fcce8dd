#pragma once

// Several searches of the same kind that run concurrently in a ring, each with its own seed:
// parallel restarts, or the islands of a genetic algorithm.
//
// In a round every island searches until it has made `exchange` evaluations. An island that found
// nothing better then gets the best placement that the previous island had at the end of the round.
// The length of a round is counted in evaluations, and islands exchange placements only at its end.
// The same seed therefore gives the same search for any number of threads and ranks.
//
// Reference: E. Cantu-Paz, Efficient and Accurate Parallel Genetic Algorithms, 2000.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "agents/shared/local_search/local_search_agent.h"
#include "framework/config/fields.h"

namespace emplace {

inline constexpr NumberRange kIslandsRange = Between(1, 1000), kExchangeRange = Between(1, 1e12);
inline constexpr const char* kIslandsHelp =
    "number of concurrent searches, each with its own seed; threads and ranks change no result";
inline constexpr const char* kExchangeHelp =
    "evaluations of an island between exchanges; an island without a better placement then gets "
    "its neighbour's best one";

class Islands {
 public:
  /// @param make      makes an island
  /// @param count     number of islands; 1 disables them
  /// @param exchange  evaluations of an island in a round
  Islands(std::function<std::unique_ptr<LocalSearchAgent>(std::uint64_t seed)> make,
          int count,
          std::int64_t exchange);

  /// Returns the islands of an agent with these settings, which include `islands` and `exchange`.
  template <class A>
  static Islands Of(const AgentContext& context, const typename A::Config& config) {
    return {[context, config](std::uint64_t seed) {
              AgentContext own = context;
              own.seed = seed;
              typename A::Config settings = config;
              settings.islands = 1;
              return std::make_unique<A>(own, settings);
            },
            config.islands,
            config.exchange};
  }

  /// Returns whether there are islands.
  explicit operator bool() const { return count_ > 1; }
  /// Makes the islands. @param draw_seed  called for the seed of each island, in order
  void Begin(const std::function<std::uint64_t()>& draw_seed);
  /// Runs a round. In the first round the islands begin at `best`.
  /// @return the best placement of all islands
  const ScoredPlacement& Improve(Evaluator& evaluator, const ScoredPlacement& best);
  /// Passes a placement found elsewhere to the first island, which continues from it if it is
  /// better.
  void Adopt(const ScoredPlacement& found);
  void VisitState(StateVisitor& v);

 private:
  std::function<std::unique_ptr<LocalSearchAgent>(std::uint64_t)> make_;
  int count_;
  std::int64_t exchange_;
  bool started_ = false;
  std::vector<std::unique_ptr<LocalSearchAgent>> islands_;
};

/// The result of a turn of one of several searches that run concurrently and exchange their results
/// at its end.
struct Turn {
  std::int64_t evaluations = 0;
  bool stale = false;  ///< whether the search failed to improve its best placement
};

/// Returns a turn for Evaluator::RunConcurrently(), which runs it in this process or on another
/// rank. The search steps until it has made `enough` evaluations, but at least once.
/// @param agent, turn  must outlive the returned object; both are complete after RunConcurrently()
ConcurrentSearch MakeTurn(LocalSearchAgent& agent, std::int64_t enough, Turn& turn);

}  // namespace emplace
