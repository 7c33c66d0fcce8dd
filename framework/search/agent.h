#pragma once

// What searches. A runner calls Step() until Finished() or the budget ends:
//
//   while (!agent->Finished()) agent->Step(evaluator);      // BudgetExhausted ends the loop, too
//
// An agent need not keep its best placement: the metered evaluator (meter.h) it is handed records
// every outcome and the best of them.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/interrupt.h"
#include "framework/config/config_node.h"
#include "framework/config/fields.h"
#include "framework/search/evaluator.h"
#include "framework/search/policy_trainer.h"
#include "framework/search/update_table.h"

namespace emplace {

class Agent {
 public:
  virtual ~Agent() = default;
  /// One unit of search: a policy update, a sweep of moves, the one and only construction of a
  /// heuristic. @throws Interrupted when its context's interrupts want an end; the agent is then of
  ///   no more use, unless it says so
  virtual void Step(Evaluator& evaluator) = 0;
  /// True when further steps cannot change anything (a heuristic after its construction).
  virtual bool Finished() const { return false; }
  /// What it recorded of its updates; nullptr for an agent that does not learn. Part of the saved
  /// state.
  virtual const UpdateTable* updates() const { return nullptr; }
  /// State between two steps, generators included: a restored agent goes on bit for bit as the
  /// saved one would have. @throws InputError from Load if the text belongs to another problem or
  /// agent
  virtual void Save(std::ostream& out) const = 0;
  virtual void Load(std::istream& in) = 0;
};

struct AgentContext {
  std::shared_ptr<const Problem> problem;
  std::uint64_t seed = 0;
  Interrupt end_construction;  ///< at once: a construction would begin anew anyway
  Interrupt end_step;          ///< later than that: a search whose step ends can be saved
};

/// One entry of the registry.
struct AgentEntry {
  std::string name;
  std::string sentence;
  /// @param settings  the agent's map in the run config without "name"; validated here
  std::function<std::unique_ptr<Agent>(const AgentContext&, const ConfigNode& settings)> make;
  /// The agent's policy over several problems, with the same settings; empty: it has none that
  /// fits other problems.
  std::function<std::unique_ptr<PolicyTrainer>(const TrainerContext&, const ConfigNode& settings)>
      make_trainer;
  std::function<std::vector<FieldHelp>()> describe_settings;
  /// YAML text of all settings: those given, and the defaults of the others.
  std::function<std::string(const ConfigNode& settings)> resolve_settings;
  bool uses_seed = true;  ///< false: the same result for every seed, run once
  /// How time and memory grow with the problem, for users to read.
  std::string growth;
  /// `make` and `make_trainer` refuse problems of more groups.
  int most_groups = std::numeric_limits<int>::max();
};

/// Agents by name, sorted.
class AgentRegistry {
 public:
  /// CHECKs that the name is new.
  void Add(AgentEntry entry);
  /// @throws InputError "`where`: unknown agent ...; did you mean ..."
  const AgentEntry& Find(const std::string& name, const std::string& where) const;
  const std::vector<AgentEntry>& entries() const { return entries_; }

 private:
  std::vector<AgentEntry> entries_;
};

}  // namespace emplace
