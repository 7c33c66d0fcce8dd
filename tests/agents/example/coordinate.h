#pragma once

// Coordinate descent. A step visits the groups in order and moves each to its best device while all
// others stay. The search begins at a random placement and ends after a step that moved no group.

#include <memory>

#include "agents/shared/local_search/local_search_agent.h"
#include "framework/base/random.h"
#include "framework/config/fields.h"
#include "framework/search/agent.h"

namespace emplace {

struct CoordinateConfig {
  int sweeps = 100;
  void Visit(FieldVisitor& v) { v.Field("sweeps", sweeps, Between(1, 1e9), "steps at most"); }
};

class CoordinateAgent final : public Agent {
 public:
  using Config = CoordinateConfig;
  CoordinateAgent(const AgentContext& context, const Config& config);
  void Step(Evaluator& evaluator) override;
  bool Finished() const override { return settled_ || sweep_ == config_.sweeps; }
  void VisitState(StateVisitor& v) override;

 private:
  std::shared_ptr<const Problem> problem_;
  Config config_;
  Rng rng_;
  int sweep_ = 0;             // steps so far
  bool settled_ = false;      // the last step moved no group
  ScoredPlacement current_;   // empty before the first step
  NeighborBatch candidates_;  // its memory is kept from group to group
};

}  // namespace emplace
