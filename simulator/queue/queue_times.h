#pragma once

#include <cstdint>
#include <vector>

#include "framework/base/time.h"
#include "simulator/engine/compiled_problem.h"

namespace emplace {

/// The results of a run in queue semantics: the times of ops and of received copies. The peaks of
/// memory follow from them (queue_memory.h). The memory is kept between runs.
struct QueueTimes {
  /// A received copy.
  struct Copy {
    Nanos start;  ///< start of the last hop: from then on the copy takes memory [ns]
    /// Arrival of a first hop of the item. The latest of these among the copies of an item is the
    /// time until which the item is read at its source. [ns]
    Nanos left;
    int item, device;
  };

  explicit QueueTimes(const CompiledProblem& problem)
      : start(problem.num_ops), finish(problem.num_ops), copies(problem.readers.size() + 1) {}

  std::vector<Nanos> start, finish;  ///< [num_ops] by position [ns]
  std::vector<Copy> copies;          ///< the run's are the first `num_copies`; one place is spare
  size_t num_copies = 0;
  Nanos latest = 0;  ///< latest finish of an op or arrival of a hop [ns]
};

}  // namespace emplace
