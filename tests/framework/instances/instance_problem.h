#pragma once

#include <memory>

#include "framework/instances/instance.h"
#include "framework/search/costed_problem.h"
#include "simulator/simulator.h"

namespace emplace::testing {

/// The instance as agents see it, every op its own group.
inline std::shared_ptr<const Problem> ProblemOf(const Instance& instance,
                                                Objective objective = Objective::kStepTime) {
  const auto graph = std::make_shared<const Graph>(instance.graph);
  return CostedProblem(graph, std::make_shared<const Cluster>(instance.cluster), "test")
      .WithGroups(Grouping::Identity(graph->num_ops()), objective);
}

/// Objective of the instance's own schedule.
inline Nanos SimulatePlanted(const Instance& instance,
                             Semantics semantics,
                             Objective objective = Objective::kStepTime) {
  SimulatorOptions options{.semantics = semantics};
  if (semantics == Semantics::kStream) options.issue_order = instance.issue_order;
  const auto simulator = MakeSimulator(ProblemOf(instance, objective), options);
  return simulator->Evaluate(Placement{instance.device_of_op}).step_time;
}

}  // namespace emplace::testing
