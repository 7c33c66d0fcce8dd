#include "agents/placeto/episode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include <doctest/doctest.h>

#include "agents/shared/move_features.h"
#include "framework/config/setting_error.h"
#include "framework/search/meter.h"
#include "simulator/simulator.h"
#include "tests/agents/placeto/small_placeto.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr Nanos kSecond = 1'000'000'000;

// Four groups of one op each, one after the other, on two devices.
std::shared_ptr<const Problem> Chain() {
  ProblemBuilder builder = Gpus(2);
  int last = builder.Op("op0", {2 * kSecond, 3 * kSecond});
  for (int i = 1; i < 4; ++i) {
    last = builder.Op("op" + std::to_string(i), {2 * kSecond, 3 * kSecond}, {last});
  }
  return builder.Build();
}

// The step takes 1 s and 2^g s for each group g on gpu:0. Op v starts at 10 v ns, one later on
// gpu:1.
class Binary final : public Evaluator {
 public:
  explicit Binary(std::shared_ptr<const Problem> problem) : problem_(std::move(problem)) {}
  const Problem& problem() const override { return *problem_; }
  using Evaluator::Evaluate;
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail) override {
    for (std::size_t i = 0; i < placements.size(); ++i) {
      ++evaluations;
      outcomes[i] = {};
      outcomes[i].step_time = kSecond;
      outcomes[i].devices.resize(2);
      for (int g = 0; g < problem_->num_groups(); ++g) {
        if (placements[i].device[g] == 0) outcomes[i].step_time += (kSecond << g);
        if (detail.op_times) outcomes[i].start.push_back(10 * g + placements[i].device[g]);
      }
    }
  }
  int evaluations = 0;

 private:
  std::shared_ptr<const Problem> problem_;
};

EpisodeProblem Seconds(EpisodeConfig config = {}) {
  Rng rng(1);
  config.relative = false;
  config.penalty_cap = 0;
  return {Chain(), config, {}, rng};
}

Episode Play(const EpisodeProblem& task, const Placement& first, const std::string& devices) {
  Binary world(Chain());
  int step = 0;
  Episode episode = RunEpisode(
      task, first, [&](const PlacetoState&) { return devices[step++] - '0'; }, world);
  CHECK(episode.evaluations == world.evaluations);
  return episode;
}

// [steps], in whole nanoseconds [s]
std::vector<double> GainsOf(const Episode& episode) {
  std::vector<double> gains;
  for (const EpisodeStep& step : episode.steps) gains.push_back(std::round(step.gain * 1e9) / 1e9);
  return gains;
}

const Placement kAllFirst{{0, 0, 0, 0}}, kAllSecond{{1, 1, 1, 1}};

TEST_CASE("pitfall: a placement that gets faster is rewarded, one that gets slower is not") {
  const EpisodeProblem task = Seconds({.discount = 0});
  CHECK(GainsOf(Play(task, kAllFirst, "1111")) == std::vector<double>{1, 2, 4, 8});
  CHECK(GainsOf(Play(task, kAllSecond, "0000")) == std::vector<double>{-1, -2, -4, -8});
}

TEST_CASE("pitfall: the last group is placed, too, and its step rewarded") {
  const Episode episode = Play(Seconds(), kAllFirst, "0001");
  REQUIRE(episode.steps.size() == 4);
  CHECK(episode.steps.back().state.current == 3);
  CHECK(GainsOf(episode).back() == 8);
  CHECK(episode.last.device[3] == 1);
  CHECK(episode.last_outcome.step_time == 8 * kSecond);
}

TEST_CASE("pitfall: returns accumulate from the last step to the first") {
  const std::vector<double> rewards = {1, 2, 4};
  CHECK(Gains(rewards, 1) == std::vector<double>{7, 6, 4});
  CHECK(Gains(rewards, 0.5) == std::vector<double>{1 + 0.5 * (2 + 0.5 * 4), 2 + 0.5 * 4, 4});
  CHECK(Gains(rewards, 0) == rewards);
  CHECK(Gains({}, 1).empty());
  CHECK(GainsOf(Play(Seconds(), kAllFirst, "1011")) == std::vector<double>{13, 12, 12, 8});
}

TEST_CASE("an episode of parts moves all groups of a part") {
  ProblemBuilder builder = Gpus(2);
  int last = builder.Op("op0", {1, 1});
  for (int i = 1; i < 4; ++i) last = builder.Op("op" + std::to_string(i), {1, 1}, {last});
  const auto problem = builder.Build();
  Rng rng(1);
  const EpisodeProblem task(problem, {}, {}, rng, 2);
  REQUIRE(task.problem().num_groups() == 2);
  CHECK(task.graph().num_groups() == 2);
  Binary world(problem);
  const Placement first = task.OfParts(kAllFirst);
  CHECK(first == Placement{{0, 0}});
  int step = 0;
  const Episode episode = RunEpisode(
      task, first, [&](const PlacetoState&) { return step++ == 0 ? 1 : 0; }, world);
  CHECK(episode.steps.size() == 2);
  CHECK(episode.last == Placement{{1, 0}});
  const Placement groups = task.OfGroups(episode.last);
  CHECK(task.OfParts(groups) == episode.last);
  // Groups on gpu:0 take 2^g s: those of the second part remain there.
  Nanos expected = kSecond;
  for (int g = 0; g < 4; ++g) {
    const bool second = task.problem().grouping().group_of(g) == 1;
    CHECK(groups.device[g] == (second ? 0 : 1));
    if (second) expected += kSecond << g;
  }
  CHECK(episode.last_outcome.step_time == expected);
}

TEST_CASE("groups that may not run on the same devices are never in one part") {
  Rng draws(7);
  for (int round = 0; round < 20; ++round) {
    const auto problem = MixedProblem(draws, 30, 2, kUnlimitedMemory);
    Rng rng(1);
    const EpisodeProblem task(problem, {}, {}, rng, 2);
    for (int op = 0; op < problem->num_ops(); ++op) {
      CHECK(task.problem().allowed_devices(task.problem().grouping().group_of(op)) ==
            problem->allowed_devices(problem->grouping().group_of(op)));
    }
    const Placement parts = RandomPlacement(rng, task.problem());
    CHECK(task.OfParts(task.OfGroups(parts)) == parts);
  }
}

TEST_CASE("pitfall: a step that leaves its group where it is costs no evaluation") {
  const EpisodeProblem task = Seconds();
  CHECK(Play(task, kAllFirst, "0000").evaluations == 1);
  CHECK(Play(task, kAllFirst, "0110").evaluations == 3);
  const Episode still = Play(task, kAllFirst, "0000");
  CHECK(GainsOf(still) == std::vector<double>(4));
  CHECK(still.last == kAllFirst);
  CHECK(still.last_outcome.step_time == 16 * kSecond);
}

TEST_CASE("terminal: one reward at the end, nothing evaluated in between") {
  const EpisodeProblem task = Seconds({.reward = "terminal", .discount = 0.5});
  const Episode episode = Play(task, kAllFirst, "1011");
  CHECK(episode.evaluations == 2);
  CHECK(GainsOf(episode) == std::vector<double>{13 / 8.0, 13 / 4.0, 13 / 2.0, 13});
  CHECK(Play(task, kAllFirst, "0000").evaluations == 1);
}

TEST_CASE("all_actions: the reward of every device, for a policy that learns") {
  const EpisodeProblem task = Seconds({.reward = "all_actions", .discount = 0});
  const Episode episode = Play(task, kAllFirst, "1011");
  CHECK(episode.evaluations == 1 + 4 + 3);
  const std::vector<std::vector<double>> expected = {{0, 1}, {0, 2}, {0, 4}, {0, 8}};
  for (int t = 0; t < 4; ++t) {
    REQUIRE(episode.steps[t].rewards.size() == 2);
    for (int d = 0; d < 2; ++d) {
      CHECK(episode.steps[t].rewards[d] == doctest::Approx(expected[t][d]));
    }
  }
  Binary world(Chain());
  const Episode played = RunEpisode(
      task, kAllFirst, [](const PlacetoState&) { return 1; }, world, nullptr, false);
  CHECK(played.steps[0].rewards.empty());
  CHECK(world.evaluations == 1 + 4);
}

TEST_CASE("undo: a step that makes the placement slower is undone, and its reward is kept") {
  const EpisodeProblem task = Seconds({.undo = true, .discount = 0});
  const Episode episode = Play(task, Placement{{1, 0, 1, 1}}, "0100");
  CHECK(GainsOf(episode) == std::vector<double>{-1, 2, -4, -8});
  CHECK(episode.evaluations == 1 + 4);
  CHECK(episode.last == kAllSecond);
  CHECK(episode.last_outcome.step_time == kSecond);
  CHECK(episode.steps[1].state.placement == Placement{{1, 0, 1, 1}});
  CHECK(episode.steps[3].state.placement == kAllSecond);
}

TEST_CASE("effects: the features of the move to each other device") {
  const std::shared_ptr<const Problem> problem = Chain();
  PlacetoNetworkConfig network;
  network.features.devices = "scored";
  network.features.effects = true;
  Rng rng(1);
  const EpisodeProblem task(problem, {}, network, rng);
  const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
  const auto play = [&](const Outcome* known) {
    int step = 0;
    return RunEpisode(
        task,
        kAllFirst,
        [&](const PlacetoState&) { return step++ == 0 ? 1 : 0; },
        *simulator,
        known);
  };
  const Episode episode = play(nullptr);
  MoveFeatures features(*problem);
  const Placement second{{1, 0, 0, 0}};
  features.Set(second, simulator->Evaluate(second, {.op_times = true}));
  Matrix expected = Matrix::Zero(2, MoveFeatures::kCount);
  const Move move{1, 1};
  features.Write({&move, 1}, {expected.row(1).data(), MoveFeatures::kCount});
  CHECK(episode.steps[1].state.effects == expected);
  CHECK(expected.row(1).norm() > 0);

  const Outcome known = simulator->Evaluate(kAllFirst, {.op_times = true});
  CHECK(play(&known).steps[0].state.effects == episode.steps[0].state.effects);
}

TEST_CASE("the policy sees the placement so far, who is visited, and the last starts") {
  for (const std::string reward : {"intermediate", "terminal"}) {
    const Episode episode = Play(Seconds({.reward = reward}), kAllFirst, "1001");
    REQUIRE(episode.steps.size() == 4);
    const PlacetoState& third = episode.steps[2].state;
    CHECK(third.placement == Placement{{1, 0, 0, 0}});
    CHECK(third.visited == std::vector<bool>{true, true, false, false});
    CHECK(third.current == 2);
    const Nanos moved = reward == "intermediate";  // what is not evaluated is not known
    CHECK(third.start == std::vector<Nanos>{moved, 10, 20, 30});
    CHECK(episode.steps[0].state.visited == std::vector<bool>(4));
    CHECK(episode.steps[0].device == 1);
    CHECK(episode.steps[1].device == 0);
    CHECK(episode.first == kAllFirst);
    CHECK(episode.last == Placement{{1, 0, 0, 1}});
  }
}

TEST_CASE("the best placement of an episode may lie before its end") {
  int step = 0;
  Binary world(Chain());
  const auto task = Seconds();
  const Placement start{{0, 0, 0, 1}};
  const Episode episode = RunEpisode(
      task,
      start,
      [&](const PlacetoState&) { return step++ == 3 ? 0 : 1; },  // the last one goes back
      world);
  CHECK(episode.best == kAllSecond);
  CHECK(episode.best_outcome.step_time == kSecond);
  CHECK(episode.last_outcome.step_time == 9 * kSecond);
  CHECK(episode.best_outcome.start == std::vector<Nanos>{1, 11, 21, 31});
}

TEST_CASE("with discount 1 the first gain is what the whole episode gains") {
  Rng rng(6);
  for (int trial = 0; trial < 10 * EMPLACE_TEST_SCALE; ++trial) {
    const auto problem = MixedProblem(rng, 30, 3, trial % 2 == 0 ? kUnlimitedMemory : 300);
    const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
    const Placement first = RandomPlacement(rng, *problem);
    const Placement goal = RandomPlacement(rng, *problem);
    const auto follow = [&](const PlacetoState& state) { return goal.device[state.current]; };
    for (const std::string reward : {"intermediate", "terminal"}) {
      for (const std::string transform : {"identity", "log"}) {
        for (const std::string order : {"topological", "random"}) {
          const EpisodeConfig config{.order = order, .reward = reward, .transform = transform};
          const EpisodeProblem task(problem, config, {}, rng);
          const Episode episode = RunEpisode(task, first, follow, *simulator);
          CHECK(episode.last == goal);
          const Outcome outcome = simulator->Evaluate(goal);
          CHECK(episode.last_outcome.step_time == outcome.step_time);
          const double gain = task.Time(simulator->Evaluate(first)) - task.Time(outcome);
          CHECK(episode.steps[0].gain == doctest::Approx(gain));
          CHECK_FALSE(Better(outcome, episode.best_outcome));
        }
      }
    }
  }
}

TEST_CASE("what does not fit is slower by its gigabytes, up to the cap") {
  const auto time = [](const EpisodeConfig& config) {
    Rng rng(1);
    Outcome outcome;
    outcome.step_time = 3 * kSecond;
    outcome.devices.resize(2);
    outcome.devices[0] = {.peak = 9'500'000'000, .deficit = 500'000'000};
    outcome.devices[1] = {.peak = 8'250'000'000, .deficit = 0};
    return EpisodeProblem(Chain(), config, {}, rng).Time(outcome);
  };
  EpisodeConfig config{.relative = false};
  CHECK(time(config) == doctest::Approx(3 + 2 * 0.5));
  config.penalty_limit_gb = 8;
  CHECK(time(config) == doctest::Approx(3 + 2 * (1.5 + 0.25)));
  config.penalty_per_gb = 0;
  CHECK(time(config) == 3);
  config.penalty_per_gb = 1000;
  CHECK(time(config) == 10);
  config.penalty_cap = 0;
  CHECK(time(config) == doctest::Approx(3 + 1750));
  config.transform = "log";
  CHECK(time(config) == doctest::Approx(std::log(1753)));
  // Everything on gpu:0 takes 4 * 2 s, on gpu:1 more.
  CHECK(time({}) == doctest::Approx(3 / 8.0 + 2 * 0.5));
}

TEST_CASE("the visit goes along the groups, or at random, and leaves out what has no choice") {
  const auto problem = SmallProblem(2, 40);
  Rng rng(1);
  std::vector<int> expected;
  for (int group : problem->group_order()) {
    if (std::popcount(problem->allowed_devices(group)) > 1) expected.push_back(group);
  }
  REQUIRE(expected.size() < static_cast<std::size_t>(problem->num_groups()));
  const auto order = [&] {
    const EpisodeProblem task(problem, {.order = "random"}, {}, rng);
    return std::vector<int>(task.order().begin(), task.order().end());
  };
  const EpisodeProblem task(problem, {}, {}, rng);
  CHECK(std::vector<int>(task.order().begin(), task.order().end()) == expected);
  const std::vector<int> first = order(), second = order();
  CHECK(first != second);
  CHECK(first != expected);
  CHECK(std::is_permutation(first.begin(), first.end(), expected.begin(), expected.end()));
}

TEST_CASE("the end of the budget ends an episode") {
  Binary world(Chain());
  MeteredEvaluator metered(world, {.evaluations = 3});
  const auto task = Seconds();
  CHECK_THROWS_AS(RunEpisode(
                      task, kAllFirst, [](const PlacetoState&) { return 1; }, metered),
                  BudgetExhausted);
  CHECK(metered.records().size() == 3);
}

TEST_CASE("settings that make no sense are refused with their key") {
  const auto refusal = [](const EpisodeConfig& config) {
    Rng rng(1);
    return MessageOf<SettingError>([&] { EpisodeProblem(Chain(), config, {}, rng); });
  };
  CHECK(refusal({.order = "reverse"}) ==
        "episode.order: expected \"random\", \"topological\", got \"reverse\"");
  CHECK(refusal({.reward = "last"}) ==
        "episode.reward: expected \"all_actions\", \"intermediate\", \"terminal\", got \"last\"");
  CHECK(refusal({.transform = "sqrt"}) ==
        "episode.transform: expected \"identity\", \"log\", got \"sqrt\"");
}

// Steps 2 and 5 of seven move their group.
std::vector<EpisodeStep> SevenSteps() {
  std::vector<EpisodeStep> steps(7);
  for (int t = 0; t < 7; ++t) {
    steps[t].state.placement.device.assign(7, 1);
    steps[t].state.current = t;
    steps[t].device = t == 2 || t == 5 ? 0 : 1;
  }
  return steps;
}

TEST_CASE("all steps count once, whatever is wanted beyond them") {
  const std::vector<EpisodeStep> steps = SevenSteps();
  CHECK(Moves(steps[2]));
  CHECK_FALSE(Moves(steps[3]));
  for (int stays : {0, 5, 100}) {
    Rng rng(1), untouched(1);
    const std::vector<LearntStep> learnt = ChooseLearntSteps(steps, stays, rng);
    REQUIRE(learnt.size() == 7);
    for (int t = 0; t < 7; ++t) {
      CHECK(learnt[t].step == t);
      CHECK(learnt[t].weight == 1);
    }
    CHECK(rng() == untouched());
  }
}

TEST_CASE("moves are always learnt from, and the others stand for all of their kind alike") {
  const std::vector<EpisodeStep> steps = SevenSteps();
  Rng rng(3);
  std::vector<double> mean(7);
  constexpr int kDraws = 20000;
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::vector<LearntStep> learnt = ChooseLearntSteps(steps, 2, rng);
    REQUIRE(learnt.size() == 4);
    for (std::size_t i = 0; i < learnt.size(); ++i) {
      CHECK((i == 0 || learnt[i - 1].step < learnt[i].step));
      mean[learnt[i].step] += learnt[i].weight / kDraws;
    }
  }
  // 2.5 with probability 2 in 5: a standard deviation of 1.22, 0.0087 of the mean.
  for (int t = 0; t < 7; ++t) {
    CAPTURE(t);
    if (t == 2 || t == 5) {
      CHECK(mean[t] == doctest::Approx(1));
    } else {
      CHECK(std::abs(mean[t] - 1) < 0.04);
    }
  }
}

}  // namespace
