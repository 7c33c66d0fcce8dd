#pragma once

// Several searches of one kind side by side, each from a seed of its own, in a ring: parallel
// restarts, the islands of a genetic algorithm.
//
// In a round every island searches until it has made `exchange` evaluations; then, if that brought
// it nothing better, it gets the best placement of the island before it, as that was at the end of
// the round. Rounds are counted in evaluations and islands see each other at their end only: the
// same seed gives the same search, whatever the threads and ranks.
//
// Reference: E. Cantu-Paz, Efficient and Accurate Parallel Genetic Algorithms, 2000.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "agents/shared/improvement/improvement_agent.h"
#include "framework/config/fields.h"

namespace emplace {

inline constexpr NumberRange kIslandsRange = Between(1, 1000), kExchangeRange = Between(1, 1e12);
inline constexpr const char* kIslandsHelp =
    "searches of this kind side by side, each with a seed of its own; threads and ranks change no "
    "result";
inline constexpr const char* kExchangeHelp =
    "evaluations of an island until one that found nothing better gets its neighbour's best";

class Islands {
 public:
  /// @param make      an island
  /// @param count     of them; 1: there are none
  /// @param exchange  evaluations of an island in a round
  Islands(std::function<std::unique_ptr<ImprovementAgent>(std::uint64_t seed)> make,
          int count,
          std::int64_t exchange);

  /// Islands of an agent with these settings, which have `islands` and `exchange`.
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

  /// Whether there are any.
  explicit operator bool() const { return count_ > 1; }
  /// Makes them. @param draw_seed  of each, in turn
  void Begin(const std::function<std::uint64_t()>& draw_seed);
  /// A round. Islands that have not begun do so at `best`.
  /// @return the best placement of all of them
  const ScoredPlacement& Improve(Evaluator& evaluator, const ScoredPlacement& best);
  /// One was found elsewhere: the first island goes on from it.
  void Adopt(const ScoredPlacement& found);
  void VisitState(StateVisitor& v);

 private:
  std::function<std::unique_ptr<ImprovementAgent>(std::uint64_t)> make_;
  int count_;
  std::int64_t exchange_;
  bool started_ = false;
  std::vector<std::unique_ptr<ImprovementAgent>> islands_;
};

}  // namespace emplace
