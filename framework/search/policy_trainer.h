#pragma once

// Learning over several problems. A trainer trains a policy whose size does not depend on a graph
// on several problems at once and writes it to a file. The agent of the same name with the setting
// `policy` applies it to other problems.
//
//   while (...) trainer->Step(evaluators);           // one update over all problems
//   trainer->SavePolicy(file);

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <vector>

#include "framework/search/evaluator.h"
#include "framework/search/stateful.h"
#include "framework/search/update_table.h"

namespace emplace {

struct TrainerContext {
  std::vector<std::shared_ptr<const Problem>> problems;  ///< at least one
  std::uint64_t seed = 0;
  int threads = 1;           ///< for one step; never changes a result
  std::int64_t updates = 0;  ///< planned number, for schedules; 0: not known
};

class PolicyTrainer : public Stateful {
 public:
  /// Makes one update from placements of every problem.
  /// @param evaluators  [problems], in the order of the context's problems; used by one thread each
  virtual void Step(std::span<Evaluator* const> evaluators) = 0;
  /// Returns one row per update.
  virtual const UpdateTable& updates() const = 0;
  /// Writes the policy for the agent's setting `policy`, complete for use on other problems.
  virtual void SavePolicy(std::ostream& out) = 0;
};

}  // namespace emplace
