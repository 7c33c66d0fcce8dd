#pragma once

// The simulator on a GPU: stream semantics, one placement per thread, for large batches. Results
// are those of MakeSimulator(), bit for bit. No library of CUDA is loaded before MakeGpuSimulator()
// is called (simulator/gpu/gpu_module.h).
//
//   const auto simulator = MakeGpuSimulator(problem, {.semantics = Semantics::kStream}, 0);
//   simulator->EvaluateNeighbors(neighbors, columns);  // moves need the least copying
//
// The processor does the rest: placements whose times do not fit into 32 bits, channels and op
// times of an outcome, and the messages about invalid placements.

#include <memory>
#include <string>

#include "framework/search/evaluator.h"
#include "framework/search/problem.h"
#include "simulator/simulator.h"

namespace emplace {

/// Returns the reason why a GPU cannot simulate this: "a GPU simulates stream semantics, not
/// queue"; empty if it can.
std::string WhyNotOnGpu(Semantics semantics, Objective objective);

/// Returns the reason why this machine has no such GPU for simulations, and a remedy; empty if it
/// has one. Loads CUDA at the first call.
/// @param gpu  in CUDA's order, from 0
std::string WhyNoGpu(int gpu);

/// Makes an Evaluator with the contract of MakeSimulator().
/// @param options  `threads` and `most_lanes` are for the part that the processor does
/// @param gpu      in CUDA's order, from 0
/// @throws InputError if WhyNotOnGpu() has a reason, or if a single cost or transfer is so long
///   (about a second) that 32 bits of nanoseconds are too few for almost every step
/// @throws RunError if WhyNoGpu() has a reason, or if the GPU fails; its functions throw it too
std::unique_ptr<Evaluator> MakeGpuSimulator(std::shared_ptr<const Problem> problem,
                                            const SimulatorOptions& options,
                                            int gpu);

class GpuDevice;
/// Makes the same on any GpuDevice. Internal to the simulator.
std::unique_ptr<Evaluator> MakeGpuEvaluator(std::shared_ptr<const Problem> problem,
                                            const SimulatorOptions& options,
                                            std::unique_ptr<GpuDevice> device);

}  // namespace emplace
