#include "simulator/lanes/lane_engine.h"

#include <cstddef>
#include <numeric>

namespace emplace {

LaneEngine::LaneEngine(const LaneProgram& program,
                       const LaneKernel& kernel,
                       std::span<const std::uint64_t> allowed)
    : buffers_(program, kernel),
      allowed_(allowed),
      in_lane_(kernel.lanes),
      classes_(program.classes.size()) {
  std::iota(classes_.begin(), classes_.end(), 0);
}

bool LaneEngine::Run(std::span<const std::uint8_t* const> placements, bool busy_wanted) {
  for (size_t lane = 0; lane < in_lane_.size(); ++lane) {
    in_lane_[lane] = placements[lane < placements.size() ? lane : 0];
  }
  const LaneProgram& program = buffers_.program();
  const LaneKernel& kernel = buffers_.kernel();
  LaneRun& run = buffers_.run();
  const std::uint64_t wrong = kernel.load(in_lane_,
                                          allowed_,
                                          program.num_devices,
                                          buffers_.devices(),
                                          buffers_.on_device(),
                                          run.in_use);
  if (wrong != 0) return false;
  run.busy_wanted = busy_wanted;
  if (program.memory != LaneMemory::kNone) {
    kernel.add_residents(program, run);
    kernel.find_last_uses(program, run, classes_);
  }
  run.begin = 0;
  run.end = program.num_ops;
  buffers_.Pass();
  return true;
}

}  // namespace emplace
