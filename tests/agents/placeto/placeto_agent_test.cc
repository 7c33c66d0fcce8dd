#include "agents/placeto/placeto_agent.h"

#include <cmath>

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "tests/agents/placeto/small_placeto.h"
#include "tests/support/gradients.h"
#include "tests/support/paths.h"
#include "tests/support/sanitizers.h"
#include "tests/support/states.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("it finds the optimum of every toy problem with every seed" *
          doctest::skip(kUnderSanitizers)) {
  CheckFindsOptima<PlacetoAgent>({}, 2400);
}

std::string TrainedPolicy(const ProblemList& problems, const PlacetoConfig& config, int updates) {
  PlacetoTrainer trainer({problems, 1}, config);
  Simulators simulators(problems);
  for (int update = 0; update < updates; ++update) trainer.Step(simulators.all);
  return PolicyOf(trainer);
}

TEST_CASE("it learns: episodes end better than in the beginning" *
          doctest::skip(kUnderSanitizers)) {
  const ToyProblem toy = Star();
  PlacetoConfig config;
  config.patience = 0;    // a restart would unlearn it
  config.move_share = 0;  // the goal is far from the start
  config.episode.begin = "fixed";
  config.updates = 120;
  PlacetoAgent agent({toy.problem, 1}, config);
  RunAgent(agent, toy.problem, 3000);
  const std::vector<double> last = Column(*agent.updates(), "last_step_time_ns");
  REQUIRE(last.size() == 121);
  // 100 ms and more while any op is on the slow device, 55 ms at best
  CHECK(Mean(last, 0, 20) > 100e6);
  CHECK(Mean(last, 100, 20) < 80e6);
}

TEST_CASE("saved and restored at any step, all options on, it goes on bit for bit") {
  const auto problem = SmallProblem();
  PlacetoConfig config = SmallPlaceto();
  config.network.features = {"one_hot", true, true, true};
  config.network.aggregation = "sum";
  config.episode.order = "random";
  config.episode.transform = "log";
  config.entropy_final = 0.01;
  config.entropy_share = 0.4;
  config.imitation_weight = 0.2;
  config.patience = 3;
  config.greedy_every = 2;
  config.updates = 15;
  PlacetoAgent agent({problem, 4}, config);
  const SearchTrace trace = RunAgent(agent, problem, 100'000);
  CHECK(trace.finished);
  CHECK(trace.states.size() == 16);
  CHECK(Column(*agent.updates(), "restarts").back() > 0);
  CheckGoesOn<PlacetoAgent>(problem, config, trace);
}

TEST_CASE("variants keep the contract") {
  const AgentEntry& entry = AllAgents().Find("placeto", "test");
  CheckAgentContract(entry, "{width: 6, rounds: 2, features: {devices: scored}}");
  CheckAgentContract(entry,
                     "{width: 4, rounds: 1, episode: {reward: terminal, order: random, begin: "
                     "redraw}, start: [random], episodes: 2, greedy_every: 3}");
}

TEST_CASE("updates: 0 is one episode of the most probable choices; n: n updates and one") {
  const auto problem = SmallProblem();
  for (const int updates : {0, 3}) {
    PlacetoConfig config = SmallPlaceto();
    config.updates = updates;
    PlacetoAgent agent({problem, 1}, config), other({problem, 1}, config);
    const SearchTrace trace = RunAgent(agent, problem, 100'000);
    CHECK(trace.finished);
    CHECK(trace.placements == RunAgent(other, problem, 100'000).placements);
    std::vector<double> greedy(updates, 0);
    greedy.push_back(1);
    CHECK(Column(*agent.updates(), "greedy") == greedy);
  }
}

TEST_CASE("greedy_every: episodes of the most probable choices in between") {
  const auto problem = SmallProblem();
  PlacetoConfig config = SmallPlaceto();
  config.greedy_every = 2;
  config.updates = 5;
  PlacetoAgent agent({problem, 1}, config);
  RunAgent(agent, problem, 100'000);
  CHECK(Column(*agent.updates(), "greedy") == std::vector<double>{0, 0, 1, 0, 0, 1, 0, 1});
}

TEST_CASE("a policy is saved, loaded, and applied to a graph it never saw") {
  const TempDir folder;
  PlacetoConfig config = SmallPlaceto();
  const ProblemList problems = {SmallProblem(2, 10), SmallProblem(2, 24)};
  WriteFileAtomically(folder / "policy", TrainedPolicy(problems, config, 5));

  // The same choices as those of the policy that was written.
  config.policy = (folder / "policy").string();
  PlacetoTrainer again({problems, 9}, config);
  CHECK(PolicyOf(again) == TrainedPolicy(problems, SmallPlaceto(), 5));
  CHECK(PolicyOf(again) != TrainedPolicy(problems, SmallPlaceto(), 4));

  const auto unseen = SmallProblem(2, 37);
  config.updates = 0;
  config.start = {"single_gpu"};  // the same for every seed, so that only the policy counts
  PlacetoAgent a({unseen, 1}, config), b({unseen, 2}, config);
  const SearchTrace trace = RunAgent(a, unseen, 1000);
  CHECK(trace.finished);
  CHECK(trace.placements == RunAgent(b, unseen, 1000).placements);
}

TEST_CASE("what is learned on some graphs is right for others" * doctest::skip(kUnderSanitizers)) {
  const TempDir folder;
  PlacetoConfig config;
  config.network.features.device_costs = true;
  config.episode.begin = "redraw";
  const ProblemList problems = {Sorting("aabbab"), Sorting("bababbaa")};
  WriteFileAtomically(folder / "policy", TrainedPolicy(problems, config, 150));
  config.policy = (folder / "policy").string();
  config.updates = 0;
  for (const std::string letters : {"aaabbb", "bababa", "aabbbaabab"}) {
    CAPTURE(letters);
    const auto problem = Sorting(letters);
    PlacetoAgent agent({problem, 1}, config);
    const SearchTrace trace = RunAgent(agent, problem, 100);
    CHECK(trace.placements.back() == Sorted(letters));
  }
}

TEST_CASE("a restart goes back to the policy of the file") {
  const TempDir folder;
  const auto problem = SmallProblem();
  PlacetoConfig config = SmallPlaceto();
  WriteFileAtomically(folder / "policy", TrainedPolicy({problem}, config, 3));
  config.policy = (folder / "policy").string();
  config.patience = 1;
  config.optimizer.schedule.learning_rate = 1e-12;
  PlacetoLearner learner(config, {problem}, 1, 1);
  Simulators simulators({problem});
  for (int update = 0; update < 30; ++update) learner.Update(simulators.all);
  CHECK(Column(learner.table(), "restarts").back() > 5);
  PlacetoLearner as_read(config, {problem}, 2, 1);
  for (std::size_t p = 0; p < as_read.parameters().all().size(); ++p) {
    const Matrix& expected = as_read.parameters().all()[p].value;
    CHECK(Distance(learner.parameters().all()[p].value, expected) < 1e-6);
  }
}

TEST_CASE("a policy for another number of devices is refused with both, unless they are scored") {
  const TempDir folder;
  PlacetoConfig config = SmallPlaceto();
  WriteFileAtomically(folder / "one_hot", TrainedPolicy({SmallProblem(2)}, config, 1));
  config.policy = (folder / "one_hot").string();
  CHECK(MessageOf<InputError>([&] {
          PlacetoAgent({SmallProblem(3), 1}, config);
        }) ==
        "policy: " + config.policy +
            ": policy: it was trained for 3 devices, cluster \"test_cluster\" has 4; only one "
            "with features.devices \"scored\" fits any number");

  PlacetoConfig scored = SmallPlaceto();
  scored.network.features.devices = "scored";
  WriteFileAtomically(folder / "scored", TrainedPolicy({SmallProblem(2)}, scored, 1));
  scored.policy = (folder / "scored").string();
  scored.updates = 0;
  const auto wide = SmallProblem(5);
  PlacetoAgent agent({wide, 1}, scored);
  CHECK(RunAgent(agent, wide, 1000).finished);

  config.policy = scored.policy;  // trained with one kind of features, applied with the other
  const std::string message = MessageOf<InputError>([&] {
    PlacetoAgent({SmallProblem(2), 1}, config);
  });
  CAPTURE(message);
  CHECK(message.find("policy: " + config.policy + ": policy: ") == 0);
  CHECK(message.find("features.devices") != std::string::npos);
  CHECK(message.find("one_hot") != std::string::npos);
  CHECK(message.find("scored") != std::string::npos);
}

TEST_CASE("a trainer refuses the agent's number of updates") {
  PlacetoConfig config = SmallPlaceto();
  config.updates = 0;
  CHECK(MessageOf<InputError>([&] {
          PlacetoTrainer({{SmallProblem()}, 1, 1}, config);
        }) == "updates: expected -1 where a policy is trained, got 0");
}

TEST_CASE("a policy and settings that disagree are refused with both values") {
  const TempDir folder;
  const auto problem = SmallProblem();
  WriteFileAtomically(folder / "policy", TrainedPolicy({problem}, SmallPlaceto(), 0));
  const std::string path = (folder / "policy").string();
  const auto refusal = [&](const auto& change) {
    PlacetoConfig config = SmallPlaceto();
    config.policy = path;
    change(config.network);
    return MessageOf<InputError>([&] { PlacetoAgent({problem, 1}, config); });
  };
  const auto disagree = [&](const std::string& what, const std::string& ours) {
    return "policy: " + path + ": policy: it was trained with " + what + ", the settings say " +
           ours;
  };
  CHECK(refusal([](auto& n) { n.features.start_time = false; }) ==
        disagree("features.start_time 1", "0"));
  CHECK(refusal([](auto& n) { n.features.memory = true; }) == disagree("features.memory 0", "1"));
  CHECK(refusal([](auto& n) { n.features.device_costs = true; }) ==
        disagree("features.device_costs 0", "1"));
  CHECK(refusal([](auto& n) { n.width = 5; }) == disagree("width 6", "5"));
  CHECK(refusal([](auto& n) { n.rounds = 3; }) == disagree("rounds 2", "3"));
  CHECK(refusal([](auto& n) { n.aggregation = "sum"; }) == disagree("aggregation: mean 1", "0"));
  CHECK(refusal([](auto& n) { n.stay = 1; }).find(disagree("stay ", "1").substr(0, 60)) == 0);

  WriteFileAtomically(folder / "half", TrainedPolicy({problem}, SmallPlaceto(), 0).substr(0, 300));
  PlacetoConfig config = SmallPlaceto();
  config.policy = (folder / "half").string();
  CHECK(MessageOf<InputError>([&] {
          PlacetoAgent({problem, 1}, config);
        }).find("policy: " + config.policy + ": policy: ") == 0);
  config.policy = (folder / "none").string();
  CHECK(MessageOf<InputError>([&] {
          PlacetoAgent({problem, 1}, config);
        }).find("none") != std::string::npos);
}

TEST_CASE("where no group has a choice it evaluates the only placement and ends") {
  CHECK(CheckEndsWithoutChoice<PlacetoAgent>() == 1);
}

TEST_CASE("a budget of one evaluation is the start; what fits nowhere ends with the budget") {
  const auto problem = SmallProblem();
  PlacetoAgent agent({problem, 1}, {});
  const SearchTrace trace = RunAgent(agent, problem, 1);
  CHECK(trace.placements.size() == 1);
  CHECK(agent.updates()->num_rows() == 0);

  Rng rng(9);
  const auto tight = MixedProblem(rng, 12, 2, 1);
  PlacetoAgent other({tight, 1}, SmallPlaceto());
  const SearchTrace nothing = RunAgent(other, tight, 200);
  CHECK(nothing.placements.size() == 200);
  CHECK_FALSE(nothing.best.outcome.feasible);
  CHECK(Column(*other.updates(), "feasible").back() == 0);
  CHECK(std::isnan(Column(*other.updates(), "last_step_time_ns").back()));
}

TEST_CASE("a trainer is the same for every number of threads, saved, and restored") {
  const ProblemList problems = {SmallProblem(2, 10), SmallProblem(2, 24), SmallProblem(2, 17)};
  std::vector<std::string> states;
  for (const int threads : {1, 2, 3}) {
    PlacetoTrainer trainer({problems, 1, threads}, SmallPlaceto());
    Simulators simulators(problems);
    for (int update = 0; update < 3; ++update) trainer.Step(simulators.all);
    states.push_back(Saved(trainer));
    CHECK(trainer.updates().num_rows() == 3);
  }
  CHECK(states[0] == states[1]);
  CHECK(states[0] == states[2]);

  PlacetoTrainer restored({problems, 2}, SmallPlaceto());
  LoadFrom(restored, states[0]);
  CHECK(Saved(restored) == states[0]);

  PlacetoTrainer fewer({{problems[0], problems[1]}, 1}, SmallPlaceto());
  CHECK(MessageOf<InputError>([&] { LoadFrom(fewer, states[0]); }).find("trainer state: ") == 0);
}

}  // namespace
