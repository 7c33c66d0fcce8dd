#include "agents/random/random_agent.h"

#include <algorithm>
#include <bit>

#include "agents/shared/devices.h"
#include "framework/search/state.h"

namespace emplace {

Placement DrawPlacement(const Problem& problem, Rng& rng) {
  Placement placement;
  placement.device.reserve(problem.num_groups());
  for (int group = 0; group < problem.num_groups(); ++group) {
    std::uint64_t mask = problem.allowed_devices(group);
    for (int skip = UniformInt(rng, std::popcount(mask)); skip > 0; --skip) mask &= mask - 1;
    placement.device.push_back(static_cast<DeviceIndex>(FirstDevice(mask)));
  }
  return placement;
}

RandomAgent::RandomAgent(const AgentContext& context, const Config& config)
    : problem_(context.problem), config_(config), rng_(context.seed) {
}

void RandomAgent::Step(Evaluator& evaluator) {
  const std::int64_t size = std::clamp<std::int64_t>(evaluator.remaining(), 1, config_.batch);
  std::vector<Placement> batch;
  for (std::int64_t i = 0; i < size; ++i) batch.push_back(DrawPlacement(*problem_, rng_));
  evaluator.Scores(batch);
}

void RandomAgent::VisitState(StateVisitor& v) {
  v.Begin("random", *problem_);
  v.Generator(rng_);
}

}  // namespace emplace
