#pragma once

// A yardstick for the speed of the simulator: stream semantics' step time, and nothing else, in one
// plain loop over flat arrays, as a good programmer writes it in an hour.

#include <cstdint>
#include <vector>

#include "framework/base/time.h"
#include "framework/placement/placement.h"
#include "framework/search/problem.h"

namespace emplace::testing {

class PlainPass {
 public:
  /// @param problem  every op its own group; devices with one slot, no gap and no host times; for
  ///   each ordered pair a private channel, all of equal latency and bandwidth. Anything else is a
  ///   mistake of the caller's, and checked.
  explicit PlainPass(const Problem& problem);

  /// The step time in stream semantics. @param placement  every op where it may run   @return [ns]
  Nanos StepTime(const Placement& placement);

 private:
  int num_ops_, num_devices_;
  Nanos latency_;
  std::vector<int> order_;  // [num_ops] ops as they are issued
  // Items are the tensors and, behind them, what control readers await of each op.
  std::vector<int> read_begin_{0}, reads_;      // [num_ops + 1] into [reads]: items
  std::vector<int> output_begin_{0}, outputs_;  // [num_ops + 1] into [outputs]: items
  std::vector<int> reader_begin_{0}, readers_;  // [num_items + 1] into [readers]: ops
  std::vector<Nanos> cost_;                     // [num_ops, num_devices]
  std::vector<Nanos> wire_;                     // [num_items]
  std::vector<Nanos> arrival_;                  // [num_items, num_devices]
  std::vector<Nanos> device_free_;              // [num_devices]
  std::vector<Nanos> channel_free_;             // [num_devices, num_devices]
};

}  // namespace emplace::testing
