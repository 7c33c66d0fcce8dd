#include "simulator/gpu/gpu_simulator.h"

#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "simulator/gpu/gpu_module.h"
#include "simulator/semantics.h"

namespace emplace {

std::string WhyNotOnGpu(Semantics semantics, Objective objective) {
  if (objective == Objective::kPeriod) return "a GPU simulates step times and not the period";
  if (EntryOf(semantics).in_lanes) return "";
  return fmt::format(
      "a GPU simulates {} semantics and not {}", ToString(Semantics::kStream), ToString(semantics));
}

std::string WhyNoGpu(int gpu) {
  constexpr const char* kElse = "simulate without a GPU, or on a machine with one";
  const OpenedModule& opened = ThisSimulatorGpuModule();
  if (opened.module == nullptr) {
    return fmt::format("gpu {}: cannot simulate on GPUs: {}; {}", gpu, opened.error, kElse);
  }
  const GpuCount found = static_cast<const SimulatorGpuModule*>(opened.module)->count();
  if (found.count == 0) {
    return fmt::format("gpu {}: cannot simulate on GPUs: {}; {}", gpu, found.none, kElse);
  }
  if (gpu >= 0 && gpu < found.count) return "";
  return fmt::format("gpu {}: this machine has {} GPU{}, numbered 0{}",
                     gpu,
                     found.count,
                     found.count == 1 ? "" : "s",
                     found.count == 1 ? "" : fmt::format(" to {}", found.count - 1));
}

std::unique_ptr<Evaluator> MakeGpuSimulator(std::shared_ptr<const Problem> problem,
                                            const SimulatorOptions& options,
                                            int gpu) {
  const std::string unfit = WhyNotOnGpu(options.semantics, problem->objective());
  if (!unfit.empty()) throw InputError(unfit);
  const std::string absent = WhyNoGpu(gpu);
  if (!absent.empty()) throw RunError(absent);
  const auto* module = static_cast<const SimulatorGpuModule*>(ThisSimulatorGpuModule().module);
  return MakeGpuEvaluator(std::move(problem), options, module->open(gpu));
}

}  // namespace emplace
