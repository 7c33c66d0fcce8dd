#pragma once

// Random search, the baseline of all searches: places every group on a device drawn uniformly from
// its allowed ones, independently of all others, one batch per step. Runs until the budget ends.
// The sequence of placements depends only on the seed, not on `batch`.

#include "framework/base/random.h"
#include "framework/config/fields.h"
#include "framework/search/agent.h"

namespace emplace {

class StateVisitor;

struct RandomConfig {
  int batch = 64;
  void Visit(FieldVisitor& v) { v.Field("batch", batch, Between(1, 1e6), "placements per step"); }
};

/// Draws an allowed device uniformly for each group.
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
