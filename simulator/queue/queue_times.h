#pragma once

#include <cstdint>
#include <vector>

#include "framework/base/time.h"
#include "simulator/engine/compiled_problem.h"

namespace emplace {

/// What a run in queue semantics leaves behind: when ops ran and copies were received. The peaks of
/// memory follow from it (queue_memory.h). Holds its memory between runs.
struct QueueTimes {
  /// A received copy.
  struct Copy {
    Nanos start;  ///< of the last hop: from then on the copy takes memory [ns]
    /// Arrival of a first hop of the item; of the copies of an item, the latest of all its first
    /// hops is among them: until then the item is read at its source. [ns]
    Nanos left;
    int item, device;
  };

  explicit QueueTimes(const CompiledProblem& problem)
      : start(problem.num_ops), finish(problem.num_ops), copies(problem.readers.size() + 1) {}

  std::vector<Nanos> start, finish;  ///< [num_ops] by position [ns]
  std::vector<Copy> copies;  ///< those of the run are the first `num_copies`; one place is spare
  size_t num_copies = 0;
  Nanos latest = 0;  ///< finish of an op or arrival of a hop [ns]
};

}  // namespace emplace
