#include "agents/placeto/placeto_learner.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <doctest/doctest.h>

#include "agents/initial_placements/initial_placements.h"
#include "framework/base/error.h"
#include "framework/config/setting_error.h"
#include "framework/search/meter.h"
#include "tests/agents/placeto/small_placeto.h"
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
    config.entropy_share = 0.5;
    config.ppo.epochs = epochs;
    config.patience = 0;
    PlacetoLearner learner(config, problems, 1, 1, 8);
    Simulators simulators(problems);
    for (int update = 0; update < 6; ++update) learner.Update(simulators.all);
    const std::vector<double> weight = Column(learner.table(), "entropy_weight");
    const std::vector<double> expected = {1, 0.8, 0.6, 0.4, 0.2, 0.2};
    for (int update = 0; update < 6; ++update) {
      CHECK(weight[update] == doctest::Approx(expected[update]));
    }
  }
}

TEST_CASE("the logit for staying is adapted until an episode makes so many moves") {
  // 12 steps with two devices each and costs that are all alike: nothing to learn.
  ProblemBuilder builder = Gpus(2, 0);
  int last = builder.Op("op0", {5});
  for (int i = 1; i < 12; ++i) last = builder.Op("op" + std::to_string(i), {5}, {last});
  const ProblemList problems = {builder.Build()};
  PlacetoConfig config = SmallPlaceto();
  config.patience = 0;
  config.move_share = 2 / 12.0;
  config.network.stay = 0;
  config.entropy_weight = config.entropy_final = 0;
  PlacetoLearner learner(config, problems, 1, 1);
  Recorders recorders(problems);
  std::vector<double> moves;
  for (int update = 0; update < 400; ++update) {
    recorders.Clear();
    learner.Update(recorders.all);
    // The first episode evaluates its start, too; later ones that only if nothing moves.
    moves.push_back(static_cast<double>(recorders.recorders[0].placements().size()));
  }
  const std::vector<double> stay = Column(learner.table(), "stay");
  CHECK(stay[0] == 0);
  const double excess = std::clamp((moves[0] - 1 - 2) / 2, -1.0, 1.0);
  CHECK(stay[1] == doctest::Approx(0.5 * excess));
  CHECK(Mean(moves, 200, 200) > 1.7);
  CHECK(Mean(moves, 200, 200) < 2.5);
}

TEST_CASE("over the whole search weight and rate fall with the evaluations, or planned updates") {
  const ProblemList problems = {SmallProblem()};
  PlacetoConfig config = PlainPlaceto();
  config.entropy_weight = 1;
  config.entropy_final = 0.2;
  config.optimizer.schedule.learning_rate = 0.01;
  config.optimizer.schedule.anneal_to = 0.1;
  config.optimizer.schedule.anneal_updates = 0;
  const auto check = [](const PlacetoLearner& learner, const std::vector<double>& progress) {
    const std::vector<double> weight = Column(learner.table(), "entropy_weight"),
                              rate = Column(learner.table(), "learning_rate");
    REQUIRE(weight.size() == progress.size());
    for (std::size_t i = 0; i < progress.size(); ++i) {
      CHECK(weight[i] == doctest::Approx(1 - 0.8 * progress[i]));
      CHECK(rate[i] == doctest::Approx(0.01 * (1 - 0.9 * progress[i])));
    }
  };
  Simulators simulators(problems);
  MeteredEvaluator metered(*simulators.all[0], {.evaluations = 40});
  Evaluator* evaluators[] = {&metered};
  PlacetoLearner budgeted(config, problems, 1, 1);
  std::vector<double> progress;
  while (metered.remaining() > problems[0]->num_groups()) {
    progress.push_back(static_cast<double>(metered.records().size()) / 40);
    budgeted.Update(evaluators);
  }
  REQUIRE(progress.size() > 2);
  check(budgeted, progress);

  PlacetoLearner planned(config, problems, 1, 1, 4), unknown(config, problems, 1, 1);
  for (int update = 0; update < 5; ++update) {
    planned.Update(simulators.all);
    unknown.Update(simulators.all);
  }
  check(planned, {0, 0.25, 0.5, 0.75, 1});
  check(unknown, {0, 0, 0, 0, 0});
}

// The first placement that each update evaluates for the first problem: what an episode begins
// with, unless that is the best so far.
std::vector<Placement> Firsts(PlacetoLearner& learner, const ProblemList& problems, int updates) {
  Recorders recorders(problems);
  std::vector<Placement> firsts;
  for (int update = 0; update < updates; ++update) {
    recorders.Clear();
    learner.Update(recorders.all);
    firsts.push_back(recorders.recorders[0].placements().front());
  }
  return firsts;
}

TEST_CASE("an episode begins where the setting says") {
  const ProblemList problems = {SmallProblem()};
  // start_step_time_ns of four updates
  const auto starts_of = [&](const std::string& begin, const std::vector<std::string>& start) {
    PlacetoConfig config = SmallPlaceto();
    config.episode.begin = begin;
    config.start = start;
    PlacetoLearner learner(config, problems, 1, 1);
    Simulators simulators(problems);
    for (int update = 0; update < 4; ++update) learner.Update(simulators.all);
    return Column(learner.table(), "start_step_time_ns");
  };
  const std::vector<double> fixed = starts_of("fixed", {"none"});
  CHECK(fixed == std::vector<double>(4, fixed[0]));
  const std::vector<double> redraw = starts_of("redraw", {"none"});
  CHECK(redraw[0] != redraw[1]);
  CHECK(redraw[1] != redraw[2]);
  const auto time = [&](const Placement& placement) {
    return static_cast<double>(Simulators(problems).all[0]->Evaluate(placement).step_time);
  };
  Rng rng(1);
  double best_start = kMaxNanos;
  for (const std::string name : {"heft", "contiguous", "single_gpu"}) {
    const double alone = time(MakeStarts(*problems[0], {name}, rng).front());
    CHECK(starts_of("fixed", {name}) == std::vector<double>(4, alone));
    best_start = std::min(best_start, alone);
  }
  CHECK(starts_of("fixed", {"heft", "contiguous", "single_gpu"}) ==
        std::vector<double>(4, best_start));
}

TEST_CASE("all on one GPU as a start; the best so far is not evaluated again") {
  const ProblemList problems = {SmallProblem()};
  PlacetoConfig first_gpu = SmallPlaceto();
  first_gpu.start = {"single_gpu"};
  first_gpu.episode.begin = "fixed";
  PlacetoLearner on_gpu(first_gpu, problems, 1, 1);
  const Placement single = Firsts(on_gpu, problems, 1)[0];
  for (int g = 0; g < problems[0]->num_groups(); ++g) {
    if (problems[0]->allowed(g, 1)) CHECK(single.device[g] == 1);
  }

  PlacetoLearner learner(SmallPlaceto(), problems, 1, 1);
  Recorders recorders(problems);
  std::optional<std::pair<Placement, Outcome>> best;
  for (int update = 0; update < 12; ++update) {
    recorders.Clear();
    learner.Update(recorders.all);
    const std::vector<Placement>& placements = recorders.recorders[0].placements();
    if (best) {
      CHECK(Column(learner.table(), "start_step_time_ns").back() ==
            static_cast<double>(best->second.step_time));
      CHECK((placements.front() != best->first || placements.size() == 1));
    }
    for (const Placement& placement : placements) {
      const Outcome outcome = recorders.simulators.all[0]->Evaluate(placement);
      if (!best || Better(outcome, best->second)) best = {placement, outcome};
    }
    CHECK(Column(learner.table(), "best_step_time_ns").back() ==
          static_cast<double>(best->second.step_time));
  }
}

TEST_CASE("the first episodes move parts, later ones more parts, the last ones groups") {
  // All placements are alike: no update finds a better one than the first of its level.
  ProblemBuilder builder = Gpus(2, 0);
  int last = builder.Op("op0", {5});
  for (int i = 1; i < 16; ++i) last = builder.Op("op" + std::to_string(i), {5}, {last});
  const ProblemList problems = {builder.Build()};
  PlacetoConfig config = SmallPlaceto();
  config.parts = 2;
  config.part_patience = 1;
  config.move_share = 0;
  config.patience = 0;
  config.network.stay = 0;
  // Returns, for each update, the number of sets of groups that were never apart.
  const auto sets = [&](const std::string& start) {
    config.start = {start};
    PlacetoLearner learner(config, problems, 1, 1);
    Recorders recorders(problems);
    std::vector<std::size_t> counts;
    for (int update = 0; update < 8; ++update) {
      recorders.Clear();
      learner.Update(recorders.all);
      std::set<std::vector<DeviceIndex>> rows;
      for (int g = 0; g < 16; ++g) {
        std::vector<DeviceIndex> row;
        for (const Placement& placement : recorders.recorders[0].placements()) {
          row.push_back(placement.device[g]);
        }
        rows.insert(row);
      }
      counts.push_back(rows.size());
    }
    return counts;
  };
  // Updates 0 and 1 are of 2 parts, 2 and 3 of 8, the others of 16 groups.
  const std::vector<std::size_t> parts = sets("none");
  CHECK(std::max(parts[0], parts[1]) <= 2);
  CHECK(std::max(parts[2], parts[3]) <= 8);
  CHECK(std::max(parts[2], parts[3]) > 2);
  CHECK(*std::max_element(parts.begin() + 4, parts.end()) > 8);
  // A start that is no placement of the parts.
  CHECK(sets("heft")[0] > 2);

  // The last episodes of the most probable choices pass the levels that remain, and the best
  // placement is evaluated last.
  config.start = {"none"};
  PlacetoLearner learner(config, problems, 1, 1);
  Recorders recorders(problems);
  learner.Finish(*recorders.all[0]);
  CHECK(Column(learner.table(), "greedy").size() >= 3);
  const std::vector<Placement>& placements = recorders.recorders[0].placements();
  CHECK(Column(learner.table(), "evaluations").back() + 1 ==
        static_cast<double>(placements.size()));
  CHECK(static_cast<double>(recorders.simulators.all[0]->Evaluate(placements.back()).step_time) ==
        Column(learner.table(), "best_step_time_ns").back());
}

TEST_CASE("without learning the episodes are drawn and the parameters stay") {
  const ProblemList problems = {SmallProblem()};
  PlacetoConfig config = SmallPlaceto();
  config.learn = false;
  PlacetoLearner learner(config, problems, 1, 1);
  std::vector<Matrix> before;
  for (const Parameter& parameter : learner.parameters().all()) before.push_back(parameter.value);
  Recorders recorders(problems);
  for (int update = 0; update < 4; ++update) learner.Update(recorders.all);
  CHECK(recorders.recorders[0].placements().size() >= 4);
  CHECK(std::isnan(Column(learner.table(), "loss").back()));
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK(learner.parameters().all()[i].value == before[i]);
  }
}

// A chain of twelve groups whose placements all take the same time.
std::shared_ptr<const Problem> Alike() {
  ProblemBuilder builder = Gpus(2, 0);
  int last = builder.Op("op0", {5});
  for (int i = 1; i < 12; ++i) last = builder.Op("op" + std::to_string(i), {5}, {last});
  return builder.Build();
}

/// Returns the number of groups that are on different devices.
int Differ(const Placement& a, const Placement& b) {
  int count = 0;
  for (std::size_t g = 0; g < a.device.size(); ++g) count += a.device[g] != b.device[g];
  return count;
}

TEST_CASE("without patience the policy stays and the graph gets another start") {
  const ProblemList problems = {Alike()};
  PlacetoConfig config = SmallPlaceto();
  config.parts = 0;
  config.patience = 0;
  config.part_patience = 2;
  config.learn = false;
  PlacetoLearner learner(config, problems, 1, 1);
  const std::vector<Placement> firsts = Firsts(learner, problems, 5);
  const auto differ = [&](int a, int b) { return Differ(firsts[a], firsts[b]); };
  // Update 0 has the first best, updates 1 and 2 find nothing better.
  CHECK(differ(1, 0) <= 1);
  CHECK(differ(2, 0) <= 1);
  CHECK(differ(3, 0) > 1);
  CHECK(differ(4, 3) <= 1);
  CHECK(Column(learner.table(), "restarts") == std::vector<double>{0, 0, 0, 0, 0});
}

TEST_CASE("it restarts from its best; when that got no better, from one device, then at random") {
  const ProblemList problems = {Alike()};
  PlacetoConfig config = SmallPlaceto();
  config.patience = 1;
  PlacetoLearner learner(config, problems, 1, 1);
  const std::vector<Placement> firsts = Firsts(learner, problems, 8);
  // Groups that are elsewhere. One at most where the episode begins with a placement that is known.
  const auto differ = [&](int a, int b) { return Differ(firsts[a], firsts[b]); };
  // Update 0 has the first best. A restart before update 2 goes on from there; nothing better was
  // found before the one before update 3.
  CHECK(Column(learner.table(), "restarts") == std::vector<double>{0, 0, 1, 2, 2, 3, 4, 4});
  CHECK(differ(1, 0) <= 1);
  CHECK(differ(2, 0) <= 1);
  CHECK(differ(3, 0) > 1);
  CHECK(differ(4, 3) <= 1);
  CHECK(differ(5, 3) <= 1);
  CHECK(firsts[3] == Placement{std::vector<DeviceIndex>(12, firsts[3].device[0])});
  CHECK(differ(6, 3) > 1);
  CHECK(differ(7, 6) <= 1);
}

TEST_CASE("a greedy episode draws nothing and learns nothing") {
  const ProblemList problems = {SmallProblem()};
  PlacetoLearner learner(PlainPlaceto(), problems, 1, 1);  // begins with one placement each time
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
  CHECK(episodes[0] == episodes[1]);
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
    if (update == 0) CHECK(last("start_step_time_ns") == time(placements.front()));
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

TEST_CASE("a learner with effects and all actions continues from its state") {
  const ProblemList problems = {SmallProblem()};
  PlacetoConfig config = SmallPlaceto();
  config.network.features = {.devices = "scored", .effects = true};
  config.episode.reward = "all_actions";
  config.episode.undo = true;
  PlacetoLearner saved(config, problems, 1, 1), resumed(config, problems, 2, 1);
  Simulators simulators(problems);
  for (int update = 0; update < 3; ++update) saved.Update(simulators.all);
  Load(resumed, problems, Saved(saved, problems));
  for (PlacetoLearner* learner : {&saved, &resumed}) learner->Update(simulators.all);
  CHECK(Saved(resumed, problems) == Saved(saved, problems));
}

TEST_CASE("a state with more episodes than the baseline takes is refused") {
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
  PlacetoConfig few = config;
  few.baseline_episodes = 3;
  CHECK(refusal(few, state).find("expected a number of episodes from 0 to 3, got 5") !=
        std::string::npos);
}

TEST_CASE("settings that make no sense are refused with their key") {
  const auto refusal = [](const auto& change) {
    PlacetoConfig config;
    change(config);
    return MessageOf<SettingError>([&] { PlacetoLearner(config, {SmallProblem()}, 1, 1); });
  };
  CHECK(refusal([](auto& c) {
          c.episode.begin = "redraw";
          c.start = {"heft"};
        }) ==
        "episode.begin: redraw needs start: [none] or [random]; other starts are the same each "
        "time");
  CHECK(refusal([](auto& c) { c.restart = {}; }).find("restart: ") == 0);
  CHECK(refusal([](auto& c) { c.network.features = {.devices = "one_hot", .effects = true}; }) ==
        "features.effects: expected false with devices: one_hot, got true");
  CHECK(refusal([](auto& c) {
          c.network.features = {.devices = "scored", .device_costs = true};
        }) == "features.device_costs: expected false with devices: scored, got true");
}

TEST_CASE("one policy needs one number of devices, unless they are scored") {
  const ProblemList differ = {SmallProblem(2), SmallProblem(3)};
  CHECK(MessageOf<InputError>([&] { PlacetoLearner(SmallPlaceto(), differ, 1, 1); }) ==
        "placeto: graph \"test_graph\" has 4 devices to choose from, graph \"test_graph\" has 3; "
        "one policy needs the same number, unless features.devices is \"scored\"");
  PlacetoConfig scored = SmallPlaceto();
  scored.network.features.devices = "scored";
  PlacetoLearner learner(scored, differ, 1, 1);
  Simulators simulators(differ);
  learner.Update(simulators.all);
  CHECK(learner.updates() == 1);
}

}  // namespace
