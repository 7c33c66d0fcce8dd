#include "agents/post/post_agent.h"

#include <cmath>
#include <limits>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/policy_gradient/learner_state.h"
#include "framework/base/error.h"
#include "simulator/simulator.h"
#include "tests/agents/post/plain_post.h"
#include "tests/support/agent_contract.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"
#include "tests/support/toy_problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

const std::vector<std::string> kMethods = {"joint", "ce_only", "ppo_only"};

std::shared_ptr<const Problem> SmallProblem(std::int64_t memory = kUnlimitedMemory) {
  Rng rng(3);
  return MixedProblem(rng, 16, 2, memory);
}

/// K = 4, N = 12, plain descent, nothing beyond the paper.
PostConfig SmallConfig() {
  PostConfig config;
  config.normalize_advantages = false;
  config.sharing = 0;
  config.patience = 0;
  config.cross_entropy.step = 1;
  config.cross_entropy.keep_elites = false;
  config.cross_entropy.epsilon = 0.5;
  config.ppo.kl_target = 0.03;
  config.ppo_samples = 4;
  config.cross_entropy.samples = 12;
  config.cross_entropy.elite_share = 0.25;
  config.cross_entropy.epsilon_samples = 100;
  config.optimizer.method = "sgd";
  config.optimizer.clip_norm = 0;
  return config;
}

double Cell(const UpdateTable& table, std::int64_t row, const std::string& name) {
  const auto column = std::find(table.columns.begin(), table.columns.end(), name);
  REQUIRE(column != table.columns.end());
  return table.values[row * std::ssize(table.columns) + (column - table.columns.begin())];
}

std::vector<double> Column(const UpdateTable& table, const std::string& name) {
  std::vector<double> column;
  for (std::int64_t row = 0; row < table.num_rows(); ++row)
    column.push_back(Cell(table, row, name));
  return column;
}

std::string Saved(const Agent& agent) {
  std::ostringstream out;
  agent.Save(out);
  return out.str();
}

/// The logits in a saved state.
Matrix Logits(const std::string& state, const Problem& problem, const PostConfig& config) {
  std::istringstream in(state);
  StateReader reader(in, "post", problem);
  Rng rng;
  reader.Int("finished");
  reader.Generator(rng);
  ParameterSet parameters;
  const PostPolicy policy(problem, parameters, 0);
  Optimizer optimizer(config.optimizer, parameters, "optimizer");
  LoadLearner(reader, parameters, optimizer);
  return parameters.all()[0].value;
}

TEST_CASE("it finds the optimum of every toy problem with every seed") {
  constexpr int kEvaluations = 2400;
  for (const ToyProblem& toy : ToyProblems()) {
    CAPTURE(toy.name);
    for (std::uint64_t seed = 1; seed <= 10 * EMPLACE_TEST_SCALE; ++seed) {
      CAPTURE(seed);
      PostAgent agent({toy.problem, seed}, {});
      const std::unique_ptr<Evaluator> simulator = MakeSimulator(toy.problem, {});
      MeteredEvaluator metered(*simulator, {.evaluations = kEvaluations});
      const auto reached = [&] {
        return metered.best() && metered.best()->outcome.step_time == toy.optimum;
      };
      while (!reached() && metered.remaining() > 0) agent.Step(metered);
      REQUIRE(metered.best());
      CHECK(metered.best()->outcome.step_time == toy.optimum);
    }
  }
}

TEST_CASE("every variant learns: later placements are better than those of the beginning") {
  const ToyProblem toy = Star();
  for (const std::string& method : kMethods) {
    CAPTURE(method);
    PostConfig config;
    config.method = method;
    config.patience = 0;  // a restart would unlearn it
    PostAgent agent({toy.problem, 1}, config);
    RunAgent(agent, toy.problem, 2400);
    const std::vector<double> cost = Column(*agent.updates(), "mean_cost");
    // sqrt of 0.1 s and more while readers are on the slow device, 0.055 s at best
    CHECK(cost.front() > 0.3);
    CHECK(cost.back() < 0.27);
  }
}

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
      if (!plain.Take(placement, simulator->Evaluate(placement))) continue;
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
      if (Cell(*agent.updates(), updates, "phase") == 0) {
        CHECK(Cell(*agent.updates(), updates, "kl") ==
              doctest::Approx(plain.kl()).epsilon(1e-2).scale(1e-2));
        if (config.ppo.penalty == "kl") {
          CHECK(Cell(*agent.updates(), updates, "kl_weight") == plain.beta());
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
      rows.emplace_back(Cell(*agent.updates(), row, "evaluations"),
                        Cell(*agent.updates(), row, "phase"));
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
    PostAgent pieces({problem, 1}, config), whole({problem, 1}, config);
    std::int64_t drawn = 0;
    RecordingEvaluator recording(*simulator);
    for (std::int64_t piece = 1; drawn < 60; piece = piece % 5 + 1) {
      MeteredEvaluator metered(recording, {.evaluations = piece});
      while (metered.remaining() > 0) {
        pieces.Step(metered);
        PostAgent restored({problem, 9}, config);  // also between two updates
        std::istringstream in(Saved(pieces));
        restored.Load(in);
        CHECK(Saved(restored) == Saved(pieces));
      }
      drawn += piece;
    }
    const SearchTrace trace = RunAgent(whole, problem, drawn);
    CHECK(recording.placements() == trace.placements);
    CHECK(trace.states.back() == Saved(pieces));
  }
}

TEST_CASE("one evaluation is one placement and no update") {
  const auto problem = SmallProblem();
  PostAgent agent({problem, 1}, {});
  const SearchTrace trace = RunAgent(agent, problem, 1);
  CHECK(trace.placements.size() == 1);
  CHECK(agent.updates()->num_rows() == 0);
}

TEST_CASE("saved and restored at any step, all options on, it goes on bit for bit") {
  const auto problem = SmallProblem();
  for (const std::string& method : kMethods) {
    PostConfig config = SmallConfig();
    config.method = method;
    config.optimizer.method = "adam";
    config.normalize_advantages = true;
    config.cross_entropy.keep_elites = true;
    config.patience = 20;
    PostAgent agent({problem, 4}, config);
    const SearchTrace trace = RunAgent(agent, problem, 240);
    CHECK(Column(*agent.updates(), "restarts").back() > 0);
    for (std::size_t step = 0; step < trace.states.size(); step += 3) {
      PostAgent restored({problem, 6}, config);
      std::istringstream in(trace.states[step]);
      restored.Load(in);
      const int period = method == "ce_only" ? 12 : 4;
      const SearchTrace rest =
          RunAgent(restored, problem, 240 - (static_cast<int>(step) + 1) * period + 1);
      CHECK(rest.states[trace.states.size() - step - 2 + (step + 1 == trace.states.size())] ==
            (step + 1 == trace.states.size() ? rest.states[0] : trace.states.back()));
    }
  }
}

TEST_CASE("after placements without a better one it begins anew from uniform distributions") {
  const auto problem = SmallProblem();
  PostConfig config = SmallConfig();
  config.patience = 24;
  PostAgent agent({problem, 1}, config);
  const SearchTrace trace = RunAgent(agent, problem, 1200);
  const std::vector<double> restarts = Column(*agent.updates(), "restarts");
  const std::vector<double> entropy = Column(*agent.updates(), "entropy");
  const std::vector<double> best = Column(*agent.updates(), "best_step_time_ns");
  CHECK(restarts.back() > 3);
  for (std::size_t row = 1; row < restarts.size(); ++row) {
    if (restarts[row] == restarts[row - 1]) {
      CHECK(best[row] <= best[row - 1]);
      continue;
    }
    CHECK(Logits(trace.states[row - 1], *problem, config).isZero());
    CHECK(entropy[row] == entropy[0]);
  }
  config.patience = 0;
  PostAgent patient({problem, 1}, config);
  RunAgent(patient, problem, 1200);
  CHECK(Column(*patient.updates(), "restarts").back() == 0);
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
    times.push_back(static_cast<double>(simulator->Evaluate(placement).step_time));
  }
  const auto mean = [&](int begin) {
    return (times[begin] + times[begin + 1] + times[begin + 2] + times[begin + 3]) / 4 * 1e-9;
  };
  for (int row = 0; row < 3; ++row) {
    CHECK(Cell(table, row, "mean_cost") == doctest::Approx(mean(4 * row)));
    CHECK(Cell(table, row, "feasible") == 1);
    CHECK(Cell(table, row, "best_step_time_ns") ==
          *std::min_element(times.begin(), times.begin() + 4 * row + 4));
  }
  CHECK(Cell(table, 0, "baseline") == doctest::Approx(mean(0)));
  CHECK(Cell(table, 1, "baseline") == doctest::Approx(0.9 * mean(0) + 0.1 * mean(4)));
  std::sort(times.begin(), times.end());
  CHECK(Cell(table, 2, "elite_time_ns") == times[2]);  // a quarter of 12
  CHECK(Cell(table, 2, "epsilon") == doctest::Approx(config.cross_entropy.epsilon * 0.88));
  CHECK(std::isnan(Cell(table, 2, "kl")));
  CHECK(std::isnan(Cell(table, 2, "kl_weight")));
  CHECK(std::isnan(Cell(table, 0, "elite_time_ns")));
  CHECK(std::isnan(Cell(table, 0, "epsilon")));
  CHECK(Cell(table, 0, "kl") > -1e-6);
  CHECK(Cell(table, 0, "kl_weight") == 0.5);  // so small a step stays below the target
}

// Everything costs the same, so that all are elites: counts of all 12, not of the first three.
TEST_CASE("all placements that tie with the quantile are elites") {
  ProblemBuilder builder;
  for (int d = 0; d < 2; ++d) builder.Device("gpu:" + std::to_string(d));
  builder.AllToAll(0, kGigabytePerSecond);
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

TEST_CASE("where no group has a choice it evaluates the only placement and ends") {
  ProblemBuilder builder;
  builder.Device("gpu:0");
  builder.Device("gpu:1");
  builder.AllToAll(1, kGigabytePerSecond);
  builder.Op("a", {kMaxNanos, 5});
  builder.Op("b", {5, kMaxNanos});
  const auto problem = builder.Build();
  PostAgent agent({problem, 1}, {});
  const SearchTrace trace = RunAgent(agent, problem, 10);
  CHECK(trace.finished);
  CHECK(trace.placements == std::vector<Placement>{{{1, 0}}});
  CHECK(agent.updates()->num_rows() == 0);
  PostAgent restored({problem, 2}, {});
  std::istringstream in(trace.states.back());
  restored.Load(in);
  CHECK(restored.Finished());
}

TEST_CASE("what nothing fits ends with the budget") {
  const auto problem = SmallProblem(1);
  for (const std::string& method : kMethods) {
    PostConfig config = SmallConfig();
    config.method = method;
    config.normalize_advantages = true;
    PostAgent agent({problem, 1}, config);
    const SearchTrace trace = RunAgent(agent, problem, 60);
    CHECK(trace.placements.size() == 60);
    CHECK_FALSE(trace.best.outcome.feasible);
    for (double feasible : Column(*agent.updates(), "feasible")) CHECK(feasible == 0);
    for (double time : Column(*agent.updates(), "best_step_time_ns")) CHECK(std::isnan(time));
    for (double time : Column(*agent.updates(), "elite_time_ns")) CHECK(std::isnan(time));
  }
}

TEST_CASE("a parameter that is not a number stops the search with update and place named") {
  const auto problem = SmallProblem();
  const PostConfig config = SmallConfig();
  PostAgent agent({problem, 1}, config);
  const std::string state = Saved(agent);
  ParameterSet parameters;
  const PostPolicy policy(*problem, parameters, 0);
  const auto written = [&] {
    std::ostringstream out;
    StateWriter(out, "post", *problem).Matrix(parameters.all()[0].value);
    const std::string text = out.str();
    return text.substr(text.find('\n') + 1);
  };
  std::string spoilt = state;
  const std::string before = written();
  parameters.all()[0].value(0, 1) = std::numeric_limits<float>::quiet_NaN();
  REQUIRE(spoilt.find(before) != std::string::npos);
  spoilt.replace(spoilt.find(before), before.size(), written());
  std::istringstream in(spoilt);
  agent.Load(in);
  const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
  CHECK(MessageOf<RunError>([&] { agent.Step(*simulator); }) ==
        fmt::format("update 0: not finite: parameter \"logits\" [{}, 3]: value",
                    policy.num_decisions()));
}

TEST_CASE("a ratio beyond all numbers stops the search with the update named") {
  PostConfig config = SmallConfig();
  config.method = "ppo_only";
  config.ratio = "placement";
  config.normalize_advantages = true;
  config.ppo.kl_weight = 0;
  config.optimizer.schedule.learning_rate = 1e6;
  config.ppo_samples = 2;  // the better one is all that counts
  Rng rng(7);              // about 300 groups on two or three devices: far beyond 1e38
  const auto problem = MixedProblem(rng, 600, 2, kUnlimitedMemory);
  PostAgent agent({problem, 1}, config);
  const std::string message = MessageOf<RunError>([&] { RunAgent(agent, problem, 400); });
  CAPTURE(message);
  CHECK(message.find("update ") == 0);
  CHECK(message.find(": not finite: ") != std::string::npos);
}

TEST_CASE("settings out of range are refused by key, value and choices") {
  const auto refusal = [](const auto& change) {
    PostConfig config;
    change(config);
    return MessageOf<InputError>([&] { PostAgent({SmallProblem(), 1}, config); });
  };
  CHECK(refusal([](auto& c) { c.method = "both"; }) ==
        "method: expected \"ce_only\", \"joint\", \"ppo_only\", got \"both\"");
  CHECK(refusal([](auto& c) { c.ratio = "group"; }) ==
        "ppo.ratio: expected \"decision\", \"placement\", got \"group\"");
  CHECK(refusal([](auto& c) { c.ppo_samples = 0; }) ==
        "ppo.samples: expected a number from 1 to 1000000, got 0");
  CHECK(refusal([](auto& c) { c.cross_entropy.samples = 0; }) ==
        "cross_entropy.samples: expected a number from 1 to 1000000, got 0");
  CHECK(refusal([](auto& c) { c.cross_entropy.elite_share = 1.5; }) ==
        "cross_entropy.elite_share: expected a number from 0 to 1, got 1.5");
  CHECK(refusal([](auto& c) { c.cross_entropy.epsilon = -0.5; }) ==
        "cross_entropy.epsilon: expected a number from 0 to 1, got -0.5");
  CHECK(refusal([](auto& c) { c.cross_entropy.epsilon_samples = 0; }) ==
        "cross_entropy.epsilon_samples: expected a number from 1 to 1000000000, got 0");
  CHECK(refusal([](auto& c) { c.cross_entropy.step = 2; }) ==
        "cross_entropy.step: expected a number from 0 to 1, got 2");
  CHECK(refusal([](auto& c) { c.patience = -1; }) ==
        "patience: expected a number of at least 0, got -1");
  CHECK(refusal([](auto& c) { c.ppo.penalty = "trust"; }).find("ppo.penalty: ") == 0);
  CHECK(refusal([](auto& c) { c.reward.transform = "cube"; }).find("reward.transform: ") == 0);
  CHECK(refusal([](auto& c) { c.baseline.method = "cube"; }).find("baseline.method: ") == 0);
  CHECK(refusal([](auto& c) { c.optimizer.method = "cube"; }).find("optimizer.method: ") == 0);
}

}  // namespace
