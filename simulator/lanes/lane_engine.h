#pragma once

// Simulates a vector register of placements at once in stream semantics, with a kernel that the
// processor can run. A run allocates no memory; there is one engine per thread.
//
// Internal to the simulator: simulator.cc divides a batch among the engines.

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/lanes/lane_buffers.h"

namespace emplace {

class LaneEngine {
 public:
  /// @param program  possible; must outlive the engine
  /// @param kernel   one that this processor can run
  /// @param allowed  [num_groups] masks of devices; outlives the engine
  LaneEngine(const LaneProgram& program,
             const LaneKernel& kernel,
             std::span<const std::uint64_t> allowed);

  int lanes() const { return buffers_.kernel().lanes; }

  /// Simulates placements 0 .. n - 1 in lanes 0 .. n - 1.
  /// @param placements  [n] devices by group, with every route that they need; 1 <= n <= lanes()
  /// @return false if some group is on a device where it may not be; then nothing was simulated
  bool Run(std::span<const std::uint8_t* const> placements, bool busy_wanted);

  /// The results of the last run.
  const LaneBuffers& results() const { return buffers_; }

 private:
  LaneBuffers buffers_;
  const std::span<const std::uint64_t> allowed_;
  std::vector<const std::uint8_t*> in_lane_;  // [lanes]
  std::vector<std::int32_t> classes_;         // all alias classes
};

}  // namespace emplace
