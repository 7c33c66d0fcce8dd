#pragma once

// The samplers of the CPU backend. They time ops, copies and empty commands alone on groups of
// cores. A sampler keeps the machine alive.

#include <memory>
#include <optional>
#include <span>

#include "profilers/cpu/cpu_machine.h"
#include "profilers/executor/backend.h"

namespace emplace {

/// As Backend::OpSampler. Warm: the op runs repeatedly. If it takes less than 20 us, a timing is
/// the mean of several runs in a row, because the clock is too coarse for a single run. Cold: a
/// timing is a single run, after a walk over memory of twice the last-level cache.
/// @throws RunError naming the call if there is no kernel
Sampler MakeCpuOpSampler(std::shared_ptr<CpuMachine> machine,
                         int device,
                         const OpWork& work,
                         std::span<const std::int64_t> input_bytes,
                         std::span<const std::int64_t> output_bytes,
                         CacheState cache);

/// As Backend::Prepare.
/// @throws RunError naming the call if there is no kernel
std::shared_ptr<PreparedOp> PrepareCpuOp(std::shared_ptr<CpuMachine> machine, const LoneOp& op);
/// As Backend::AloneSampler and Backend::BesideSampler.
/// @param op, timed, beside  of PrepareCpuOp()
Sampler MakeCpuAloneSampler(std::shared_ptr<PreparedOp> op);
Sampler MakeCpuBesideSampler(std::shared_ptr<PreparedOp> timed, std::shared_ptr<PreparedOp> beside);

/// As Backend::CopySampler. The source's core copies data that it has just written, as in a step.
/// @param beside  a link that copies without pause meanwhile; nullptr: none
Sampler MakeCpuCopySampler(std::shared_ptr<CpuMachine> machine,
                           const BackendLink& link,
                           std::int64_t bytes,
                           const BackendLink* beside);

/// As Backend::DispatchSampler. kNullKernel: an empty command of a long list. kWait: the additional
/// time of a command that waits for a command of another worker; nullopt if there is only one
/// device. The other quantities are nullopt, because workers have their own lists and no thread
/// issues commands to them.
std::optional<Sampler> MakeCpuDispatchSampler(std::shared_ptr<CpuMachine> machine,
                                              int device,
                                              DispatchQuantity quantity);

}  // namespace emplace
