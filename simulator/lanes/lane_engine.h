#pragma once

// Simulates a register full of placements at once in stream semantics, with the kernel that the
// processor has. Holds every buffer of a pass, so that a run allocates nothing; one per thread.
//
// Internal to the simulator: simulator.cc shares a batch among the engines.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "simulator/lanes/lane_kernel.h"
#include "simulator/lanes/lane_program.h"

namespace emplace {

class LaneEngine {
 public:
  /// @param program  possible; outlives the engine
  /// @param kernel   that this processor can run
  /// @param allowed  [num_groups] masks of devices; outlives the engine
  LaneEngine(const LaneProgram& program,
             const LaneKernel& kernel,
             std::span<const std::uint64_t> allowed);

  int lanes() const { return kernel_.lanes; }

  /// Simulates placements 0 .. n - 1 in lanes 0 .. n - 1.
  /// @param placements  [n] devices by group; 1 <= n <= lanes(); every route that they need is there
  /// @return false if some group is on a device where it may not be: nothing has been simulated
  bool Run(std::span<const std::uint8_t* const> placements, bool busy_wanted);

  // What the last run found for a lane.

  /// False if times overflowed: nothing is known then, another engine has to do it.
  bool done(int lane) const { return latest_[lane] < program_.time_limit; }
  Nanos step_time(int lane) const { return latest_[lane]; }
  /// Of device `d`; 0 unless it was wanted. [ns]
  Nanos busy(int lane, int d) const { return busy_[d * kernel_.lanes + lane]; }
  /// Of device `d`; 0 unless memory is counted. [B]
  std::int64_t peak(int lane, int d) const;

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  const LaneProgram& program_;
  const LaneKernel& kernel_;
  const std::span<const std::uint64_t> allowed_;
  std::unique_ptr<std::byte, Free> memory_;
  LaneRun run_;
  std::uint8_t* devices_ = nullptr;
  void* on_device_ = nullptr;
  const std::uint32_t *latest_ = nullptr, *busy_ = nullptr;
  std::vector<const std::uint8_t*> rows_;  // [lanes]
};

}  // namespace emplace
