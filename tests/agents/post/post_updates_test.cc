// What updates do, and when: PostAgent against plain loops and hand calculations.

#include <cmath>

#include <doctest/doctest.h>

#include "agents/post/post_agent.h"
#include "simulator/simulator.h"
#include "tests/agents/post/plain_post.h"
#include "tests/agents/post/small_post.h"
#include "tests/support/states.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("updates are those of plain double loops") {
  const auto check = [](const PostConfig& config) {
    CAPTURE(config.method);
    CAPTURE(config.ratio);
    CAPTURE(config.ppo.penalty);
    const auto problem = SmallProblem();
    PostAgent agent({problem, 5}, config);
    const SearchTrace trace = RunAgent(agent, problem, 96);
    PlainPost plain(config, *problem);
    const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
    std::size_t updates = 0;
    for (const Placement& placement : trace.placements) {
      if (!plain.Take(placement, simulator->ScoreAt(placement))) continue;
      const Matrix logits = Logits(trace.states[updates], *problem, config);
      const auto& expected = plain.u();
      REQUIRE(logits.rows() == std::ssize(expected));
      for (int m = 0; m < logits.rows(); ++m) {
        for (int d = 0; d < logits.cols(); ++d) {
          if (!(expected[m][d] == 0 && logits(m, d) == 0)) {
            CHECK(logits(m, d) == doctest::Approx(expected[m][d]).epsilon(1e-3).scale(1));
          }
        }
      }
      if (Column(*agent.updates(), "phase")[updates] == 0) {
        CHECK(Column(*agent.updates(), "kl")[updates] ==
              doctest::Approx(plain.kl()).epsilon(1e-2).scale(1e-2));
        if (config.ppo.penalty == "kl") {
          CHECK(Column(*agent.updates(), "kl_weight")[updates] == plain.beta());
        }
      }
      ++updates;
    }
    CHECK(updates == trace.states.size());
  };
  for (const std::string& method : kMethods) {
    for (const char* ratio : {"decision", "placement"}) {
      for (const char* penalty : {"kl", "clip"}) {
        PostConfig config = SmallConfig();
        config.method = method;
        config.ratio = ratio;
        config.ppo.penalty = penalty;
        config.normalize_advantages = true;
        config.optimizer.schedule.learning_rate = ratio == std::string("decision") ? 1 : 0.1;
        check(config);
      }
    }
  }
  PostConfig config = SmallConfig();
  config.normalize_advantages = false;
  config.reward.transform = "identity";
  config.cross_entropy.keep_elites = true;
  config.cross_entropy.step = 0.5;
  config.ppo.penalty = "clip";
  config.optimizer.schedule.learning_rate = 1e6;  // step times are microseconds
  check(config);
}

TEST_CASE("updates come at the multiples of K and N, cross-entropy where they meet") {
  const auto phases = [](const PostConfig& config, std::int64_t evaluations) {
    const auto problem = SmallProblem();
    PostAgent agent({problem, 1}, config);
    RunAgent(agent, problem, evaluations);
    std::vector<std::pair<double, double>> rows;
    for (std::int64_t row = 0; row < agent.updates()->num_rows(); ++row) {
      rows.emplace_back(Column(*agent.updates(), "evaluations")[row],
                        Column(*agent.updates(), "phase")[row]);
    }
    return rows;
  };
  using Rows = std::vector<std::pair<double, double>>;
  PostConfig config = SmallConfig();
  CHECK(phases(config, 27) == Rows{{4, 0}, {8, 0}, {12, 1}, {16, 0}, {20, 0}, {24, 1}});
  config.method = "ce_only";
  CHECK(phases(config, 27) == Rows{{12, 1}, {24, 1}});
  config.method = "ppo_only";
  CHECK(phases(config, 14) == Rows{{4, 0}, {8, 0}, {12, 0}});
  config.method = "joint";
  config.ppo_samples = 5;  // does not divide N
  CHECK(phases(config, 24) == Rows{{5, 0}, {10, 0}, {12, 1}, {15, 0}, {20, 0}, {24, 1}});
  config.cross_entropy.samples = 1000;  // not reached
  CHECK(phases(config, 12) == Rows{{5, 0}, {10, 0}});
}

TEST_CASE("with `mode` the last of N placements is the most likely one") {
  ProblemBuilder builder = Gpus(3, 0);
  for (const char* op : {"a", "b", "c", "d", "e"}) builder.Op(op, {5, 3, 4});
  const auto problem = builder.Build();
  PostConfig config = SmallConfig();
  const auto drawn = [&] {
    PostAgent agent({problem, 3}, config);
    return RunAgent(agent, problem, 36);
  };
  const SearchTrace without = drawn();
  config.cross_entropy.mode = true;
  const SearchTrace with = drawn();
  for (int end : {12, 24, 36}) {  // the update before is that after end - 4 placements
    const Matrix logits = Logits(with.states[end / 4 - 2], *problem, config);
    for (int group = 0; group < problem->num_groups(); ++group) {
      const float most = logits.row(group).maxCoeff();
      CHECK(logits(group, with.placements[end - 1].device[group]) >= most - 1e-5);
    }
  }
  CHECK(with.placements[10] == without.placements[10]);
  CHECK(with.placements[11] != without.placements[11]);
}

TEST_CASE("epsilon falls linearly with the placements, to 0") {
  PostConfig config = SmallConfig();
  config.method = "ce_only";
  config.cross_entropy.epsilon = 0.5;
  config.cross_entropy.epsilon_samples = 30;
  const auto problem = SmallProblem();
  PostAgent agent({problem, 1}, config);
  RunAgent(agent, problem, 48);
  const std::vector<double> epsilon = Column(*agent.updates(), "epsilon");
  REQUIRE(epsilon.size() == 4);  // after 12, 24, 36, 48
  CHECK(epsilon[0] == doctest::Approx(0.3));
  CHECK(epsilon[1] == doctest::Approx(0.1));
  CHECK(epsilon[2] == 0);
  CHECK(epsilon[3] == 0);
}

TEST_CASE("a budget that ends between two updates does not change the schedule") {
  // In pieces of 1, 2, 3, ... placements: the same updates after as many placements.
  const auto problem = SmallProblem();
  const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
  for (const std::string& method : kMethods) {
    PostConfig config = SmallConfig();
    config.method = method;
    config.cross_entropy.mode = true;
    PostAgent pieces({problem, 1}, config), whole({problem, 1}, config);
    std::int64_t drawn = 0;
    RecordingEvaluator recording(*simulator);
    for (std::int64_t piece = 1; drawn < 60; piece = piece % 5 + 1) {
      MeteredEvaluator metered(recording, {.evaluations = piece});
      while (metered.remaining() > 0) {
        pieces.Step(metered);
        PostAgent restored({problem, 9}, config);  // also between two updates
        LoadFrom(restored, Saved(pieces));
        CHECK(Saved(restored) == Saved(pieces));
      }
      drawn += piece;
    }
    const SearchTrace trace = RunAgent(whole, problem, drawn);
    CHECK(recording.placements() == trace.placements);
    CHECK(trace.states.back() == Saved(pieces));
  }
}

TEST_CASE("the table tells of each update") {
  const auto problem = SmallProblem();
  PostConfig config = SmallConfig();
  config.reward.transform = "identity";
  PostAgent agent({problem, 2}, config);
  const SearchTrace trace = RunAgent(agent, problem, 12);
  const UpdateTable& table = *agent.updates();
  REQUIRE(table.num_rows() == 3);
  const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
  std::vector<double> times;
  for (const Placement& placement : trace.placements) {
    times.push_back(static_cast<double>(simulator->ScoreAt(placement).step_time));
  }
  const auto mean = [&](int begin) {
    return (times[begin] + times[begin + 1] + times[begin + 2] + times[begin + 3]) / 4 * 1e-9;
  };
  for (int row = 0; row < 3; ++row) {
    CHECK(Column(table, "mean_cost")[row] == doctest::Approx(mean(4 * row)));
    CHECK(Column(table, "feasible")[row] == 1);
    CHECK(Column(table, "best_step_time_ns")[row] ==
          *std::min_element(times.begin(), times.begin() + 4 * row + 4));
  }
  CHECK(Column(table, "baseline")[0] == doctest::Approx(mean(0)));
  CHECK(Column(table, "baseline")[1] == doctest::Approx(0.9 * mean(0) + 0.1 * mean(4)));
  std::sort(times.begin(), times.end());
  CHECK(Column(table, "elite_time_ns")[2] == times[2]);  // a quarter of 12
  CHECK(Column(table, "epsilon")[2] == doctest::Approx(config.cross_entropy.epsilon * 0.88));
  CHECK(std::isnan(Column(table, "kl")[2]));
  CHECK(std::isnan(Column(table, "kl_weight")[2]));
  CHECK(std::isnan(Column(table, "elite_time_ns")[0]));
  CHECK(std::isnan(Column(table, "epsilon")[0]));
  CHECK(Column(table, "kl")[0] > -1e-6);
  CHECK(Column(table, "kl_weight")[0] == 0.5);  // so small a step stays below the target
}

TEST_CASE("all placements that tie with the quantile are elites") {
  ProblemBuilder builder = Gpus(2, 0);
  builder.Op("a", {5, 5});
  const auto problem = builder.Build();
  PostConfig config = SmallConfig();
  config.method = "ce_only";
  config.cross_entropy.epsilon = 0;
  config.cross_entropy.step = 1;
  config.cross_entropy.keep_elites = false;
  PostAgent agent({problem, 1}, config);
  const SearchTrace trace = RunAgent(agent, problem, 12);
  double first = 0;
  for (const Placement& placement : trace.placements) first += placement.device[0] == 0;
  const Matrix logits = Logits(trace.states.back(), *problem, config);
  CHECK(std::exp(logits(0, 0)) == doctest::Approx(first / 12));
}

}  // namespace
