#pragma once

// Ops, copies and empty commands timed alone on groups of cores.

#include <memory>
#include <optional>
#include <span>

#include "profilers/cpu/cpu_machine.h"
#include "profilers/executor/backend.h"

namespace emplace {

/// Warm: run back to back, those shorter than the clock is good for several at a time (each timing
/// is then their mean). Cold: once, behind a walk over more memory than the caches hold.
/// @throws RunError naming the call if there is no kernel
Sampler MakeCpuOpSampler(std::shared_ptr<CpuMachine> machine,
                         int device,
                         const OpWork& work,
                         std::span<const std::int64_t> input_bytes,
                         std::span<const std::int64_t> output_bytes,
                         CacheState cache);

/// The receiver's core copies what the sender's core has just written, as in a step.
/// @param beside  a link that is kept busy meanwhile
Sampler MakeCpuCopySampler(std::shared_ptr<CpuMachine> machine,
                           const BackendLink& link,
                           std::int64_t bytes,
                           const BackendLink* beside);

/// kNullKernel: an empty command. kWait: what it takes until a command that waits for another
/// worker's starts (there must be two devices). The others mean nothing here: workers have their
/// own lists.
std::optional<Sampler> MakeCpuDispatchSampler(std::shared_ptr<CpuMachine> machine,
                                              int device,
                                              DispatchQuantity quantity);

}  // namespace emplace
