#include "agents/hierarchical/hierarchical_agent.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/config/setting_error.h"
#include "simulator/simulator.h"
#include "tests/agents/hierarchical/plain_policy.h"
#include "tests/support/chains.h"
#include "tests/support/learning_agents.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;
using testing::plain::PlainPolicy;

HierarchicalConfig TinyConfig() {
  HierarchicalConfig config;
  config.groups = 3;
  config.groupings = 2;
  config.policy.samples = 4;
  config.grouper.hidden = 4;
  config.grouper.type_embedding = 3;
  config.placer.hidden = 4;
  config.placer.device_embedding = 2;
  config.policy.imitation_weight = 0;
  config.policy.start.fresh_share = 1;
  config.policy.start.settle_share = 0;
  config.policy.entropy_control.begin = 0;
  config.grouper.entropy = 0;
  return config;
}

TEST_CASE("log-probabilities and entropy of a pass, computed again in plain loops") {
  Rng rng(6);
  for (int trial = 0; trial < 12; ++trial) {
    HierarchicalConfig config = TinyConfig();
    config.groups = 1 + trial % 5;
    config.placer.aligned = trial % 2 == 0;
    config.placer.by_position = trial % 3 == 0;
    config.grouper.standardize = trial % 4 != 0;
    config.grouper.features.position = config.placer.features.costs = trial % 3 == 1;
    const auto problem = MixedProblem(rng, 1 + UniformInt(rng, 30), 2, 1000);
    HierarchicalAgent agent({problem, rng()}, config);
    const PlainPolicy plain(config, *problem, agent.parameters());
    Tape tape;
    const auto pass = agent.Draw(tape, 4);
    REQUIRE(pass.decisions.size() == 4);
    CHECK(pass.decisions[0].group_of_unit == pass.decisions[1].group_of_unit);
    const Var logits = agent.grouper().Logits(tape);
    double entropy = 0;
    for (int i = 0; i < 4; ++i) {
      const PlainPolicy::Score score = plain.Of(pass.decisions[i]);
      const double expected = score.grouping + score.devices;
      CHECK(tape.value(pass.sampled.log_probability)(i, 0) ==
            doctest::Approx(expected).epsilon(1e-4));
      const Var again = agent.LogProbability(tape, logits, pass.decisions[i]);
      CHECK(tape.value(again)(0, 0) == doctest::Approx(expected).epsilon(1e-4));
      entropy += score.entropy / 4;
    }
    CHECK(tape.value(pass.sampled.entropy)(0, 0) == doctest::Approx(entropy).epsilon(1e-4));
  }
}

TEST_CASE("placements are shared among groupings; fewer placements, fewer groupings") {
  Rng rng(2);
  const auto problem = MixedProblem(rng, 60, 3, 1000);
  const auto groupings_of = [&](int groupings, int num_samples) {
    HierarchicalConfig config = TinyConfig();
    config.policy.samples = 8;
    config.groupings = groupings;
    HierarchicalAgent agent({problem, 1}, config);
    Tape tape;
    const auto pass = agent.Draw(tape, num_samples);
    CHECK(tape.rows(pass.sampled.log_probability) == num_samples);
    std::vector<int> sizes;
    for (int i = 0; i < num_samples; ++i) {
      if (i > 0 && pass.decisions[i].group_of_unit == pass.decisions[i - 1].group_of_unit) {
        ++sizes.back();
      } else {
        sizes.push_back(1);
      }
    }
    return sizes;
  };
  CHECK(groupings_of(3, 8) == std::vector<int>{3, 3, 2});
  CHECK(groupings_of(3, 2) == std::vector<int>{1, 1});
  CHECK(groupings_of(0, 8) == std::vector<int>(8, 1));
}

TEST_CASE("noise on the logits ends after noise_updates; only without it a pass scores the same") {
  HierarchicalConfig config = TinyConfig();
  config.noise = 2;
  config.noise_updates = 2;
  const auto problem = Star().problem;
  HierarchicalAgent agent({problem, 3}, config);
  const auto simulator = MakeSimulator(problem, {});
  for (int update = 0; update < 4; ++update) {
    HierarchicalAgent twin({problem, 1}, config);
    LoadFrom(twin, Saved(agent));
    Tape tape;
    const auto pass = twin.Draw(tape, 4);
    const PlainPolicy plain(config, *problem, twin.parameters());
    double difference = 0;
    for (int i = 0; i < 4; ++i) {
      const PlainPolicy::Score score = plain.Of(pass.decisions[i]);
      difference = std::max(difference,
                            std::abs(score.grouping + score.devices -
                                     tape.value(pass.sampled.log_probability)(i, 0)));
    }
    CHECK((difference > 1e-2) == (update < 2));
    agent.Step(*simulator);
  }
}

// On one device the placer's log-probabilities are 0.
TEST_CASE("the grouper draws from noisy logits, too, and its log-probability is theirs") {
  HierarchicalConfig config = TinyConfig();
  ProblemBuilder builder = Gpus(1);
  for (int i = 0; i < 20; ++i) builder.Op(fmt::format("op{}", i), {Nanos{10} + i});
  const auto problem = builder.Build();
  const auto log_probability = [&](double noise, bool noisy) {  // mean of the groupings drawn
    config.noise = noise;
    config.groupings = 100;
    config.policy.samples = 100;
    HierarchicalAgent agent({problem, 3}, config);
    const PlainPolicy plain(config, *problem, agent.parameters());
    Tape tape;
    const auto pass = agent.Draw(tape, 100);
    double sum = 0;
    for (int i = 0; i < 100; ++i) {
      sum += noisy ? double{tape.value(pass.sampled.log_probability)(i, 0)}
                   : plain.Of(pass.decisions[i]).grouping;
    }
    return sum / 100;
  };
  CHECK(log_probability(0, true) == doctest::Approx(log_probability(0, false)).epsilon(1e-4));
  // What noise makes likely is drawn: the distribution without it does not know.
  CHECK(log_probability(5, true) > log_probability(5, false) + 1);
}

TEST_CASE("the grouper's entropy counts as its weight says") {
  HierarchicalConfig config = TinyConfig();
  const auto problem = Star().problem;
  const auto entropy = [&](double weight) {
    config.grouper.entropy = weight;
    HierarchicalAgent agent({problem, 3}, config);
    Tape tape;
    const auto pass = agent.Draw(tape, 4);
    return double{tape.value(pass.sampled.entropy)(0, 0)};
  };
  HierarchicalAgent agent({problem, 3}, config);
  const PlainPolicy plain(config, *problem, agent.parameters());
  double mean = 0;  // of a unit's group
  for (const auto& logits : plain.GrouperLogits()) {
    mean += testing::plain::Entropy(testing::plain::LogSoftmax(logits)) / 9;
  }
  CHECK(entropy(0.5) - entropy(0) == doctest::Approx(0.5 * 3 * mean).epsilon(1e-3));
}

TEST_CASE("the grouper learns the partition at the beginning and at each restart") {
  Rng rng(8);
  const auto problem = MixedProblem(rng, 200, 2, kUnlimitedMemory);
  const auto probability = [&](HierarchicalAgent& agent) {
    Tape tape;
    return std::exp(tape.value(agent.grouper().MeanLogProbabilityOfParts(tape))(0, 0));
  };
  HierarchicalConfig config;
  config.groups = 12;
  config.policy.optimizer.schedule.learning_rate = 1e-3;
  HierarchicalAgent agent({problem, 1}, config);
  const double untrained_probability = probability(agent);
  CHECK(untrained_probability < 0.1);
  RunAgent(agent, problem, 4);  // one update
  CHECK(probability(agent) > 0.9);

  config.policy.patience = 1;
  config.policy.entropy_control.begin = 0;
  HierarchicalAgent restarted({problem, 1}, config);
  RunAgent(restarted, problem, 400);
  REQUIRE(Column(*restarted.updates(), "restarts").back() > 0);
  CHECK(probability(restarted) > 3 * untrained_probability);

  config.policy.start.names = {"heft"};
  HierarchicalAgent started({problem, 1}, config);
  RunAgent(started, problem, 1);
  // It was then pulled to the groups of the start.
  CHECK(probability(started) > 2 * untrained_probability);

  config.grouper.partition_steps = 0;
  HierarchicalAgent untrained({problem, 1}, config);
  CHECK(untrained.parameters().all().front().value.rows() ==
        std::ssize(UnitFeatures(*problem).kinds));
}

TEST_CASE("the imitated decision is the one that led to the best placement, also after Load") {
  HierarchicalConfig config = TinyConfig();
  config.policy.imitation_weight = 1;
  const auto problem = Star().problem;
  HierarchicalAgent agent({problem, 3}, config);
  const auto simulator = MakeSimulator(problem, {});
  for (int update = 0; update < 10; ++update) {
    agent.Step(*simulator);
    const std::string state = Saved(agent);
    HierarchicalAgent twin({problem, 1}, config);
    LoadFrom(twin, state);
    CHECK(Saved(twin) == state);
    // Its log-probability is that of the decision at the end of the state.
    std::vector<int> numbers;
    std::istringstream words(state);
    for (std::string word; words >> word;) {
      numbers.push_back(word.size() < 4 ? std::atoi(word.c_str()) : -1);
    }
    HierarchicalAgent::Decision best;
    Tape tape;
    const auto pass = twin.Draw(tape, 4);
    REQUIRE(pass.sampled.best_log_probability.has_value());
    for (std::size_t length = 1; length <= 3; ++length) {  // groups with units
      const auto end = numbers.end() - length;
      const std::vector<int> groups(end - 9, end);
      if (std::set<int>(groups.begin(), groups.end()).size() != length) continue;
      best = {groups, {end, numbers.end()}};
      if (*(end - 10) == 1) break;  // "there is a best one"
    }
    REQUIRE(best.devices.size() > 0);
    const PlainPolicy plain(config, *problem, twin.parameters());
    const PlainPolicy::Score score = plain.Of(best);
    CHECK(tape.value(*pass.sampled.best_log_probability)(0, 0) ==
          doctest::Approx(score.grouping + score.devices).epsilon(1e-4));
  }
}

TEST_CASE("the entropy follows its plan, and only its end allows a restart") {
  Rng rng(8);
  const auto problem = MixedProblem(rng, 60, 3, kUnlimitedMemory);
  HierarchicalConfig config;
  config.policy.patience = 1;
  config.policy.entropy_control = {.begin = 1, .end = 1, .updates = 250, .share = 1, .rate = 0.1};
  config.policy.start.settle_share = 0;
  HierarchicalAgent agent({problem, 1}, config);
  RunAgent(agent, problem, 251 * 4);
  const std::vector<double> entropy = Column(*agent.updates(), "entropy");
  const double mean = Mean(entropy, 150, 100);
  CHECK(mean > 0.8);
  CHECK(mean < 1.2);
  const std::vector<double> restarts = Column(*agent.updates(), "restarts");
  CHECK(restarts[249] == 0);
  CHECK(restarts.back() == 1);
}

TEST_CASE("at first the groups of a part choose alike") {
  const auto problem = Chain(60, 4);
  HierarchicalConfig config;
  config.placer.tanh_constant = 1e-6;  // all devices are equally likely
  // 20 updates of 4 placements, of which the first draws 2 parts.
  HierarchicalAgent agent({problem, 1}, config);
  const SearchTrace trace = RunAgent(agent, problem, 80);
  for (int i = 0; i < 4; ++i) CHECK(NumDevicesUsed(trace.placements[i]) <= 2);
  config.parts.first = 0;
  HierarchicalAgent independent({problem, 1}, config);
  for (const Placement& placement : RunAgent(independent, problem, 80).placements) {
    CHECK(NumDevicesUsed(placement) == 4);
  }
}

TEST_CASE("number of groups") {
  Rng rng(2);
  const auto problem = MixedProblem(rng, 300, 3, 1000);  // 4 devices
  HierarchicalConfig config;
  REQUIRE(problem->num_groups() > 80);
  CHECK(NumGroups(config, *problem) == 64);
  config.groups = 0;
  CHECK(NumGroups(config, *problem) == 80);
  config.groups = 256;
  CHECK(NumGroups(config, *problem) == problem->num_groups());
}

TEST_CASE("settings that make no sense are refused") {
  Rng rng(2);
  const auto problem = MixedProblem(rng, 10, 2, 1000);
  const auto refusal = [&](auto change) {
    HierarchicalConfig config;
    change(config);
    return MessageOf<SettingError>([&] { HierarchicalAgent({problem, 1}, config); });
  };
  using Config = HierarchicalConfig;
  CHECK(refusal([](Config& c) { c.groupings = 9; }) ==
        "groupings: expected at most the samples, 4, got 9");
  CHECK(refusal([](Config& c) { c.groupings = 1; }).find("groupings: expected at least 2, or 0") ==
        0);
}

}  // namespace
