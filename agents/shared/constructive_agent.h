#pragma once

// Base of the agents that do not search. They construct one or a few placements, have them
// evaluated in one step, and finish. An interrupted construction leaves no state: the agent can be
// saved, and starts again from scratch at its next step.

#include <memory>
#include <string>
#include <vector>

#include "framework/search/agent.h"

namespace emplace {

class StateVisitor;

class ConstructiveAgent : public Agent {
 public:
  /// @param name  name of the agent in the registry; the saved state begins with it
  ConstructiveAgent(std::string name, const AgentContext& context);
  void Step(Evaluator& evaluator) final;
  bool Finished() const final { return finished_; }
  void VisitState(StateVisitor& v) final;

 protected:
  /// Returns at least one placement; deterministic, each group on one of its allowed devices.
  /// @throws Interrupted soon after interrupt() requests an end, on graphs that take seconds
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
