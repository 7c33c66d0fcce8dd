#include "agents/seq2seq/seq2seq_agent.h"

#include <limits>

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "agents/starts/starts.h"
#include "framework/base/error.h"
#include "tests/agents/seq2seq/small_seq2seq.h"
#include "tests/support/paths.h"
#include "tests/support/sanitizers.h"
#include "tests/support/states.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("it finds the optimum of every toy problem with every seed" *
          doctest::skip(kUnderSanitizers)) {
  CheckFindsOptima<Seq2SeqAgent>({}, 800);
}

TEST_CASE("with epochs of PPO it finds the optima, too, and keeps the contract" *
          doctest::skip(kUnderSanitizers)) {
  Seq2SeqConfig config;
  config.learning.ppo.epochs = 4;
  CheckFindsOptima<Seq2SeqAgent>(config, 2400);  // the worst of 40 seeds needs 1,128
  CheckAgentContract(AllAgents().Find("seq2seq", "test"),
                     "{hidden: 8, attention: 8, ppo: {epochs: 3}}");
}

TEST_CASE("it learns: later placements are better than those of the beginning" *
          doctest::skip(kUnderSanitizers)) {
  const ToyProblem toy = Star();
  Seq2SeqConfig config;
  config.learning.patience = 0;  // a restart would unlearn it
  Seq2SeqAgent agent({toy.problem, 1}, config);
  RunAgent(agent, toy.problem, 200 * 4);
  const std::vector<double> cost = Column(*agent.updates(), "mean_cost");
  REQUIRE(cost.size() == 200);
  // sqrt of 0.1 s and more while readers are on the slow device, 0.055 s at best
  CHECK(Mean(cost, 0, 20) > 0.3);
  CHECK(Mean(cost, 180, 20) < 0.27);
}

TEST_CASE("where no group has a choice it evaluates the only placement and ends") {
  CHECK(CheckEndsWithoutChoice<Seq2SeqAgent>() == 0);
}

TEST_CASE("an update uses all samples, the last one what the budget leaves") {
  const auto problem = SmallProblem();
  Seq2SeqConfig config = SmallSeq2Seq();
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
  Seq2SeqConfig config = SmallSeq2Seq();
  config.learning.patience = 1;  // restarts after every update that finds nothing better
  Seq2SeqAgent agent({problem, 1}, config);
  const SearchTrace trace = RunAgent(agent, problem, 400);
  CHECK(agent.updates()->num_rows() == 50);
  CHECK(Column(*agent.updates(), "restarts").back() > 10);
  CheckGoesOn<Seq2SeqAgent>(problem, config, trace);
}

TEST_CASE("with a start the first samples are near it, and nothing worse is ever the best") {
  Rng rng(3);
  const auto problem = MixedProblem(rng, 60, 3, kUnlimitedMemory);
  const Placement heft = MakeStarts(*problem, {"heft"}, rng)[0];
  const auto start_time = static_cast<double>(MakeSimulator(problem, {})->Evaluate(heft).step_time);
  const auto excess = [&](const std::string& start) {  // of the first 16 samples, mean
    Seq2SeqConfig config;
    config.learning.start.names = {start};
    Seq2SeqAgent agent({problem, 1}, config);
    const SearchTrace trace = RunAgent(agent, problem, 17);
    const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
    double sum = 0;
    for (std::size_t i = 1; i < 17; ++i) {
      sum += static_cast<double>(simulator->Evaluate(trace.placements[i]).step_time);
    }
    if (start == "heft") {
      CHECK(trace.placements[0] == heft);
      CHECK(trace.placements[1] != heft);
      CHECK(static_cast<double>(trace.best.outcome.step_time) <= start_time);
    }
    return sum / 16 - start_time;
  };
  CHECK(excess("heft") < 0.3 * excess("nothing"));
}

TEST_CASE("with a start it keeps the contract and begins there again") {
  CheckAgentContract(AllAgents().Find("seq2seq", "test"),
                     "{hidden: 8, attention: 8, start: [heuristics], patience: 2, start_steps: 20, "
                     "fresh_share: 1, entropy_control: {begin: 1, updates: 3}}");
  const auto problem = SmallProblem();
  Seq2SeqConfig config = SmallSeq2Seq();
  config.learning.start.names = {"single", "random"};
  config.learning.patience = 1;
  Seq2SeqAgent agent({problem, 1}, config);
  const SearchTrace trace = RunAgent(agent, problem, 202);
  CHECK(Column(*agent.updates(), "evaluations")[0] == 10);  // 2 starts, 8 samples
  CHECK(Column(*agent.updates(), "restarts").back() > 5);
  CheckGoesOn<Seq2SeqAgent>(problem, config, trace);
}

TEST_CASE("restarts at the best placement keep the contract") {
  const auto problem = SmallProblem();
  Seq2SeqConfig config = SmallSeq2Seq();
  config.learning.start.fresh_share = 0;
  config.learning.patience = 1;
  Seq2SeqAgent agent({problem, 1}, config);
  const SearchTrace trace = RunAgent(agent, problem, 200);
  REQUIRE(Column(*agent.updates(), "restarts").back() > 5);
  const std::vector<double> best = Column(*agent.updates(), "best_step_time_ns");
  for (std::size_t i = 1; i < best.size(); ++i) CHECK(best[i] <= best[i - 1]);
  CheckGoesOn<Seq2SeqAgent>(problem, config, trace);
}

TEST_CASE("what nothing fits ends with the budget") {
  Rng rng(9);
  const auto problem = MixedProblem(rng, 12, 2, 1);
  for (const int valid_only_after : {0, 1}) {
    Seq2SeqConfig config = SmallSeq2Seq();
    config.learning.valid_only_after = valid_only_after;
    config.learning.imitation_weight = 0.1;
    Seq2SeqAgent agent({problem, 1}, config);
    const SearchTrace trace = RunAgent(agent, problem, 60);
    CHECK(trace.placements.size() == 60);
    CHECK_FALSE(trace.best.outcome.feasible);
  }
}

TEST_CASE("all options together keep the contract") {
  Seq2SeqConfig config = SmallSeq2Seq();
  config.network.bidirectional = true;
  config.network.aligned = false;
  config.learning.imitation_weight = 0.1;
  config.learning.baseline = {.method = "moving_average", .start = "failing"};
  const auto problem = SmallProblem();
  Seq2SeqAgent a({problem, 4}, config), b({problem, 4}, config), c({problem, 5}, config);
  const SearchTrace first = RunAgent(a, problem, 96), second = RunAgent(b, problem, 96);
  CHECK(first.states == second.states);
  CHECK(first.placements == second.placements);
  CHECK(first.placements != RunAgent(c, problem, 96).placements);
  CheckGoesOn<Seq2SeqAgent>(problem, config, first);
}

TEST_CASE("a parameter that is not a number stops the search with update and operation named") {
  // The state of an agent with the same parameters, one of them spoilt.
  const auto problem = SmallProblem();
  const Seq2SeqConfig config = SmallSeq2Seq();
  ParameterSet parameters;
  Rng rng(1);
  const Seq2SeqVocabulary vocabulary = MakeSeq2SeqVocabulary({&problem, 1});
  const Seq2SeqNetwork network(config.network, vocabulary, parameters, rng);
  PolicyGradient learning(config.learning, problem, parameters);
  for (Parameter& parameter : parameters.all()) {
    if (parameter.name == "output.bias") {
      parameter.value(0, 0) = std::numeric_limits<float>::quiet_NaN();
    }
  }
  Seq2SeqAgent agent({problem, 1}, config);
  LoadFrom(agent, WrittenState([&](StateVisitor& v) {
             bool finished = false;
             v.Begin("seq2seq", *problem);
             v.Flag(finished);
             v.Generator(rng);
             learning.VisitState(v);
           }));
  const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
  CHECK(MessageOf<RunError>([&] { agent.Step(*simulator); }) ==
        "update 0: not finite: parameter \"output.bias\" [1, 3]: value");
}

TEST_CASE("a state of other widths is refused") {
  const auto problem = SmallProblem();
  const std::string state = Saved(Seq2SeqAgent({problem, 1}, SmallSeq2Seq()));
  Seq2SeqAgent other({problem, 1}, {});
  const std::string message = MessageOf<InputError>([&] { LoadFrom(other, state); });
  CAPTURE(message);
  CHECK(message.find("agent state: ") == 0);
  CHECK(message.find("decoder.weights") != std::string::npos);
}

}  // namespace
