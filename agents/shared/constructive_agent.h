#pragma once

// Base of the agents that do not search: they construct one or a few placements, have them
// evaluated in one step, and are finished. A construction that is interrupted leaves nothing
// behind: the agent can be saved, and begins anew with its next step.

#include <memory>
#include <string>
#include <vector>

#include "framework/search/agent.h"

namespace emplace {

class StateVisitor;

class ConstructiveAgent : public Agent {
 public:
  /// @param name  of the agent in the registry; its saved state begins with it
  ConstructiveAgent(std::string name, const AgentContext& context);
  void Step(Evaluator& evaluator) final;
  bool Finished() const final { return finished_; }
  void VisitState(StateVisitor& v) final;

 protected:
  /// The placements, at least one; deterministic, each group on a device it is allowed on.
  /// @throws Interrupted soon after interrupt() wants an end, on graphs that take seconds
  virtual std::vector<Placement> Construct() const = 0;
  const Problem& problem() const { return *problem_; }
  const Interrupt& interrupt() const { return interrupt_; }

 private:
  std::string name_;
  std::shared_ptr<const Problem> problem_;
  Interrupt interrupt_;
  bool finished_ = false;
};

}  // namespace emplace
