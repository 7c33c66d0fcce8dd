#pragma once

// MakeGpuSimulator() (simulator/gpu/gpu_simulator.h) on any GpuDevice. Internal to the simulator.

#include <memory>

#include "framework/search/evaluator.h"
#include "simulator/gpu/gpu_device.h"
#include "simulator/simulator.h"

namespace emplace {

/// Makes the evaluator. @throws InputError, RunError as MakeGpuSimulator()
std::unique_ptr<Evaluator> MakeGpuEvaluator(std::shared_ptr<const Problem> problem,
                                            const SimulatorOptions& options,
                                            std::unique_ptr<GpuDevice> device);

}  // namespace emplace
