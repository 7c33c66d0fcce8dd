#pragma once

#include <cstdint>
#include <vector>

#include "framework/base/time.h"
#include "simulator/engine/compiled_problem.h"
#include "simulator/engine/memory_events.h"

namespace emplace {

/// The results of a run in queue semantics: the times of ops and of received copies. The peaks of
/// memory follow from them. The memory is kept between runs.
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

/// Computes the peaks of a run whose memory is counted by time (README.md, "Memory in Q, by time").
class QueueMemory {
 public:
  /// @param problem  outlives this
  explicit QueueMemory(const CompiledProblem& problem);

  /// Computes the peaks. @param device  [num_ops] by position
  /// @param times   of a run with these devices
  /// @param peak    [num_devices] out [B]
  void Count(const std::uint8_t* device, const QueueTimes& times, std::vector<std::int64_t>& peak);

  /// Returns whether all buffers that are ever on a device fit into its memory at once, for each
  /// device. There is then no deficit, and Count() is not needed, which takes much more time.
  /// @param device, times  as in Count()
  bool SurelyFits(const std::uint8_t* device, const QueueTimes& times);

 private:
  void FindEnds(const std::uint8_t* device, const QueueTimes& times);
  void ShareBuffers(const std::uint8_t* device);

  struct OpBytes {  // bytes of an op
    int position;
    std::int64_t bytes;
  };
  struct ItemBytes {  // bytes of an item and its producer
    int item, producer;
    std::int64_t bytes;
  };

  const CompiledProblem& p_;
  bool always_fits_;                 // whatever the placement
  std::vector<OpBytes> allocated_;   // when an op starts
  std::vector<OpBytes> workspaces_;  // released when it finishes
  std::vector<ItemBytes> released_;  // at the end of an item's own buffer
  std::vector<int> producer_;        // [num_items]
  std::vector<int> row_of_reader_;   // [readers] row of the item in end_
  // Of a run: the time until which the item, or its received copy, is used on each device;
  // kMaxNanos if it is never released. [num_items, num_devices]
  std::vector<Nanos> end_;
  std::vector<int> storage_;
  std::vector<std::int64_t> used_;
  MemoryEvents events_;
};

}  // namespace emplace
