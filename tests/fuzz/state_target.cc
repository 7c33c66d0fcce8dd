// States of agents and of trainers, and policies. In an input the word @ stands for the fingerprint
// of the small problem, so that kept inputs outlive changes of the problem.

#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "agents/registry.h"
#include "framework/base/error.h"
#include "framework/search/meter.h"
#include "framework/search/problem_id.h"
#include "framework/search/state.h"
#include "simulator/simulator.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/mutators.h"
#include "tests/fuzz/small_problem.h"
#include "tests/fuzz/targets.h"

namespace emplace::fuzz {
namespace {

constexpr std::int64_t kEvaluations = 24;  // of a search that goes on from a state

// Small networks, so that states are short. Others have their defaults.
ConfigNode SettingsOf(const std::string& agent) {
  static const std::map<std::string, std::string> kSmall = {
      {"expert", "{rules: [{match: \"*\", device: \"gpu:0\"}]}"},
      {"genetic", "{population: 3, climbs: 1, batch: 4}"},
      {"graph_policy", "{network: random, width: 2, rounds: 1, samples: 4, learn: true}"},
      {"hierarchical",
       "{groups: 3, grouper: {hidden: 2, type_embedding: 2}, samples: 2,"
       " placer: {hidden: 2, device_embedding: 2}}"},
      {"large_neighborhood", "{batch: 4}"},
      {"learned_local_search", "{ranking: none, pool: 8, tries: 4}"},
      {"period_mip", "{warm_steps: 1, warm: {population: 2, effort: 1}}"},
      {"period_multilevel", "{population: 2, effort: 1}"},
      {"portfolio", "{turn: 8}"},
      {"placeto", "{width: 2, rounds: 1}"},
      {"post", "{ppo: {samples: 2, epochs: 1}, cross_entropy: {samples: 4}}"},
      {"seq2seq",
       "{hidden: 2, attention: 2, type_vector: 1, device_vector: 1, samples: 2,"
       " features: {output_sizes: 1, adjacency: false}}"}};
  const auto found = kSmall.find(agent);
  return ConfigNode::FromString(found == kSmall.end() ? "{}" : found->second, "small");
}

const std::shared_ptr<const Problem>& ProblemOf(const AgentEntry& entry) {
  return entry.objective == Objective::kPeriod ? SmallPeriodProblem() : SmallProblem();
}

const AgentEntry* EntryOf(const std::string& name) {
  const auto& entries = AllAgents().entries();
  const auto found = std::find_if(
      entries.begin(), entries.end(), [&](const AgentEntry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

std::string FingerprintText(const Problem& problem) {
  return fmt::format("{:016x}", Combined(IdOf(problem)));
}

// Of an input's first line.
struct Head {
  std::string magic, version, agent, fingerprint;
};

Head HeadOf(const std::string& input) {
  Head head;
  std::istringstream in(input);
  in >> head.magic >> head.version >> head.agent >> head.fingerprint;
  return head;
}

void Replace(std::string& text, std::string_view old, std::string_view by) {
  const std::size_t at = text.find(old);
  if (at != std::string::npos) text.replace(at, old.size(), by);
}

// What is read must serve: the search goes on, and what it saves reads back.
void GoOn(Agent& agent, const Problem& problem) {
  const bool is_period = &problem == SmallPeriodProblem().get();
  const auto simulator = MakeSimulator(is_period ? SmallPeriodProblem() : SmallProblem(), {});
  MeteredEvaluator metered(*simulator, {.evaluations = kEvaluations});
  try {
    for (int step = 0; step < 3 && !agent.Finished(); ++step) agent.Step(metered);
  } catch (const BudgetExhausted&) {
    return;                          // within a step: it cannot be saved
  } catch (const RunError& error) {  // weights in a file may be as large as numbers can be
    Promise(std::string_view(error.what()).find("not finite") != std::string_view::npos,
            "a search from what was read fails by its numbers alone");
    return;
  }
  std::ostringstream out;
  agent.Save(out);
}

void ReadAgentState(const std::string& input) {
  const AgentEntry* entry = EntryOf(HeadOf(input).agent);
  if (entry == nullptr) entry = EntryOf("random");
  const std::shared_ptr<const Problem>& problem = ProblemOf(*entry);
  std::string text = input;
  if (HeadOf(input).fingerprint == "@") Replace(text, "@", FingerprintText(*problem));
  const std::unique_ptr<Agent> agent =
      entry->make({.problem = problem, .seed = 1}, SettingsOf(entry->name));
  std::istringstream in(text);
  agent->Load(in);
  std::ostringstream out;
  agent->Save(out);
  GoOn(*agent, *problem);
}

std::vector<std::string> AgentSeeds() {
  std::vector<std::string> seeds;
  for (const AgentEntry& entry : AllAgents().entries()) {
    const std::shared_ptr<const Problem>& problem = ProblemOf(entry);
    const std::unique_ptr<Agent> agent =
        entry.make({.problem = problem, .seed = 1}, SettingsOf(entry.name));
    const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
    for (int step = 0; step < 3; ++step) {
      std::ostringstream out;
      agent->Save(out);
      std::string text = out.str();
      Replace(text, FingerprintText(*problem), "@");
      seeds.push_back(text);
      if (agent->Finished()) break;
      agent->Step(*simulator);
    }
  }
  return seeds;
}

TrainerContext Training() {
  return {.problems = {SmallProblem()}, .seed = 1};
}

const std::string& TrainingFingerprint(const AgentEntry& entry) {
  static std::map<std::string, std::string> known;
  std::string& fingerprint = known[entry.name];
  if (fingerprint.empty()) {
    std::ostringstream out;
    entry.make_trainer(Training(), SettingsOf(entry.name))->Save(out);
    fingerprint = HeadOf(out.str()).fingerprint;
  }
  return fingerprint;
}

// A policy is read by the agent that acts with it, a trainer's state by its trainer.
void ReadPolicy(const std::string& input) {
  const Head head = HeadOf(input);
  const AgentEntry* entry = EntryOf(head.agent);
  if (entry == nullptr || !entry->make_trainer) entry = EntryOf("placeto");
  ConfigNode settings = SettingsOf(entry->name);
  if (head.magic == "emplace-trainer-state") {
    std::string text = input;
    if (head.fingerprint == "@") Replace(text, "@", TrainingFingerprint(*entry));
    const auto trainer = entry->make_trainer(Training(), settings);
    std::istringstream in(text);
    trainer->Load(in);
    std::ostringstream out;
    trainer->Save(out);
    return;
  }
  const MemoryFile file(input);
  settings.Set("policy", file.path().string());
  if (entry->name == "graph_policy") settings.Set("network", "policy");
  if (entry->name == "learned_local_search") settings.Set("ranking", "network");
  const auto agent = entry->make({.problem = SmallProblem(), .seed = 1}, settings);
  GoOn(*agent, *SmallProblem());
}

std::vector<std::string> PolicySeeds() {
  std::vector<std::string> seeds;
  for (const AgentEntry& entry : AllAgents().entries()) {
    if (!entry.make_trainer) continue;
    const auto trainer = entry.make_trainer(Training(), SettingsOf(entry.name));
    std::ostringstream policy, state;
    trainer->SavePolicy(policy);
    trainer->Save(state);
    std::string text = state.str();
    Replace(text, HeadOf(text).fingerprint, "@");
    seeds.push_back(policy.str());
    seeds.push_back(text);
  }
  return seeds;
}

}  // namespace

constinit const FuzzTarget kAgentStateTarget =
    {"agent_state", "states of all agents", ReadAgentState, MutateWords, AgentSeeds, 32768};
constinit const FuzzTarget kPolicyTarget =
    {"policy", "policies and states of trainers", ReadPolicy, MutateWords, PolicySeeds, 65536};

}  // namespace emplace::fuzz
