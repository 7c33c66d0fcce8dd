// Hill climbing by ranked moves, with and without the network.

#include "agents/learned_local_search/ranked_search.h"

#include <algorithm>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "agents/learned_local_search/learned_local_search_config.h"
#include "tests/support/learning_agents.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

/// Settings for small problems: the search begins at one device, and steps and levels are short.
LearnedLocalSearchConfig FewEvaluations(const char* ranking = "network") {
  LearnedLocalSearchConfig config;
  config.start = {"single"};
  config.ranking = ranking;
  config.pool = 16;
  config.tries = 6;
  config.patience = 30;
  config.coarsest = 4;
  config.effort = 16;
  return config;
}

struct DefaultRanked : RankedSearch {
  using Config = LearnedLocalSearchConfig;
  DefaultRanked(const AgentContext& context, const LearnedLocalSearchConfig& config)
      : RankedSearch(context,
                     config,
                     config.ranking == "none" ? nullptr : MoveScorer::Read(config.policy)) {}
};

TEST_CASE("saved and restored at any step it resumes bit for bit") {
  const auto problem = SmallProblem();
  const auto simulator = MakeSimulator(problem, {});
  for (const char* ranking : {"network", "none"}) {
    DefaultRanked agent({problem, 3}, FewEvaluations(ranking));
    for (int step = 0; step < 60; ++step) {
      DefaultRanked restored({problem, 1234}, FewEvaluations(ranking));
      LoadFrom(restored, Saved(agent));
      agent.Step(*simulator);
      restored.Step(*simulator);
      CHECK(Saved(restored) == Saved(agent));
    }
  }
}

// A network that knows one feature, by how much work the aim has: mean load of the aims of the
// moves that are tried, relative to the step.
double MeanLoadOfAims(float weight, double explore = 0) {
  const auto problem = SmallProblem(4, 40);
  Rng rng(1);
  auto scorer = std::make_shared<MoveScorer>(rng);
  for (Parameter& parameter : scorer->parameters().all()) {
    parameter.value.setZero();
    if (parameter.name == "first.weights") {
      const auto& names = MoveFeatures::Names();
      parameter.value(std::ranges::find(names, std::string("load of its aim")) - names.begin(), 0) =
          1;
    }
    if (parameter.name == "second.weights") parameter.value(0, 0) = 1;
    if (parameter.name == "last.weights") parameter.value(0, 0) = weight;
  }
  LearnedLocalSearchConfig config = FewEvaluations();
  config.temperature = 0;
  config.explore = explore;
  config.tries = config.batch = 1;
  config.windows = config.lists = 0;
  config.moves = {.single = 1, .swap = 0, .neighbors = 0, .block = 0, .toward_neighbors = 0};
  RankedSearch agent({problem, 1}, config, scorer);
  const auto simulator = MakeSimulator(problem, {});
  RecordingEvaluator recording(*simulator);
  agent.Step(recording);
  double sum = 0;
  int moves = 0;
  constexpr int kSteps = 40;
  for (int step = 0; step < kSteps; ++step) {
    const std::size_t first = recording.placements().size();
    agent.Step(recording);
    const auto& placements = recording.placements();
    const Placement& from = placements[first];
    const Outcome outcome = simulator->Evaluate(from);
    for (std::size_t i = first + 1; i < placements.size(); ++i) {
      for (int g = 0; g < problem->num_groups(); ++g) {
        const int aim = placements[i].device[g];
        if (aim == from.device[g]) continue;
        sum +=
            static_cast<double>(outcome.devices[aim].busy) / static_cast<double>(outcome.step_time);
        ++moves;
      }
    }
  }
  return sum / moves;
}

TEST_CASE("the moves that the network ranks first are tried first") {
  CHECK(MeanLoadOfAims(1) > 2 * MeanLoadOfAims(-1));
}

TEST_CASE("where they find nothing better others are tried, too") {
  CHECK(MeanLoadOfAims(-1, 1) > 1.25 * MeanLoadOfAims(-1, 0));
}

TEST_CASE("a schedule serves four pools, fewer if the placement changes") {
  LearnedLocalSearchConfig config = FewEvaluations();
  config.tries = config.batch = 1;
  config.patience = 100000;
  const auto problem = SmallProblem(4, 40);
  DefaultRanked agent({problem, 1}, config);
  const auto simulator = MakeSimulator(problem, {});
  RecordingEvaluator recording(*simulator);
  agent.Step(recording);
  std::set<std::size_t> evaluated;  // in a step: the schedule and a move of each pool; 1: a restart
  for (int step = 0; step < 400; ++step) {
    const std::size_t first = recording.placements().size();
    agent.Step(recording);
    evaluated.insert(recording.placements().size() - first);
  }
  CHECK(evaluated.contains(2));
  CHECK(*evaluated.rbegin() == 5);
}

// The largest numbers of groups that move and of devices that they go to, over all that is tried in
// some steps.
struct Widest {
  int groups = 0, aims = 0;
};
Widest WidestOf(double windows, double lists) {
  LearnedLocalSearchConfig config = FewEvaluations();
  config.start = {"random"};
  config.windows = windows;
  config.lists = lists;
  config.batch = config.tries;  // all of a step change one placement
  config.patience = 100000;     // no restart, which would move many
  config.moves = {.single = 1, .swap = 0, .neighbors = 0, .block = 0, .toward_neighbors = 0};
  const auto problem = SmallProblem(3, 40);
  DefaultRanked agent({problem, 1}, config);
  const auto simulator = MakeSimulator(problem, {});
  RecordingEvaluator recording(*simulator);
  agent.Step(recording);
  Widest widest;
  for (int step = 0; step < 20; ++step) {
    const std::size_t first = recording.placements().size();
    agent.Step(recording);
    const auto& placements = recording.placements();
    for (std::size_t i = first + 1; i < placements.size(); ++i) {
      std::set<int> aims;
      int groups = 0;
      for (int g = 0; g < problem->num_groups(); ++g) {
        if (placements[i].device[g] == placements[first].device[g]) continue;
        aims.insert(placements[i].device[g]);
        ++groups;
      }
      widest.groups = std::max(widest.groups, groups);
      widest.aims = std::max(widest.aims, static_cast<int>(aims.size()));
    }
  }
  return widest;
}

TEST_CASE("windows of the schedule go to one device, those of list scheduling to several") {
  const Widest moves = WidestOf(0, 0), windows = WidestOf(1, 0), lists = WidestOf(0, 1);
  CHECK(moves.groups == 1);
  CHECK(windows.groups > 4);
  CHECK(windows.aims == 1);
  CHECK(lists.groups > 4);
  CHECK(lists.aims > 1);
}

}  // namespace
