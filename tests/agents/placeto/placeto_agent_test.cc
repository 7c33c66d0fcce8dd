#include "agents/placeto/placeto_agent.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "tests/agents/placeto/small_placeto.h"
#include "tests/support/gradients.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::string TrainedPolicy(const ProblemList& problems, const PlacetoConfig& config, int updates) {
  PlacetoTrainer trainer({problems, 1}, config);
  Simulators simulators(problems);
  for (int update = 0; update < updates; ++update) trainer.Step(simulators.all);
  return PolicyOf(trainer);
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
        }) == "policy: " + config.policy +
                  ": policy: it was trained for 3 devices, cluster \"test_cluster\" has 4; only a "
                  "policy with features.devices \"scored\" fits any number");

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

}  // namespace
