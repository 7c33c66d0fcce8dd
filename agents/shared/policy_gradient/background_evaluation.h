#pragma once

// Evaluates placements on its own thread while the caller samples more of them.
//
//   BackgroundEvaluation evaluation(evaluator);
//   for (...) evaluation.Add(sample a placement);  // evaluated concurrently, in this order
//   const std::vector<Score> scores = evaluation.Finish();
//
// The scores, and the records of a metered evaluator, are those of one batch with all placements:
// batch sizes never change a result. The evaluator belongs to the thread until Finish() or
// destruction. If it evaluates together with other ranks, all placements are submitted as one batch
// in Finish(), because all ranks must submit the same batches.

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "framework/search/evaluator.h"

namespace emplace {

class BackgroundEvaluation {
 public:
  /// @param evaluator  must outlive this object
  explicit BackgroundEvaluation(Evaluator& evaluator);
  /// Waits for the evaluation in progress and skips those not begun.
  ~BackgroundEvaluation();
  BackgroundEvaluation(const BackgroundEvaluation&) = delete;
  BackgroundEvaluation& operator=(const BackgroundEvaluation&) = delete;

  void Add(Placement placement);
  /// Waits for all evaluations.
  /// @return the scores in the order of Add()
  /// @throws the first exception of the evaluator
  std::vector<Score> Finish();

 private:
  void Run();
  void Stop(bool abandon);

  Evaluator& evaluator_;
  const bool at_once_;  // evaluate all in Finish()
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Placement> waiting_;
  bool complete_ = false;
  std::vector<Score> scores_;
  std::exception_ptr error_;
  std::thread thread_;  // last member: uses the others
};

}  // namespace emplace
