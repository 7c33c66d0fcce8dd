#pragma once

// The placement that `emplace simulate` simulates, and how. The options say it, else the file of
// the placement, which records how it was simulated before.

#include <optional>
#include <string>

#include "experiments/console/command_line.h"
#include "experiments/problem/priority.h"
#include "experiments/run/agent_spec.h"
#include "experiments/run/run_reader.h"
#include "framework/bounds/lower_bound.h"
#include "simulator/simulator.h"

namespace emplace {

/// Values of the options; empty: not given.
struct SimulateOptions {
  std::string results, placement, agent, semantics, priority, objective, trace;
  RunFiles files;
  bool count_gaps = false, op_by_op = false;
};

/// A placement, and how to simulate it.
struct Question {
  std::string where;                     ///< file of the placement, or name of the agent
  std::string where_costs;               ///< names graph and costs in messages
  PlacedRun placed;                      ///< its run is as the options say
  std::optional<AgentSpec> agent = {};   ///< makes the placement, which `placed` then lacks
  std::optional<LowerBound> bound = {};  ///< proven for the simulation that the file records
  bool of_results = false;               ///< the file is one of results
  Semantics recorded = {};               ///< semantics of the earlier simulation
  Priority priority = {};                ///< of the issue order; kGiven: that of the file
};

/// Reads the placement and the earlier simulation, and applies the options.
/// @throws InputError for files, options and names that are wrong, missing or contradictory
Question ReadQuestion(SimulateOptions options, const Command& command);

}  // namespace emplace
