#pragma once

// The memory of a pass (lane_kernel.h) and its results. Internal to the simulator.

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

class LaneBuffers {
 public:
  /// @param program  possible; must outlive the buffers
  /// @param kernel   one that this processor can run
  LaneBuffers(const LaneProgram& program, const LaneKernel& kernel);

  const LaneProgram& program() const { return program_; }
  const LaneKernel& kernel() const { return kernel_; }
  LaneRun& run() { return run_; }
  /// Runs a pass from run().begin to run().end. If the times of a lane grow large, the same amount
  /// is subtracted from all of them, so that the latest becomes three quarters of the limit. Times
  /// less than this amount are lost: they become 0, which stands for any time up to the amount.
  /// They seldom matter: a lane is wrong only if something that takes time starts at a 0. The
  /// host's clock is not lost.
  void Pass();
  /// Simulates placements from the first op to the last.
  /// @param placements  [1 .. lanes] by group, with every route that they need
  /// @param allowed     [num_groups] masks of devices
  /// @return false, without results: in some placement a group is on a device where it may not be
  bool Run(std::span<const std::uint8_t* const> placements,
           std::span<const std::uint64_t> allowed,
           bool busy_wanted);
  std::uint8_t* devices() { return devices_; }
  std::byte* on_device() { return on_device_; }
  /// The state that changes from op to op and that a pass needs to resume, in one piece of memory.
  std::byte* state() { return state_; }
  std::size_t state_bytes() const { return state_bytes_; }

  // The results of a lane after a pass to the end.

  /// Returns false if times overflowed: another engine then has to simulate the placement.
  bool done(int lane) const { return run_.latest[lane] < limit_ && run_.wrong[lane] == 0; }
  Nanos step_time(int lane) const { return taken_[lane] + run_.latest[lane]; }
  /// Busy time of device `d`, if busy times were requested. [ns]
  Nanos busy(int lane, int d) const {
    const int at = d * kernel_.lanes + lane;
    return busy_before_[at] + run_.busy[at];
  }
  /// Peak of device `d`; 0 unless memory is counted. [B]
  std::int64_t peak(int lane, int d) const {
    return (Bytes(run_.peak, lane, d) + Bytes(run_.resident, lane, d)) * program_.unit;
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  void Rebase();
  std::int64_t Bytes(const void* rows, int lane, int d) const {
    const int at = d * kernel_.lanes + lane;
    switch (program_.memory) {
      case LaneMemory::k32:
        return static_cast<const std::uint32_t*>(rows)[at];
      case LaneMemory::k64:
        return static_cast<std::int64_t>(static_cast<const std::uint64_t*>(rows)[at]);
      case LaneMemory::kNone:
        break;
    }
    return 0;
  }

  const LaneProgram& program_;
  const LaneKernel& kernel_;
  LaneRun run_;
  std::uint32_t limit_ = 0;       // LaneProgram::TimeLimit() of the devices in use [ns]
  Nanos* taken_ = nullptr;        // [lanes] amount subtracted from all times [ns]
  Nanos* busy_before_ = nullptr;  // [num_devices, lanes] busy times before the subtraction [ns]
  std::unique_ptr<std::byte, Free> memory_;
  std::uint8_t* devices_ = nullptr;
  std::byte *on_device_ = nullptr, *state_ = nullptr;
  std::size_t state_bytes_ = 0;
  std::vector<const std::uint8_t*> in_lane_;  // [lanes] of Run()
  std::vector<std::int32_t> classes_;         // all alias classes
};

}  // namespace emplace
