#pragma once

// What stands for a GPU in tests: the CPU runs the functions of a GPU's threads, one thread after
// the other.

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/gpu/gpu_device.h"

namespace emplace::testing {

/// The launches of a device, shared with whoever wants to know.
using LaunchLog = std::vector<GpuLaunch>;

/// Copies and launches wait in their stream until Wait(), and then run in order. Columns have a
/// stride of the block's threads where they would be in shared memory. All memory holds rubbish at
/// first.
std::unique_ptr<GpuDevice> MakeGpuOnHost(const GpuLimits& limits,
                                         std::shared_ptr<LaunchLog> log = nullptr);

/// Limits like those of a large GPU.
inline constexpr GpuLimits kLargeGpu{.free_memory = std::int64_t{1} << 30,
                                     .shared_per_block = 227 << 10,
                                     .shared_per_sm = 228 << 10};

}  // namespace emplace::testing
