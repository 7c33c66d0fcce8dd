#pragma once

// Evaluates placements on a thread of its own while the caller draws more of them.
//
//   BackgroundEvaluation evaluation(evaluator);
//   for (...) evaluation.Add(draw a placement);      // evaluated meanwhile, in this order
//   const std::vector<Outcome> outcomes = evaluation.Finish();
//
// Outcomes and what a metered evaluator records are those of one batch with all placements: sizes
// of batches never change a result. The evaluator belongs to the thread until Finish() or
// destruction. One that evaluates with other ranks is asked for all at once, in Finish(): they must
// be asked for the same.

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "framework/search/evaluator.h"

namespace emplace {

class BackgroundEvaluation {
 public:
  /// @param evaluator  outlives this
  explicit BackgroundEvaluation(Evaluator& evaluator);
  /// Waits for the evaluation under way; leaves out those not begun.
  ~BackgroundEvaluation();
  BackgroundEvaluation(const BackgroundEvaluation&) = delete;
  BackgroundEvaluation& operator=(const BackgroundEvaluation&) = delete;

  void Add(Placement placement);
  /// Waits for all. @return in the order of Add @throws what the evaluator threw first
  std::vector<Outcome> Finish();

 private:
  void Run();
  void Stop(bool abandon);

  Evaluator& evaluator_;
  const bool at_once_;  // in Finish()
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Placement> waiting_;
  bool complete_ = false;
  std::vector<Outcome> outcomes_;
  std::exception_ptr error_;
  std::thread thread_;  // last: uses the others
};

}  // namespace emplace
