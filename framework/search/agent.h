#pragma once

// The interface of every search, and the registry of those there are. A runner calls Step() until
// Finished() or the budget ends:
//
//   while (!agent->Finished()) agent->Step(evaluator);      // BudgetExhausted ends the loop, too
//
// An agent need not keep its best placement: the metered evaluator (meter.h) that it is handed
// records every outcome and the best of them. agents/WRITING.md shows a complete agent.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/interrupt.h"
#include "framework/base/time.h"
#include "framework/config/config_node.h"
#include "framework/config/fields.h"
#include "framework/search/evaluator.h"
#include "framework/search/policy_trainer.h"
#include "framework/search/problem.h"
#include "framework/search/stateful.h"
#include "framework/search/update_table.h"

namespace emplace {

/// Its state between two steps is saved (stateful.h).
class Agent : public Stateful {
 public:
  /// One unit of search: a policy update, a sweep of moves, the one and only construction of a
  /// heuristic.
  /// @param evaluator  of the problem of the agent's context
  /// @throws BudgetExhausted from the evaluator when the budget ends within the step
  /// @throws Interrupted when an interrupt of the agent's context wants an end. The agent may not
  ///   be used afterwards, unless its own header says that it may.
  virtual void Step(Evaluator& evaluator) = 0;
  /// True when further steps cannot change anything (a heuristic after its construction).
  virtual bool Finished() const { return false; }
  /// A lower bound on the objective of every placement of the problem in the issue order that the
  /// evaluator was made with, as far as the agent has proved one; 0: none. It never decreases. The
  /// best placement found is optimal when it is as good. [ns]
  virtual Nanos bound() const { return 0; }
  /// The agent's own numbers, one row per update (update_table.h); nullptr for an agent that does
  /// not learn. Part of the saved state.
  virtual const UpdateTable* updates() const { return nullptr; }
};

/// What every agent gets, whatever its settings.
struct AgentContext {
  std::shared_ptr<const Problem> problem;
  std::uint64_t seed = 0;
  /// Wants an end as soon as the user does. For agents whose step is one whole construction: half
  /// of it cannot be saved.
  Interrupt end_construction;
  /// Wants an end later. For agents that are saved between steps: a step has time to finish.
  Interrupt end_step;
};

/// One entry of the registry.
struct AgentEntry {
  std::string name;      ///< in run configs and results
  std::string sentence;  ///< what it does, for `emplace list agents`
  /// @param settings  the agent's map in the run config without "name"; validated here
  std::function<std::unique_ptr<Agent>(const AgentContext&, const ConfigNode& settings)> make;
  /// The agent's policy over several problems, with the same settings; empty: it has none that
  /// fits other problems.
  std::function<std::unique_ptr<PolicyTrainer>(const TrainerContext&, const ConfigNode& settings)>
      make_trainer;
  std::function<std::vector<FieldHelp>()> describe_settings;
  /// YAML text of all settings: those given, and the defaults of the others.
  std::function<std::string(const ConfigNode& settings)> resolve_settings;
  bool uses_seed = true;               ///< false: the same result for every seed, run once
  std::optional<Objective> objective;  ///< `make` refuses problems of another; empty: any will do
  /// How time and memory grow with the problem, for users to read.
  std::string growth;
  /// `make` and `make_trainer` refuse problems of more groups.
  int most_groups = std::numeric_limits<int>::max();
};

/// Makes the entry of an agent that is not compiled in, as one written in Python.
/// @param name   with the prefix of the loader: "python:my_agents.Climb"
/// @param where  place of the name in messages   @throws InputError if there is no such agent
using AgentLoader = std::function<AgentEntry(const std::string& name, const std::string& where)>;

/// Agents by name, sorted.
class AgentRegistry {
 public:
  /// CHECKs that the name is new.
  void Add(AgentEntry entry);
  /// From now on a name that begins with `prefix` is that of an agent which `load` makes, when it
  /// is first asked for. Takes the place of an earlier loader of the prefix.
  void AddLoader(std::string prefix, AgentLoader load);
  /// The entry lives as long as the registry. Several threads may ask at once.
  /// @throws InputError "`where`: unknown agent ...; did you mean ...", or what a loader throws
  const AgentEntry& Find(const std::string& name, const std::string& where) const;
  /// Without those that a loader makes.
  const std::vector<AgentEntry>& entries() const { return entries_; }

 private:
  struct Loaded {
    std::mutex mutex;
    std::map<std::string, AgentEntry> entries;  // by name
  };
  std::vector<AgentEntry> entries_;
  std::map<std::string, AgentLoader> loaders_;  // by prefix
  std::shared_ptr<Loaded> loaded_ = std::make_shared<Loaded>();
};

}  // namespace emplace
