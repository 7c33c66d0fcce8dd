#include "agents/placeto/placeto_learner.h"

#include <cmath>
#include <limits>
#include <optional>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/config/setting_error.h"
#include "framework/search/meter.h"
#include "tests/agents/placeto/recorded_updates.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("the weight of the entropy falls linearly, whatever the number of epochs") {
  const ProblemList problems = {SmallProblem()};
  for (const int epochs : {1, 3}) {
    PlacetoConfig config = SmallPlaceto();
    config.entropy_weight = 1;
    config.entropy_final = 0.2;
    config.entropy_updates = 4;
    config.ppo.epochs = epochs;
    config.patience = 0;
    PlacetoLearner learner(config, problems, 1, 1);
    Simulators simulators(problems);
    for (int update = 0; update < 6; ++update) learner.Update(simulators.all);
    const std::vector<double> weight = Column(learner.table(), "entropy_weight");
    const std::vector<double> expected = {1, 0.8, 0.6, 0.4, 0.2, 0.2};
    for (int update = 0; update < 6; ++update) {
      CHECK(weight[update] == doctest::Approx(expected[update]));
    }
  }
}

TEST_CASE("the same for every number of threads, and for the same seed only") {
  const ProblemList problems = ThreeProblems();
  std::vector<std::string> states;
  for (const auto& [seed, threads] : {std::pair{1, 1}, {1, 2}, {1, 3}, {2, 1}}) {
    PlacetoLearner learner(SmallPlaceto(), problems, seed, threads);
    Simulators simulators(problems);
    for (int update = 0; update < 4; ++update) learner.Update(simulators.all);
    states.push_back(Saved(learner, problems));
  }
  CHECK(states[0] == states[1]);
  CHECK(states[0] == states[2]);
  CHECK(states[0] != states[3]);
}

TEST_CASE("saved and restored between any two updates it goes on bit for bit") {
  const ProblemList problems = ThreeProblems();
  PlacetoConfig config = SmallPlaceto();
  config.episode.order = "random";
  config.start = "redraw";
  config.ppo.penalty = "kl";
  config.baseline_episodes = 2;
  config.patience = 2;
  PlacetoLearner learner(config, problems, 1, 1);
  Simulators simulators(problems);
  for (int update = 0; update < 8; ++update) {
    PlacetoLearner restored(config, problems, 2, 1);
    Load(restored, problems, Saved(learner, problems));
    CHECK(Saved(restored, problems) == Saved(learner, problems));
    learner.Update(simulators.all);
    restored.Update(simulators.all);
    CHECK(Saved(restored, problems) == Saved(learner, problems));
  }
}

// What the episodes of the first problem begin with.
std::vector<Placement> Starts(PlacetoLearner& learner, const ProblemList& problems, int updates) {
  Recorders recorders(problems);
  std::vector<Placement> starts;
  for (int update = 0; update < updates; ++update) {
    recorders.Clear();
    learner.Update(recorders.all);
    starts.push_back(recorders.recorders[0].placements().front());
  }
  return starts;
}

TEST_CASE("an episode begins where the setting says") {
  const ProblemList problems = {SmallProblem()};
  const auto starts_of = [&](const std::string& start) {
    PlacetoConfig config = SmallPlaceto();
    config.start = start;
    PlacetoLearner learner(config, problems, 1, 1);
    return Starts(learner, problems, 4);
  };
  const std::vector<Placement> random = starts_of("random");
  CHECK(random == std::vector<Placement>(4, random[0]));
  const std::vector<Placement> redraw = starts_of("redraw");
  CHECK(redraw[0] != redraw[1]);
  CHECK(redraw[1] != redraw[2]);
  const std::vector<Placement> single = starts_of("single_gpu");
  CHECK(single == std::vector<Placement>(4, single[0]));
  for (int g = 0; g < problems[0]->num_groups(); ++g) {
    if (problems[0]->allowed(g, 1)) CHECK(single[0].device[g] == 1);
  }

  // best: the first of the best of all before
  PlacetoLearner learner(SmallPlaceto(), problems, 1, 1);
  Recorders recorders(problems);
  std::optional<std::pair<Placement, Outcome>> best;
  for (int update = 0; update < 12; ++update) {
    recorders.Clear();
    learner.Update(recorders.all);
    const std::vector<Placement>& placements = recorders.recorders[0].placements();
    if (best) CHECK(placements.front() == best->first);
    for (const Placement& placement : placements) {
      const Outcome outcome = recorders.simulators.all[0]->Evaluate(placement);
      if (!best || Better(outcome, best->second)) best = {placement, outcome};
    }
    CHECK(Column(learner.table(), "best_step_time_ns").back() ==
          static_cast<double>(best->second.step_time));
  }
}

TEST_CASE("it restarts from its best; when that got no better, from a new random placement") {
  // All placements are alike: none is better than the first.
  ProblemBuilder builder = Gpus(2, 0);
  int last = builder.Op("op0", {5});
  for (int i = 1; i < 12; ++i) last = builder.Op("op" + std::to_string(i), {5}, {last});
  const ProblemList problems = {builder.Build()};
  PlacetoConfig config = SmallPlaceto();
  config.patience = 1;
  PlacetoLearner learner(config, problems, 1, 1);
  const std::vector<Placement> starts = Starts(learner, problems, 6);
  // Update 0 has the first best. A restart before update 2 goes on from there; nothing better was
  // found before the one before update 3.
  CHECK(Column(learner.table(), "restarts") == std::vector<double>{0, 0, 1, 2, 2, 3});
  CHECK(starts[1] == starts[0]);
  CHECK(starts[2] == starts[0]);
  CHECK(starts[3] != starts[0]);
  CHECK(starts[4] == starts[3]);
  CHECK(starts[5] == starts[3]);
}

TEST_CASE("a restart draws other weights; with patience 0 there is none") {
  const ProblemList problems = {SmallProblem()};
  Simulators simulators(problems);
  PlacetoConfig config = SmallPlaceto();
  config.optimizer.schedule.learning_rate = 1e-9;
  for (const int patience : {0, 1}) {
    config.patience = patience;
    PlacetoLearner learner(config, problems, 1, 1);
    const Matrix before = learner.parameters().all()[0].value;
    for (int update = 0; update < 60; ++update) learner.Update(simulators.all);
    CHECK((Column(learner.table(), "restarts").back() > 0) == (patience > 0));
    const bool moved = (learner.parameters().all()[0].value - before).norm() > 0.1;
    CHECK(moved == (patience > 0));
  }
}

TEST_CASE("a greedy episode draws nothing and learns nothing") {
  const ProblemList problems = {SmallProblem()};
  PlacetoLearner learner(SmallPlaceto(), problems, 1, 1);
  Recorders recorders(problems);
  for (int update = 0; update < 3; ++update) learner.Update(recorders.all);
  std::vector<std::vector<Placement>> episodes;
  const std::vector<Matrix> before = {learner.parameters().all()[0].value};
  for (int i = 0; i < 2; ++i) {
    recorders.Clear();
    learner.GreedyEpisode(*recorders.all[0]);
    episodes.push_back(recorders.recorders[0].placements());
    CHECK(Column(learner.table(), "evaluations").back() -
              Column(learner.table(), "evaluations")[2 + i] ==
          static_cast<double>(episodes.back().size()));
  }
  CHECK(learner.parameters().all()[0].value == before[0]);
  CHECK(learner.updates() == 3);
  CHECK(Column(learner.table(), "greedy") == std::vector<double>{0, 0, 0, 1, 1});
  CHECK(Column(learner.table(), "update") == std::vector<double>{0, 1, 2, 3, 3});
  for (const std::string column : {"loss", "entropy", "entropy_weight", "gradient_norm"}) {
    CHECK(std::isnan(Column(learner.table(), column).back()));
  }
  // The second one starts from the best of the first.
  if (episodes[0].size() == 1) CHECK(episodes[0] == episodes[1]);
}

TEST_CASE("the table tells of every episode") {
  const ProblemList problems = {SmallProblem()};
  PlacetoLearner learner(PlainPlaceto(), problems, 1, 1);
  Recorders recorders(problems);
  std::size_t evaluations = 0;
  for (int update = 0; update < 3; ++update) {
    recorders.Clear();
    learner.Update(recorders.all);
    const std::vector<Placement>& placements = recorders.recorders[0].placements();
    evaluations += placements.size();
    const auto time = [&](const Placement& placement) {
      return static_cast<double>(recorders.simulators.all[0]->Evaluate(placement).step_time);
    };
    const auto last = [&](const std::string& name) { return Column(learner.table(), name).back(); };
    CHECK(last("evaluations") == static_cast<double>(evaluations));
    CHECK(last("start_step_time_ns") == time(placements.front()));
    CHECK(last("last_step_time_ns") == time(placements.back()));
    CHECK(last("feasible") == 1);
    CHECK(last("learning_rate") == doctest::Approx(0.003));
    CHECK(last("gradient_norm") > 0);
    CHECK(last("entropy") > 0);
    CHECK(last("entropy") < std::log(3));
    CHECK(last("update") == update);
  }
  CHECK(learner.table().num_rows() == 3);
}

TEST_CASE("the end of the budget leaves the policy as it was") {
  const ProblemList problems = {SmallProblem()};
  PlacetoLearner learner(SmallPlaceto(), problems, 1, 1);
  Simulators simulators(problems);
  MeteredEvaluator metered(*simulators.all[0], {.evaluations = 2});
  Evaluator* evaluators[] = {&metered};
  const Matrix before = learner.parameters().all()[0].value;
  CHECK_THROWS_AS(
      [&] {
        for (int update = 0; update < 50; ++update) learner.Update(evaluators);
      }(),
      BudgetExhausted);
  CHECK(metered.records().size() == 2);
  if (learner.updates() == 0) CHECK(learner.parameters().all()[0].value == before);
}

TEST_CASE("a parameter that is not a number stops it with update and operation named") {
  const ProblemList problems = {SmallProblem()};
  PlacetoLearner spoilt(SmallPlaceto(), problems, 1, 1), learner(SmallPlaceto(), problems, 1, 1);
  for (Parameter& parameter : spoilt.parameters().all()) {
    if (parameter.name == "head.2.bias") {
      parameter.value(0, 0) = std::numeric_limits<float>::quiet_NaN();
    }
  }
  Load(learner, problems, Saved(spoilt, problems));
  Simulators simulators(problems);
  CHECK(MessageOf<RunError>([&] { learner.Update(simulators.all); }) ==
        "update 0: not finite: parameter \"head.2.bias\" [1, 3]: value");
}

TEST_CASE("a state that does not fit is refused") {
  const ProblemList problems = {SmallProblem()};
  PlacetoConfig config = SmallPlaceto();
  PlacetoLearner saved(config, problems, 1, 1);
  Simulators simulators(problems);
  for (int update = 0; update < 5; ++update) saved.Update(simulators.all);
  const std::string state = Saved(saved, problems);
  const auto refusal = [&](const PlacetoConfig& other, const std::string& text) {
    PlacetoLearner learner(other, problems, 1, 1);
    return MessageOf<InputError>([&] { Load(learner, problems, text); });
  };
  PlacetoConfig wide = config;
  wide.network.width = 7;
  CHECK(refusal(wide, state) ==
        "trainer state: parameter embed.0.weights [8, 7] expected, got [8, 6]");
  PlacetoConfig few = config;
  few.baseline_episodes = 3;
  CHECK(refusal(few, state).find("expected at most 3 episodes, got 5") != std::string::npos);
  CHECK(refusal(config, state.substr(0, state.size() / 2)).find("expected") != std::string::npos);
}

TEST_CASE("settings out of range are refused with their key") {
  const auto refusal = [](const auto& change) {
    PlacetoConfig config;
    change(config);
    return MessageOf<SettingError>([&] { PlacetoLearner(config, {SmallProblem()}, 1, 1); });
  };
  CHECK(refusal([](auto& c) { c.start = "bset"; }).find("start: unknown start \"bset\"") == 0);
  CHECK(refusal([](auto& c) { c.baseline_episodes = -1; }).find("baseline_episodes: ") == 0);
  CHECK(refusal([](auto& c) { c.entropy_weight = -1; }).find("entropy_weight: ") == 0);
  CHECK(refusal([](auto& c) { c.entropy_final = -1; }).find("entropy_final: ") == 0);
  CHECK(refusal([](auto& c) { c.entropy_updates = -1; }).find("entropy_updates: ") == 0);
  CHECK(refusal([](auto& c) { c.imitation_weight = -1; }).find("imitation_weight: ") == 0);
  CHECK(refusal([](auto& c) { c.patience = -1; }).find("patience: ") == 0);
  CHECK(refusal([](auto& c) { c.greedy_every = -1; }).find("greedy_every: ") == 0);
  CHECK(refusal([](auto& c) { c.updates = -2; }).find("updates: ") == 0);
  CHECK(refusal([](auto& c) { c.ppo.epochs = 0; }).find("ppo.epochs: ") == 0);
  CHECK(refusal([](auto& c) { c.optimizer.method = "adma"; }).find("optimizer.method: ") == 0);
  CHECK(refusal([](auto& c) { c.network.features.devices = "all"; }).find("features.devices: ") ==
        0);
}

TEST_CASE("one policy needs one number of devices, unless they are scored") {
  const ProblemList differ = {SmallProblem(2), SmallProblem(3)};
  CHECK(MessageOf<InputError>([&] { PlacetoLearner(SmallPlaceto(), differ, 1, 1); }) ==
        "placeto: graph \"test_graph\" has 4 devices to choose from, graph \"test_graph\" has 3: "
        "one policy needs the same number, unless features.devices is \"scored\"");
  PlacetoConfig scored = SmallPlaceto();
  scored.network.features.devices = "scored";
  PlacetoLearner learner(scored, differ, 1, 1);
  Simulators simulators(differ);
  learner.Update(simulators.all);
  CHECK(learner.updates() == 1);
}

}  // namespace
