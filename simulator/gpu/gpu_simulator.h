#pragma once

// The simulator on a GPU: stream semantics, a placement per thread. For large batches; results are
// those of MakeSimulator(), bit for bit. Nothing of CUDA is loaded before MakeGpuSimulator() is
// called (simulator/gpu/gpu_module.h).
//
//   const auto simulator = MakeGpuSimulator(problem, {.semantics = Semantics::kStream}, 0);
//   simulator->EvaluateNeighbors(neighbors, columns);  // moves need the least copying
//
// What a GPU cannot do, the processor does: placements whose times do not fit into 32 bits,
// channels and op times of an outcome, and saying what is wrong with a placement.

#include <memory>
#include <string>

#include "framework/search/evaluator.h"
#include "framework/search/problem.h"
#include "simulator/simulator.h"

namespace emplace {

/// Why a GPU does not simulate this: "a GPU simulates stream semantics, not queue"; empty: it does.
std::string WhyNotOnGpu(Semantics semantics, Objective objective);

/// Why this machine has no such GPU for simulations, and what to do; empty: it has. Loads CUDA at
/// the first call.
/// @param gpu  in CUDA's order, from 0
std::string WhyNoGpu(int gpu);

/// An Evaluator with the contract of MakeSimulator().
/// @param options  `threads` and `most_lanes` are for what the processor does
/// @param gpu      in CUDA's order, from 0
/// @throws InputError if WhyNotOnGpu() has a reason, or if a single cost or transfer is so long
///   (about a second) that 32 bits of nanoseconds hold hardly any step
/// @throws RunError if WhyNoGpu() has a reason, or if the GPU fails; so do its functions
std::unique_ptr<Evaluator> MakeGpuSimulator(std::shared_ptr<const Problem> problem,
                                            const SimulatorOptions& options,
                                            int gpu);

}  // namespace emplace
