#pragma once

// One pass over a LaneProgram for a vector register of placements: AVX2 has 8 lanes of 32 bits,
// AVX-512 has 16. The pass is written once (lane_pass.h) for both. The program contains both
// kernels, even if it is compiled for plain x86-64, and chooses one at run time.
//
// Internal to the simulator; used by lane_buffers.h and lane_moves.h.

#include <cstdint>
#include <span>

#include "simulator/lanes/lane_program.h"

namespace emplace {

/// The inputs and results of a pass. [L] is the index of a lane; rows of L are aligned to 64 bytes.
/// A *word* holds a bit per lane, in LaneKernel::word_bytes bytes; a *row* holds a word per device
/// and is padded to a multiple of 64 bits.
struct LaneRun {
  const std::uint8_t* devices = nullptr;  ///< [num_groups, L] device of a group
  const void* on_device = nullptr;        ///< [num_groups] rows: is the group on the device?
  int begin = 0, end = 0;                 ///< positions of the first op, and after the last
  bool busy_wanted = false;
  std::uint64_t in_use = 0;  ///< mask of devices: no lane has an op on the others

  // State of each lane before op `begin`, after the pass before op `end`. A pass from 0 clears it.
  std::uint32_t* rows = nullptr;          ///< [num_rows, L] arrivals, see LaneProgram
  std::uint32_t* slot_free = nullptr;     ///< [num_slots, L] [ns]
  std::uint32_t* channel_free = nullptr;  ///< [num_channel_rows, L] [ns]
  std::uint32_t* host = nullptr;          ///< [L] [ns]
  std::uint32_t* latest = nullptr;        ///< [L] step time so far [ns]
  std::uint32_t* busy = nullptr;          ///< [num_devices, L] [ns], if requested
  /// [num_devices, L] u32 or u64 by LaneMemory: bytes in use and their peak so far, without the
  /// resident ones [unit]
  void* used = nullptr;
  void* peak = nullptr;

  std::uint32_t* rebased = nullptr;  ///< [L] not 0: times were lost, see LaneBuffers::Pass()
  std::uint32_t* wrong = nullptr;    ///< [L] not 0: a lost time mattered
  bool any_rebased = false;          ///< `rebased` is not 0 in some lane

  void* resident = nullptr;  ///< [num_devices, L] like `used` [unit]
  void* later = nullptr;     ///< [entries] rows: has it later readers? LaneProgram::HasRow()
  std::uint32_t* last_use = nullptr;  ///< [classes, num_devices, L] position + 1, or kNeverReleased
  std::uint32_t* broadcast_arrival = nullptr;  ///< scratch: [num_channels, L] [ns]
  void* broadcast_done = nullptr;              ///< scratch: [num_channels] words
};

inline constexpr std::uint32_t kNeverReleased = 0xffffffff;

/// Lanes of the widest kernel.
inline constexpr int kMostLanes = 16;

/// The passes for one instruction set.
struct LaneKernel {
  const char* name;  ///< "AVX2", "AVX-512"
  int lanes;
  int word_bytes;
  int row_bytes(int num_devices) const { return (num_devices * word_bytes + 7) / 8 * 8; }
  /// Fills `devices` and `on_device` of LaneRun.
  /// @param placements  [lanes] placements by group
  /// @param allowed     [num_groups] masks of devices
  /// @param in_use      out: mask of the devices that some lane uses
  /// @return false if some group is on a device where it may not be
  bool (*load)(std::span<const std::uint8_t* const> placements,
               std::span<const std::uint64_t> allowed,
               int num_devices,
               std::uint8_t* devices,
               void* on_device,
               std::uint64_t& in_use);
  /// Fills `resident`; called only if memory is counted.
  void (*add_residents)(const LaneProgram& program, const LaneRun& run);
  /// Fills the rows of `last_use` of some alias classes; called only if memory is counted.
  void (*find_last_uses)(const LaneProgram& program,
                         const LaneRun& run,
                         std::span<const std::int32_t> classes);
  /// Simulates all lanes from run.begin to run.end.
  void (*pass)(const LaneProgram& program, const LaneRun& run);
};

/// Returns the kernel with most lanes that this processor can run; nullptr: none.
/// @param most_lanes  excludes wider kernels, for tests and measurements that compare them
const LaneKernel* FindLaneKernel(int most_lanes);

extern const LaneKernel kAvx2Kernel, kAvx512Kernel;

}  // namespace emplace
