#include "agents/seq2seq/seq2seq_agent.h"

#include <limits>
#include <sstream>

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "framework/base/error.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"
#include "tests/support/toy_problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::shared_ptr<const Problem> SmallProblem() {
  Rng rng(3);
  return MixedProblem(rng, 16, 2, kUnlimitedMemory);
}

Seq2SeqConfig SmallConfig() {
  Seq2SeqConfig config;
  config.network.hidden = config.network.attention = 8;
  return config;
}

void CheckFindsOptima(const Seq2SeqConfig& config, int evaluations) {
  for (const ToyProblem& toy : ToyProblems()) {
    CAPTURE(toy.name);
    for (std::uint64_t seed = 1; seed <= 10 * EMPLACE_TEST_SCALE; ++seed) {
      CAPTURE(seed);
      Seq2SeqAgent agent({toy.problem, seed}, config);
      const std::unique_ptr<Evaluator> simulator = MakeSimulator(toy.problem, {});
      MeteredEvaluator metered(*simulator, {.evaluations = evaluations});
      const auto reached = [&] {
        return metered.best() && metered.best()->outcome.step_time == toy.optimum;
      };
      while (!reached() && metered.remaining() > 0) agent.Step(metered);
      REQUIRE(metered.best());
      CHECK(metered.best()->outcome.step_time == toy.optimum);
    }
  }
}

TEST_CASE("it finds the optimum of every toy problem with every seed") {
  CheckFindsOptima({}, 800);
}

TEST_CASE("with epochs of PPO it finds the optima, too, and keeps the contract") {
  Seq2SeqConfig config;
  config.learning.ppo.epochs = 4;
  CheckFindsOptima(config, 2400);  // the worst of 40 seeds needs 1,128
  CheckAgentContract(AllAgents().Find("seq2seq", "test"),
                     "{hidden: 8, attention: 8, ppo: {epochs: 3}}");
}

TEST_CASE("it learns: later placements are better than those of the beginning") {
  const ToyProblem toy = Star();
  Seq2SeqConfig config;
  config.learning.patience = 0;  // a restart would unlearn it
  Seq2SeqAgent agent({toy.problem, 1}, config);
  const std::unique_ptr<Evaluator> simulator = MakeSimulator(toy.problem, {});
  for (int update = 0; update < 200; ++update) agent.Step(*simulator);
  const UpdateTable& table = *agent.updates();
  REQUIRE(table.num_rows() == 200);
  const auto cost = std::find(table.columns.begin(), table.columns.end(), "mean_cost");
  const auto mean = [&](int begin) {
    double sum = 0;
    for (int row = begin; row < begin + 20; ++row) {
      sum += table.values[row * table.columns.size() + (cost - table.columns.begin())];
    }
    return sum / 20;
  };
  // sqrt of 0.1 s and more while readers are on the slow device, 0.055 s at best
  CHECK(mean(0) > 0.3);
  CHECK(mean(180) < 0.27);
}

TEST_CASE("where no group has a choice it evaluates the only placement and ends") {
  ProblemBuilder builder;
  builder.Device("gpu:0");
  builder.Device("gpu:1");
  builder.AllToAll(1, kGigabytePerSecond);
  builder.Op("a", {kMaxNanos, 5});
  builder.Op("b", {5, kMaxNanos});
  const auto problem = builder.Build();
  Seq2SeqAgent agent({problem, 1}, {});
  CHECK_FALSE(agent.Finished());
  const SearchTrace trace = RunAgent(agent, problem, 10);
  CHECK(trace.finished);
  CHECK(trace.placements == std::vector<Placement>{{{1, 0}}});
  CHECK(agent.updates()->num_rows() == 0);
  Seq2SeqAgent restored({problem, 2}, {});
  std::istringstream in(trace.states.back());
  restored.Load(in);
  CHECK(restored.Finished());
}

TEST_CASE("an update uses all samples, the last one what the budget leaves") {
  const auto problem = SmallProblem();
  Seq2SeqConfig config = SmallConfig();
  config.learning.samples = 8;
  config.learning.imitation_weight = 0.1;  // the imitated placement is not evaluated again
  Seq2SeqAgent agent({problem, 1}, config);
  const SearchTrace trace = RunAgent(agent, problem, 27);
  CHECK(trace.placements.size() == 27);
  CHECK(trace.states.size() == 4);
  CHECK(agent.updates()->num_rows() == 4);
}

TEST_CASE("it restarts with other weights when nothing better is found") {
  const auto problem = SmallProblem();
  Seq2SeqConfig config = SmallConfig();
  config.learning.patience = 1;  // restarts after every update that finds nothing better
  Seq2SeqAgent agent({problem, 1}, config);
  const SearchTrace trace = RunAgent(agent, problem, 400);
  const UpdateTable& table = *agent.updates();
  CHECK(table.num_rows() == 50);
  REQUIRE(table.columns[0] == "restarts");
  CHECK(table.values[49 * table.columns.size()] > 10);
  // Saved just before a restart and after one, it goes on as it did.
  for (const std::size_t step : {20, 21, 22}) {
    Seq2SeqAgent restored({problem, 2}, config);
    std::istringstream in(trace.states[step]);
    restored.Load(in);
    const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
    restored.Step(*simulator);
    std::ostringstream out;
    restored.Save(out);
    CHECK(out.str() == trace.states[step + 1]);
  }
}

TEST_CASE("what nothing fits ends with the budget") {
  Rng rng(9);
  const auto problem = MixedProblem(rng, 12, 2, 1);
  for (const int valid_only_after : {0, 1}) {
    Seq2SeqConfig config = SmallConfig();
    config.learning.valid_only_after = valid_only_after;
    config.learning.imitation_weight = 0.1;
    Seq2SeqAgent agent({problem, 1}, config);
    const SearchTrace trace = RunAgent(agent, problem, 60);
    CHECK(trace.placements.size() == 60);
    CHECK_FALSE(trace.best.outcome.feasible);
  }
}

TEST_CASE("all options together keep the contract") {
  Seq2SeqConfig config = SmallConfig();
  config.network.bidirectional = true;
  config.network.aligned = false;
  config.learning.imitation_weight = 0.1;
  config.learning.baseline = {.method = "moving_average", .start = "failing"};
  const auto problem = SmallProblem();
  Seq2SeqAgent a({problem, 4}, config), b({problem, 4}, config), c({problem, 5}, config);
  const SearchTrace first = RunAgent(a, problem, 100), second = RunAgent(b, problem, 100);
  CHECK(first.states == second.states);
  CHECK(first.placements == second.placements);
  CHECK(first.placements != RunAgent(c, problem, 100).placements);

  Seq2SeqAgent restored({problem, 6}, config);
  std::istringstream in(first.states[5]);
  restored.Load(in);
  const SearchTrace rest = RunAgent(restored, problem, 100 - 6 * 8);
  CHECK(rest.states.back() == first.states.back());
}

TEST_CASE("a parameter that is not a number stops the search with update and operation named") {
  // The state of an agent with the same parameters, one of them spoilt.
  const auto problem = SmallProblem();
  const Seq2SeqConfig config = SmallConfig();
  ParameterSet parameters;
  Rng rng(1);
  const Seq2SeqVocabulary vocabulary = MakeSeq2SeqVocabulary({&problem, 1});
  const Seq2SeqNetwork network(config.network, vocabulary, parameters, rng);
  const PolicyGradient learning(config.learning, problem, parameters);
  for (Parameter& parameter : parameters.all()) {
    if (parameter.name == "output.bias") {
      parameter.value(0, 0) = std::numeric_limits<float>::quiet_NaN();
    }
  }
  std::stringstream state;
  StateWriter writer(state, "seq2seq", *problem);
  writer.Int(0);
  writer.Generator(rng);
  learning.Save(writer);
  Seq2SeqAgent agent({problem, 1}, config);
  agent.Load(state);
  const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
  CHECK(MessageOf<RunError>([&] { agent.Step(*simulator); }) ==
        "update 0: not finite: parameter \"output.bias\" [1, 3]: value");
}

TEST_CASE("a state of other widths is refused") {
  const auto problem = SmallProblem();
  std::stringstream state;
  Seq2SeqAgent({problem, 1}, SmallConfig()).Save(state);
  Seq2SeqAgent other({problem, 1}, {});
  const std::string message = MessageOf<InputError>([&] { other.Load(state); });
  CAPTURE(message);
  CHECK(message.find("agent state: ") == 0);
  CHECK(message.find("decoder.weights") != std::string::npos);
}

}  // namespace
