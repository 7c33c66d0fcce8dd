#pragma once

// FlexFlow's search: the Metropolis algorithm over placements.
//
// A proposal moves one random group to another of its allowed devices, both uniform. With
//
//   cost = T + penalty * m     (T: step time [ms], m: missing memory [MB])
//
// it is accepted with probability min(1, exp(-beta * (cost' - cost))). After `reset` proposals the
// chain returns to the best placement so far.
//
// Ends only when no group has a choice; otherwise the budget ends it.
//
// Reference: Z. Jia, M. Zaharia, A. Aiken, Beyond Data and Model Parallelism for Deep Neural
// Networks, MLSys 2019, section 6. beta, penalty and reset are those of FlexFlow's program. Its
// proposals also change how an op is split, and its chain begins at data parallelism.

#include <string>
#include <vector>

#include "agents/initial_placements/start_setting.h"
#include "agents/shared/local_search/local_search_agent.h"
#include "agents/shared/moves.h"
#include "framework/config/fields.h"

namespace emplace {

struct McmcConfig {
  std::vector<std::string> start = SearchStarts();
  double beta = 0.05;
  double penalty = 1;
  int reset = 1000;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, kStartHelp);
    v.Field("beta", beta, AtLeast(0), "inverse temperature [1/ms]");
    v.Field("penalty", penalty, AtLeast(0), "cost of missing memory [ms/MB]");
    v.Field("reset",
            reset,
            Between(1, 1e9),
            "proposals before the chain returns to the best placement");
  }
};

class McmcAgent final : public LocalSearchAgent {
 public:
  using Config = McmcConfig;
  /// @throws SettingError for an unknown start
  McmcAgent(const AgentContext& context, const Config& config);

  /// Returns the cost of a score. [ms]
  double Cost(const Score& score) const;

 private:
  void Improve(Evaluator& evaluator) override;
  void VisitSearch(StateVisitor& v) override { v.Count("a number of proposals", since_reset_); }

  Config config_;
  MoveProposer proposer_;
  int since_reset_ = 0;  // proposals since the last reset
  NeighborBatch proposal_;
};

}  // namespace emplace
