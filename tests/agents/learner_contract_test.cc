// What every agent that learns promises, and every trainer, checked on all of the registry.

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/initial_placements/initial_placements.h"
#include "agents/registry.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/search/meter.h"
#include "tests/support/learning_agents.h"
#include "tests/support/paths.h"
#include "tests/support/sanitizers.h"
#include "tests/support/states.h"
#include "tests/support/text.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

/// Settings of a learner for small problems.
struct LearnerSettings {
  std::string small;                  ///< narrow layers, few samples
  std::vector<std::string> variants;  ///< with them: restarts, and everything that a state holds
  std::vector<std::string> training;  ///< of a trainer
  std::string descent;                ///< one step of plain descent per update, where it has a loss
  std::string restart;                ///< a restart soon, which alone changes the weights
  std::string transfer;               ///< of a trainer whose policy places at once
  std::vector<std::string> learning;  ///< without a restart, which would unlearn
  std::int64_t evaluations = 3000;    ///< that find the optimum of every toy problem
};

const std::map<std::string, LearnerSettings>& AllLearners() {
  const std::string control = "entropy_control: {begin: 1, updates: 3}";
  const std::string sgd = "optimizer: {method: sgd, learning_rate: 1, clip_norm: 0}";
  const std::string still = "optimizer: {method: sgd, learning_rate: 1.0e-9}";
  static const std::map<std::string, LearnerSettings> settings = {
      {"graph_policy",
       {.small = "start: [single], width: 4, rounds: 1, samples: 8, patience: 30",
        .variants = {"network: random", "network: random, learn: true", "network: none"},
        .training = {"start: [single, random], width: 8, samples: 16, training: "
                     "{teacher_evaluations: 300, search_evaluations: 150, problems: 2}"},
        .descent = "network: random, learn: true, " + sgd}},
      {"hierarchical",
       {.small = "groups: 3, grouper: {hidden: 4, type_embedding: 3}, placer: {hidden: 4, "
                 "device_embedding: 2}",
        .variants = {"groupings: 2, noise: 1, noise_updates: 5, patience: 1, start: [single, "
                     "random], " +
                         control,
                     "patience: 2, fresh_share: 0, entropy_control: {begin: 0}, start_steps: 20, "
                     "settle_share: 0.5, parts: {share: 0.5, probability: 0.5}, "
                     "optimizer: {method: rmsprop}, baseline: {method: moving_average}"},
        .descent = "entropy_control: {begin: 0}, " + sgd,
        .restart = "entropy_control: {begin: 0}, fresh_share: 1, patience: 1, " + still,
        .learning = {"entropy_control: {updates: 300}, patience: 0"},
        .evaluations = 1200}},
      {"learned_local_search",
       {.small = "start: [single], pool: 16, tries: 6, patience: 30, coarsest: 4, effort: 16",
        .variants = {"ranking: network", "ranking: none"},
        .training = {"start: [random], training: {samples: 64, batch: 64, most_evaluations: 200}"},
        .descent = "training: {samples: 64, batch: 1000}, " + sgd}},
      {"placeto",
       {.small = "width: 6, rounds: 2",
        .variants = {"features: {devices: one_hot, memory: true, device_costs: true}, aggregation: "
                     "sum, episode: {order: random, transform: log}, entropy_final: 0.01, "
                     "entropy_share: 0.4, imitation_weight: 0.2, patience: 3, greedy_every: 2, "
                     "updates: 15",
                     "episode: {reward: terminal, order: random, begin: redraw}, start: [random], "
                     "episodes: 2, advantage: standardized, ppo: {penalty: kl}, "
                     "baseline_episodes: 2, patience: 2"},
        .training = {"features: {devices: one_hot}",
                     "episode: {order: random, begin: redraw}, episodes: 2, advantage: "
                     "standardized, ppo: {penalty: kl}, baseline_episodes: 2, patience: 2"},
        .restart = "patience: 1, " + still,
        .transfer = "features: {devices: one_hot, device_costs: true}, episode: {begin: redraw}",
        .learning = {"patience: 0, move_share: 0, episode: {begin: fixed}"},
        .evaluations = 2400}},
      {"post",
       {.small = "ppo: {samples: 4}, cross_entropy: {samples: 12, elite_share: 0.25}, patience: 20",
        .variants = {"sharing: 3, start: [single_gpu, random], return_probability: 0.8",
                     "method: ce_only, cross_entropy: {samples: 12, epsilon: 0.5}, patience: 12",
                     "method: ppo_only, baseline: {method: leave_one_out}, ppo: {samples: 4, "
                     "penalty: clip}"},
        .learning = {"patience: 0",
                     "patience: 0, method: ce_only",
                     "patience: 0, method: ppo_only"},
        .evaluations = 2400}},
      {"seq2seq",
       {.small = "hidden: 8, attention: 8, type_vector: 4, device_vector: 4, samples: 8",
        .variants = {"patience: 1, start: [single, random], start_steps: 20, " + control,
                     "patience: 1, fresh_share: 0, entropy_control: {begin: 0}, ppo: {epochs: 3}, "
                     "per_decision: true, baseline: {method: moving_average, start: failing}, "
                     "settle_share: 0.5, parts: {share: 0.5, probability: 0.5}",
                     "patience: 2, bidirectional: true, aligned: false, controllers: 2, updates: "
                     "20, " +
                         control},
        .training = {"entropy_control: {begin: 0}",
                     "entropy_control: {begin: 0}, ppo: {epochs: 3}, per_decision: true, baseline: "
                     "{method: moving_average, start: failing}"},
        .descent = "entropy_control: {begin: 0}, " + sgd,
        .restart = "entropy_control: {begin: 0}, fresh_share: 1, patience: 1, " + still,
        .transfer = "samples: 8, features: {adjacency: false, position: false}, optimizer: "
                    "{learning_rate: 0.01}",
        .learning = {"patience: 0"},
        .evaluations = 800}}};
  return settings;
}

ConfigNode Yaml(const std::string& settings) {
  return ConfigNode::FromString("{" + settings + "}", "contract");
}

/// The small settings of a learner, with more that take their place.
ConfigNode SmallWith(const AgentEntry& entry, const std::string& more) {
  ConfigNode node = Yaml(AllLearners().at(entry.name).small);
  const ConfigNode given = Yaml(more);
  for (const std::string& key : given.Keys()) node.Put(key, given.At(key));
  return node;
}

bool Learns(const AgentEntry& entry) {
  if (entry.make_trainer) return true;
  if (entry.objective || entry.name == "expert") return false;  // needs another problem, or rules
  return entry.make({SmallProblem(), 1}, ConfigNode())->updates() != nullptr;
}

template <class Check>
void ForEveryLearner(const Check& check) {
  for (const AgentEntry& entry : AllAgents().entries()) {
    if (!AllLearners().contains(entry.name)) continue;
    CAPTURE(entry.name);
    check(entry, AllLearners().at(entry.name));
  }
}

template <class Check>
void ForLearnerVariants(const Check& check) {
  ForEveryLearner([&](const AgentEntry& entry, const LearnerSettings& settings) {
    for (const std::string& variant : settings.variants) {
      CAPTURE(variant);
      check(entry, SmallWith(entry, variant));
    }
  });
}

bool HasColumn(const UpdateTable* table, const std::string& name) {
  return table != nullptr && std::ranges::count(table->columns, name) > 0;
}

bool HasSetting(const AgentEntry& entry, const std::string& key) {
  return std::ranges::count(entry.describe_settings(), key, &FieldHelp::key) > 0;
}

/// An agent or a trainer of an entry, with what evaluates for it.
class Learning {
 public:
  Learning(const AgentEntry& entry, const ConfigNode& settings, std::uint64_t seed, bool trains)
      : problems_(trains ? ThreeProblems() : ProblemList{SmallProblem()}), recorders_(problems_) {
    if (trains) {
      trainer_ = entry.make_trainer({problems_, seed}, settings);
    } else {
      agent_ = entry.make({problems_[0], seed}, settings);
    }
  }
  Stateful& state() { return trainer_ ? static_cast<Stateful&>(*trainer_) : *agent_; }
  const UpdateTable* table() const { return trainer_ ? &trainer_->updates() : agent_->updates(); }
  /// @return the placements that the step evaluated
  std::vector<Placement> Step() {
    recorders_.Clear();
    if (trainer_) {
      trainer_->Step(recorders_.all);
    } else {
      agent_->Step(*recorders_.all[0]);
    }
    std::vector<Placement> placements;
    for (const RecordingEvaluator& recorder : recorders_.recorders) {
      placements.insert(
          placements.end(), recorder.placements().begin(), recorder.placements().end());
    }
    return placements;
  }

 private:
  ProblemList problems_;
  Recorders recorders_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<PolicyTrainer> trainer_;
};

/// The parameters in a state: each is its name and a matrix of float32.
struct StateParameters {
  explicit StateParameters(const std::string& state) : text(state) {
    std::istringstream in(state);
    std::string previous;
    for (std::string word; in >> word; previous = word) {
      int rows = 0, cols = 0, begin = 0;
      std::sscanf(word.c_str(), "%dx%d:%n", &rows, &cols, &begin);
      const std::size_t bytes = static_cast<std::size_t>(rows) * cols * sizeof(float);
      const std::size_t base64 = (bytes + 2) / 3 * 4;
      if (begin == 0 || bytes == 0 || word.size() - begin != base64) continue;
      if (std::isalpha(static_cast<unsigned char>(previous[0])) == 0) continue;
      names.push_back(previous);
      words.push_back(word);
      Matrix& value = values.emplace_back(rows, cols);
      ReadState(word, [&](StateVisitor& v) { v.Matrix("a matrix", value); });
    }
  }
  /// The state with another value of parameter p.
  std::string With(std::size_t p, Matrix value) const {
    std::string word = WrittenState([&](StateVisitor& v) { v.Matrix("a matrix", value); });
    while (std::isspace(static_cast<unsigned char>(word.back())) != 0) word.pop_back();
    std::size_t at = text.find(names[p]);
    while (text.compare(at + names[p].size() + 1, words[p].size(), words[p]) != 0) {
      at = text.find(names[p], at + 1);
      REQUIRE(at != text.npos);
    }
    return std::string(text).replace(at + names[p].size() + 1, words[p].size(), word);
  }
  std::string text;
  std::vector<std::string> names, words;
  std::vector<Matrix> values;
};

TEST_CASE("every agent that learns has settings for this contract, and no other has") {
  std::set<std::string> learners, listed;
  for (const AgentEntry& entry : AllAgents().entries()) {
    if (Learns(entry)) learners.insert(entry.name);
  }
  for (const auto& [name, settings] : AllLearners()) listed.insert(name);
  CHECK(learners == listed);
}

TEST_CASE("settings that are written and read again make the same learner") {
  const auto problem = SmallProblem();
  ForLearnerVariants([&](const AgentEntry& entry, const ConfigNode& settings) {
    const std::string all = entry.resolve_settings(settings);
    const ConfigNode read = ConfigNode::FromString(all, "resolved");
    CHECK(entry.resolve_settings(read) == all);
    const auto given = entry.make({problem, 1}, settings), again = entry.make({problem, 1}, read);
    CHECK(RunAgent(*given, problem, 50).placements == RunAgent(*again, problem, 50).placements);
  });
}

// Two of three toys have few optima; one seed in twenty may need more evaluations.
TEST_CASE("learners find the optimum of every toy problem" * doctest::skip(kUnderSanitizers)) {
  ForEveryLearner([](const AgentEntry& entry, const LearnerSettings& settings) {
    CheckFindsOptima(entry, "{}", settings.evaluations);
  });
  CheckFindsOptima(AllAgents().Find("seq2seq", "test"), "{ppo: {epochs: 4}}", 2400);
  CheckFindsOptima(AllAgents().Find("graph_policy", "test"), "{network: none}", 3000);
}

// On the star a step takes 100 ms and more while any op is on the slow device, 55 ms at best. Costs
// are square roots of such times.
TEST_CASE("learners learn: their last updates draw better placements than their first ones" *
          doctest::skip(kUnderSanitizers)) {
  const auto star = Star().problem;
  ForEveryLearner([&](const AgentEntry& entry, const LearnerSettings& settings) {
    for (const std::string& learning : settings.learning) {
      CAPTURE(learning);
      const auto agent = entry.make({star, 1}, Yaml(learning));
      RunAgent(*agent, star, 3000);
      const bool episodes = HasColumn(agent->updates(), "last_step_time_ns");
      const std::vector<double> cost =
          Column(*agent->updates(), episodes ? "last_step_time_ns" : "mean_cost");
      CHECK(Mean(cost, cost.size() - 20, 20) < 0.9 * Mean(cost, 0, 20));
    }
  });
}

// Transfers are expensive with seed 3: there one device is hard to beat.
TEST_CASE("after 1,000 evaluations, learners are not worse than the best single device" *
          doctest::skip(kUnderSanitizers)) {
  for (const std::uint64_t seed : {0, 3}) {
    CAPTURE(seed);
    Rng rng(seed);
    const auto problem = RandomProblem(rng,
                                       {.num_ops = 40,
                                        .num_devices = 4,
                                        .ties = false,
                                        .longest = 1'000'000,
                                        .largest = seed % 2 == 0 ? 100'000 : 10'000'000,
                                        .slots = false,
                                        .host_costs = false,
                                        .occupies = false,
                                        .tight_memory = false});
    const auto simulator = MakeSimulator(problem, {});
    Nanos single = kMaxNanos;
    for (int d = 0; d < 4; ++d) {
      const Placement all{std::vector<DeviceIndex>(40, static_cast<DeviceIndex>(d))};
      single = std::min(single, simulator->Evaluate(all).step_time);
    }
    ForEveryLearner([&](const AgentEntry& entry, const LearnerSettings&) {
      const auto agent = entry.make({problem, 1}, ConfigNode());
      CHECK(RunAgent(*agent, problem, 1000).best.outcome.step_time <= single);
    });
  }
}

TEST_CASE("one evaluation is no update; of what nothing fits the table has no times") {
  const auto problem = SmallProblem(), tight = SmallProblem(2, 16, 1);
  ForLearnerVariants([&](const AgentEntry& entry, const ConfigNode& settings) {
    const auto agent = entry.make({problem, 1}, settings);
    CHECK(RunAgent(*agent, problem, 1).placements.size() == 1);
    if (!HasColumn(agent->updates(), "feasible")) return;
    CHECK(agent->updates()->num_rows() <= 1);
    const auto other = entry.make({tight, 1}, settings);
    const SearchTrace trace = RunAgent(*other, tight, 200);
    CHECK((trace.placements.size() == 200 || trace.finished));
    CHECK_FALSE(trace.best.outcome.feasible);
    CHECK(other->updates()->num_rows() > 0);
    for (const char* name : {"best_step_time_ns", "last_step_time_ns", "elite_time_ns"}) {
      if (!HasColumn(other->updates(), name)) continue;
      for (const double time : Column(*other->updates(), name)) CHECK(std::isnan(time));
    }
    for (const double share : Column(*other->updates(), "feasible")) CHECK(share == 0);
  });
}

// 60 ops, of which heuristics use four devices.
TEST_CASE("a start comes first, samples are near it, and nothing worse is ever the best") {
  Rng rng(3);
  const auto problem = MixedProblem(rng, 60, 3, kUnlimitedMemory);
  const Placement heft = MakeStarts(*problem, {"heft"}, rng)[0];
  const auto simulator = MakeSimulator(problem, {});
  const Outcome start = simulator->Evaluate(heft);
  ForEveryLearner([&](const AgentEntry& entry, const LearnerSettings&) {
    // Mean share of the groups that the first samples have elsewhere.
    const auto moved = [&](const std::string& name) {
      const auto agent = entry.make({problem, 1}, Yaml("start: [" + name + "]"));
      const SearchTrace trace = RunAgent(*agent, problem, 17);
      if (name == "heft") {
        CHECK(trace.placements[0] == heft);
        CHECK_FALSE(Better(start, trace.best.outcome));
        CHECK(std::ranges::count(trace.placements, heft) < 17);
      }
      double share = 0;
      for (const Placement& placement : trace.placements) {
        for (int g = 0; g < problem->num_groups(); ++g) {
          share += placement.device[g] != heft.device[g];
        }
      }
      return share / (17.0 * problem->num_groups());
    };
    CHECK(moved("heft") < 0.65 * moved("random"));
  });
}

TEST_CASE("a restart draws other weights for the whole network") {
  const auto problem = SmallProblem();
  ForEveryLearner([&](const AgentEntry& entry, const LearnerSettings& settings) {
    if (settings.restart.empty()) return;
    const auto agent = entry.make({problem, 1}, SmallWith(entry, settings.restart));
    const auto simulator = MakeSimulator(problem, {});
    StateParameters before(Saved(*agent));
    int restarts = 0;
    for (int step = 0; step < 40; ++step) {
      agent->Step(*simulator);
      const StateParameters after(Saved(*agent));
      const double count = Column(*agent->updates(), "restarts").back();
      for (std::size_t p = 0; p < after.values.size(); ++p) {
        if (before.values[p].isZero()) continue;  // biases
        CAPTURE(after.names[p]);
        CHECK(((after.values[p] - before.values[p]).norm() > 0.01) == (count > restarts));
      }
      restarts = static_cast<int>(count);
      before = after;
    }
    CHECK(restarts > 3);
  });
}

// On Sorting() every group has a device of its own, which its kind and its costs tell.
TEST_CASE("a policy learned on some graphs is right for others, at once and for every seed" *
          doctest::skip(kUnderSanitizers)) {
  const ProblemList problems = {Sorting("abbaab"), Sorting("bbababaa")};
  ForEveryLearner([&](const AgentEntry& entry, const LearnerSettings& settings) {
    if (settings.transfer.empty()) return;
    const auto trainer = entry.make_trainer({problems, 1, 1, 150}, Yaml(settings.transfer));
    Simulators simulators(problems);
    for (int update = 0; update < 150; ++update) trainer->Step(simulators.all);
    const TempDir folder;
    const std::string path = (folder / "policy").string();
    WriteFileAtomically(path, PolicyOf(*trainer));
    for (const std::string letters : {"aaabbb", "bababa", "aabbbabbaa"}) {
      CAPTURE(letters);
      const auto problem = Sorting(letters);
      for (const std::uint64_t seed : {1, 2}) {
        const auto agent = entry.make(
            {problem, seed}, Yaml(settings.transfer + ", updates: 0, policy: \"" + path + "\""));
        const SearchTrace trace = RunAgent(*agent, problem, 100);
        CHECK(trace.finished);
        CHECK(trace.placements.back() == Sorted(letters));
      }
    }
  });
}

constexpr int kSteps = kUnderSanitizers ? 8 : 30, kUpdates = 6;

TEST_CASE("a learner is the same for 1, 2 and 4 threads, and resumes after every step") {
  const auto problem = SmallProblem();
  ForLearnerVariants([&](const AgentEntry& entry, const ConfigNode& settings) {
    const auto search = [&](int threads) {
      const auto simulator = MakeSimulator(problem, {.threads = threads});
      const auto agent = entry.make({problem, 4}, settings);
      std::vector<std::string> states = {Saved(*agent)};
      for (int step = 0; step < kSteps && !agent->Finished(); ++step) {
        agent->Step(*simulator);
        states.push_back(Saved(*agent));
      }
      if (!kUnderSanitizers && HasColumn(agent->updates(), "restarts")) {
        CHECK(Column(*agent->updates(), "restarts").back() > 0);
      }
      return states;
    };
    const std::vector<std::string> states = search(1);
    CHECK((search(2) == states));
    CHECK((search(4) == states));
    const auto simulator = MakeSimulator(problem, {});
    for (std::size_t step = 0; step + 1 < states.size(); ++step) {
      CAPTURE(step);
      // First weights may be the seed's own.
      const auto restored = entry.make({problem, step == 0 ? 4U : 1234U}, settings);
      LoadFrom(*restored, states[step]);
      CHECK((Saved(*restored) == states[step]));
      restored->Step(*simulator);
      CHECK((Saved(*restored) == states[step + 1]));
    }
  });
}

template <class Check>
void ForEveryTraining(const Check& check) {
  ForEveryLearner([&](const AgentEntry& entry, const LearnerSettings& settings) {
    CHECK(settings.training.empty() == !entry.make_trainer);
    for (const std::string& training : settings.training) {
      CAPTURE(training);
      check(entry, SmallWith(entry, training));
    }
  });
}

TEST_CASE("a trainer is the same for 1, 2 and 4 threads, and resumes after every update") {
  const ProblemList problems = ThreeProblems();
  ForEveryTraining([&](const AgentEntry& entry, const ConfigNode& settings) {
    const auto make = [&](int threads, std::uint64_t seed) {
      return entry.make_trainer({problems, seed, threads, kUpdates}, settings);
    };
    const auto text = [](PolicyTrainer& trainer) { return Saved(trainer) + PolicyOf(trainer); };
    Simulators simulators(problems);
    const auto train = [&](int threads) {
      const auto trainer = make(threads, 4);
      std::vector<std::string> states = {Saved(*trainer)}, texts = {text(*trainer)};
      for (int update = 0; update < kUpdates; ++update) {
        trainer->Step(simulators.all);
        CHECK(trainer->updates().num_rows() == update + 1);
        states.push_back(Saved(*trainer));
        texts.push_back(text(*trainer));
      }
      return std::pair(states, texts);
    };
    const auto [states, texts] = train(1);
    CHECK((train(2).second == texts));
    CHECK((train(4).second == texts));
    CHECK((PolicyOf(*make(1, 4)) != PolicyOf(*make(1, 5))));
    for (int update = 0; update < kUpdates; ++update) {
      CAPTURE(update);
      const auto restored = make(1, 1234);
      LoadFrom(*restored, states[update]);
      CHECK((text(*restored) == texts[update]));
      restored->Step(simulators.all);
      CHECK((text(*restored) == texts[update + 1]));
    }
    const std::string more = MessageOf<InputError>([&] {
      entry.make_trainer({problems, 4}, SmallWith(entry, "updates: 3"));
    });
    if (HasSetting(entry, "updates")) {
      CHECK(Contains(more, "updates: expected none while a policy is trained, got 3"));
    }
    const auto fewer = entry.make_trainer({{problems[0], problems[1]}, 4}, settings);
    const auto refusal = [&](PolicyTrainer& trainer, const std::string& state) {
      return MessageOf<InputError>([&] { LoadFrom(trainer, state); });
    };
    CHECK(refusal(*fewer, states[1]).starts_with("trainer state: it was saved for other problems"));
    CHECK(Contains(refusal(*make(1, 4), states[1].substr(0, states[1].size() / 2)),
                   " state: expected"));  // the state of an agent within, too
    CHECK(refusal(*fewer, "") == "trainer state: expected the header, got the end of the text");
  });
}

TEST_CASE("the end of the budget leaves a trainer's policy as it was") {
  const ProblemList problems = ThreeProblems();
  ForEveryTraining([&](const AgentEntry& entry, const ConfigNode& settings) {
    const auto trainer = entry.make_trainer({problems, 1}, settings);
    Simulators simulators(problems);
    MeteredEvaluator metered(*simulators.all[1], {.evaluations = 5});
    simulators.all[1] = &metered;
    std::string policy;
    CHECK_THROWS_AS(
        [&] {
          for (int update = 0; update < 100; ++update) {
            policy = PolicyOf(*trainer);
            trainer->Step(simulators.all);
          }
        }(),
        BudgetExhausted);
    CHECK(metered.records().size() == 5);
    CHECK((PolicyOf(*trainer) == policy));
  });
}

TEST_CASE("a parameter that is not a number stops with update and operation named") {
  ForEveryLearner([&](const AgentEntry& entry, const LearnerSettings& settings) {
    for (const bool trains : {false, true}) {
      if (trains && !entry.make_trainer) continue;
      CAPTURE(trains);
      const bool descends = !trains && !settings.descent.empty();
      const ConfigNode given = SmallWith(entry,
                                         trains     ? settings.training[0]
                                         : descends ? settings.descent
                                                    : settings.variants[0]);
      Learning original(entry, given, 3, trains);
      // A search by edits moves without its network, too.
      if (!HasColumn(original.table(), trains ? "loss" : "feasible")) continue;
      original.Step();
      const StateParameters parameters(Saved(original.state()));
      Matrix spoilt = parameters.values.back();  // what all logits depend on
      spoilt.setConstant(std::nanf(""));
      Learning learning(entry, given, 3, trains);
      LoadFrom(learning.state(), parameters.With(parameters.values.size() - 1, spoilt));
      const std::string message = MessageOf<RunError>([&] { learning.Step(); });
      CHECK(message.starts_with("update "));
      CHECK(Contains(message,
                     fmt::format("not finite: parameter \"{}\" [", parameters.names.back())));
    }
  });
}

// The same placements are drawn, so that the loss depends on the parameters alone.
TEST_CASE("an update steps down the gradient of its loss, by finite differences") {
  ForEveryLearner([&](const AgentEntry& entry, const LearnerSettings& settings) {
    for (const bool trains : {false, true}) {
      if (settings.descent.empty() || (trains && !entry.make_trainer)) continue;
      CAPTURE(trains);
      const ConfigNode given = SmallWith(entry, settings.descent);
      Learning before(entry, given, 3, trains);
      if (!HasColumn(before.table(), "loss")) continue;
      before.Step();
      const StateParameters parameters(Saved(before.state()));
      const auto loss_at = [&](const std::string& state, std::vector<Placement>& drawn) {
        Learning learning(entry, given, 3, trains);
        LoadFrom(learning.state(), state);
        drawn = learning.Step();
        return Column(*learning.table(), "loss").back();
      };
      std::vector<Placement> drawn;
      before.Step();
      const StateParameters after(Saved(before.state()));
      Rng rng(7);
      int entries = 0, far = 0;
      double largest = 0;
      for (std::size_t p = 0; p < parameters.names.size(); ++p) {
        CAPTURE(parameters.names[p]);
        for (int i = 0; i < 3; ++i) {
          const int at = UniformInt(rng, static_cast<int>(parameters.values[p].size()));
          Matrix value = parameters.values[p];
          const float kept = value.data()[at];
          constexpr float kStep = 2e-3F;
          std::vector<Placement> up, down;
          value.data()[at] = kept + kStep;
          const double above = loss_at(parameters.With(p, value), up);
          value.data()[at] = kept - kStep;
          const double below = loss_at(parameters.With(p, value), down);
          if (up != down) continue;
          const double difference = (above - below) / (2 * kStep);
          const double step = kept - after.values[p].data()[at];
          ++entries;
          far += std::abs(step - difference) > 1e-3 + 0.02 * std::abs(difference);
          largest = std::max(largest, std::abs(difference));
        }
      }
      CHECK(entries > 10);
      CHECK(far <= entries / 50);  // a step may cross the corner of a relu
      CHECK(largest > 0.05);
    }
  });
}

}  // namespace
