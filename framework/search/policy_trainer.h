#pragma once

// Learning that does not end with one problem: a policy whose size depends on no graph is trained
// on several problems at once, written to a file, and applied to problems it never saw by the agent
// of the same name with the setting `policy`.
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
  int threads = 1;           ///< that a step may use; never changes a result
  std::int64_t updates = 0;  ///< planned, for schedules; 0: not known
};

class PolicyTrainer : public Stateful {
 public:
  /// One update from placements of every problem.
  /// @param evaluators  [problems], in the order of the context's problems; used by one thread each
  virtual void Step(std::span<Evaluator* const> evaluators) = 0;
  /// One row per update.
  virtual const UpdateTable& updates() const = 0;
  /// What the agent's setting `policy` reads: all that acting on another problem needs.
  virtual void SavePolicy(std::ostream& out) = 0;
};

}  // namespace emplace
