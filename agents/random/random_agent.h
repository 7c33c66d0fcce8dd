#pragma once

// Random search: every group on a device drawn uniformly from its allowed ones, independently of
// all others, a batch of placements per step. What every other search has to beat. Goes on until
// the budget ends. The sequence of placements depends on the seed alone, not on `batch`.

#include "framework/base/random.h"
#include "framework/config/fields.h"
#include "framework/search/agent.h"

namespace emplace {

class StateVisitor;

struct RandomConfig {
  int batch = 64;
  void Visit(FieldVisitor& v) { v.Field("batch", batch, Between(1, 1e6), "placements per step"); }
};

/// Draws a device for each group.
Placement DrawPlacement(const Problem& problem, Rng& rng);

class RandomAgent final : public Agent {
 public:
  using Config = RandomConfig;
  RandomAgent(const AgentContext& context, const Config& config);
  void Step(Evaluator& evaluator) override;
  void VisitState(StateVisitor& v) override;

 private:
  std::shared_ptr<const Problem> problem_;
  Config config_;
  Rng rng_;
};

}  // namespace emplace
