#pragma once

// One convex set of groups per device, for the period objective. Finds the best such split by
// dynamic programming over the ideals of the groups' order, or over those of a linear order if
// there are too many (chain_split.h states the limits of exactness). Evaluates one placement.

#include <vector>

#include "agents/shared/constructive_agent.h"
#include "framework/config/fields.h"
#include "framework/placement/placement.h"

namespace emplace {

struct MaxLoadDpConfig {
  int max_ideals = 5000;
  void Visit(FieldVisitor& v) {
    v.Field("max_ideals",
            max_ideals,
            Between(0, 1e7),
            "most ideals of the graph; if there are more, only those of one linear order are used");
  }
};

class MaxLoadDpAgent final : public ConstructiveAgent {
 public:
  using Config = MaxLoadDpConfig;
  MaxLoadDpAgent(const AgentContext& context, const Config& config);

 private:
  std::vector<Placement> Construct() const override;

  int max_ideals_;
};

}  // namespace emplace
