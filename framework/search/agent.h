#pragma once

// The interface of every search, and the registry of agents. A runner calls Step() until Finished()
// returns true or the budget ends:
//
//   while (!agent->Finished()) agent->Step(evaluator);      // BudgetExhausted ends the loop, too
//
// An agent need not keep its best placement: the metered evaluator (meter.h) that it gets records
// every outcome and the best of them. agents/WRITING.md shows a complete agent.

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

/// A search. Its state can be saved between two steps (stateful.h).
class Agent : public Stateful {
 public:
  /// Makes one unit of search: a policy update, a sweep of moves, or the whole construction of a
  /// heuristic.
  /// @param evaluator  of the problem of the agent's context
  /// @throws BudgetExhausted from the evaluator if the budget ends within the step
  /// @throws Interrupted if an interrupt of the agent's context requests the end. The agent may not
  ///   be used afterwards, unless its own header allows it.
  virtual void Step(Evaluator& evaluator) = 0;
  /// Returns true if further steps cannot change anything (a heuristic after its construction).
  virtual bool Finished() const { return false; }
  /// Returns the best proven lower bound on the objective of every placement of the problem, in the
  /// issue order with which the evaluator was made; 0 if there is none. The bound never decreases.
  /// The best placement found is optimal if its objective equals the bound. [ns]
  virtual Nanos bound() const { return 0; }
  /// Returns the agent's own metrics, one row per update (update_table.h); nullptr for an agent
  /// that does not learn. The table is part of the saved state.
  virtual const UpdateTable* updates() const { return nullptr; }
};

/// The arguments that every agent gets, independent of its settings.
struct AgentContext {
  std::shared_ptr<const Problem> problem;
  std::uint64_t seed = 0;
  /// Requests an end as soon as the user does. For agents whose step is one whole construction,
  /// since a part of a construction cannot be saved.
  Interrupt end_construction;
  /// Requests an end later, so that a step has time to finish. For agents saved between steps.
  Interrupt end_step;
};

/// One entry of the registry.
struct AgentEntry {
  std::string name;      ///< in run configs and results
  std::string sentence;  ///< a description, for `emplace list agents`
  /// @param settings  the agent's map in the run config without "name"; validated here
  std::function<std::unique_ptr<Agent>(const AgentContext&, const ConfigNode& settings)> make;
  /// Makes a trainer of the agent's policy on several problems, with the same settings. Empty if
  /// the agent has no policy that fits other problems.
  std::function<std::unique_ptr<PolicyTrainer>(const TrainerContext&, const ConfigNode& settings)>
      make_trainer;
  std::function<std::vector<FieldHelp>()> describe_settings;
  /// Returns the YAML text of all settings: the given ones, and the defaults of the others.
  std::function<std::string(const ConfigNode& settings)> resolve_settings;
  bool uses_seed = true;               ///< false: all seeds give the same result; one run only
  bool constructs = false;             ///< makes one or a few placements, without a search
  std::optional<Objective> objective;  ///< the only objective that `make` accepts; empty: all
  /// How time and memory grow with the problem; a text for users.
  std::string growth;
  /// `make` and `make_trainer` refuse problems with more groups than this.
  int most_groups = std::numeric_limits<int>::max();
};

/// Makes the entry of an agent that is not compiled in, for example one written in Python.
/// @param name   with the prefix of the loader: "python:my_agents.Climb"
/// @param where  prefix of error messages   @throws InputError if there is no such agent
using AgentLoader = std::function<AgentEntry(const std::string& name, const std::string& where)>;

/// Agents by name, sorted.
class AgentRegistry {
 public:
  /// CHECKs that the name is new.
  void Add(AgentEntry entry);
  /// Registers a loader. From now on, Find() calls `load` once for each name that begins with
  /// `prefix`. Replaces an earlier loader of the prefix.
  void AddLoader(std::string prefix, AgentLoader load);
  /// Returns the entry of an agent, which lives as long as the registry. Thread-safe.
  /// @throws InputError "`where`: unknown agent ...; did you mean ...", or an error of a loader
  const AgentEntry& Find(const std::string& name, const std::string& where) const;
  /// Returns all entries except those made by loaders.
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
