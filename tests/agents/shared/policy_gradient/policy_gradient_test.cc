#include "agents/shared/policy_gradient/policy_gradient.h"

#include <cmath>

#include <doctest/doctest.h>

#include "agents/initial_placements/initial_placements.h"
#include "framework/base/error.h"
#include "framework/learn/ops.h"
#include "framework/search/meter.h"
#include "framework/search/outcome_table.h"
#include "tests/agents/shared/policy_gradient/logits_learner.h"
#include "tests/support/paths.h"
#include "tests/support/states.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// The gradient of  sum_i weight_i log p(P_i) - entropy_weight * entropy  with respect to the
// logits: d log p / d logit[g, d] = [P(g) = d] - p[g, d], d entropy / d logit[g, d] = -p[g, d] (log
// p[g, d] + entropy[g]).
void CheckGradient(const Matrix& before,
                   const Matrix& after,
                   const std::vector<Placement>& placements,
                   const std::vector<double>& weights,
                   double entropy_weight = 0) {
  const auto p = Probabilities(before);
  for (int g = 0; g < kGroups; ++g) {
    double entropy = 0;
    for (int d = 0; d < kDevices; ++d) entropy -= p[g][d] * std::log(p[g][d]);
    for (int d = 0; d < kDevices; ++d) {
      double gradient = entropy_weight * p[g][d] * (std::log(p[g][d]) + entropy);
      for (std::size_t i = 0; i < placements.size(); ++i) {
        gradient += weights[i] * ((placements[i].device[g] == d) - p[g][d]);
      }
      CHECK(after(g, d) == doctest::Approx(before(g, d) - 0.5 * gradient).epsilon(1e-5));
    }
  }
}

TEST_CASE("an update is the policy gradient with costs less baseline") {
  Learner plain(Plain());
  const Matrix before = plain.logits();
  plain.Update(kTwo);
  CheckGradient(before, plain.logits(), kTwo, {2 / 2.0, 4 / 2.0});
  CHECK(plain.tape.num_nodes() == 0);

  PolicyGradientConfig config = Plain();
  config.baseline.method = "leave_one_out";
  Learner others(config);
  others.Update(kTwo);
  CheckGradient(before, others.logits(), kTwo, {-2 / 2.0, 2 / 2.0});

  config.normalize_advantages = true;  // -2 and 2 have the root mean square 2
  Learner normalized(config);
  normalized.Update(kTwo);
  CheckGradient(before, normalized.logits(), kTwo, {-1 / 2.0, 1 / 2.0});

  config.per_decision = true;
  Learner shared(config);
  shared.Update(kTwo);
  CheckGradient(before, shared.logits(), kTwo, {-1 / 6.0, 1 / 6.0});
}

TEST_CASE("equal costs have no normalised advantage, whatever their rounding") {
  PolicyGradientConfig config = Plain();
  config.samples = 3;
  config.reward.transform = "sqrt";
  config.baseline.method = "leave_one_out";
  config.normalize_advantages = true;
  Learner learner(config);
  const Matrix before = learner.logits();
  learner.Update({{{0, 1, 0}}, {{1, 0, 0}}, {{0, 0, 1}}});  // all 2 s
  CHECK(learner.logits() == before);
}

TEST_CASE("the entropy bonus falls linearly to nothing") {
  PolicyGradientConfig config = Plain();
  config.entropy_weight = 0.8;
  config.entropy_updates = 4;
  Learner learner(config);
  for (double weight : {0.8, 0.6, 0.4, 0.2, 0.0, 0.0}) {
    const Matrix before = learner.logits();
    learner.Update(kTwo);
    CheckGradient(before, learner.logits(), kTwo, {1, 2}, weight);
  }
  config.entropy_updates = 0;
  Learner constant(config);
  for (int update = 0; update < 3; ++update) {
    const Matrix before = constant.logits();
    constant.Update(kTwo);
    CheckGradient(before, constant.logits(), kTwo, {1, 2}, 0.8);
  }
}

TEST_CASE("imitation pulls towards the best placement of earlier updates") {
  PolicyGradientConfig config = Plain();
  config.imitation_weight = 0.3;
  Learner learner(config);
  CHECK(learner.learning->ToImitate() == nullptr);
  learner.Update(kTwo);
  REQUIRE(learner.learning->ToImitate() != nullptr);
  CHECK(*learner.learning->ToImitate() == kTwo[0]);
  const Matrix before = learner.logits();
  learner.Update({{{0, 0, 0}}, {{1, 1, 1}}});  // 1 s and 4 s; -0.3 log p of the earlier best
  CheckGradient(
      before, learner.logits(), {{{0, 0, 0}}, {{1, 1, 1}}, kTwo[0]}, {1 / 2.0, 4 / 2.0, -0.3});
  CHECK(*learner.learning->ToImitate() == Placement{{0, 0, 0}});
  Learner without(Plain());
  without.Update(kTwo);
  CHECK(without.learning->ToImitate() == nullptr);
}

TEST_CASE("after some updates only placements that fit count") {
  PolicyGradientConfig config = Plain();
  config.valid_only_after = 1;
  Learner learner(config, 1);
  Matrix before = learner.logits();
  learner.Update(kTwo);  // the second does not fit: 10 s
  CheckGradient(before, learner.logits(), kTwo, {2 / 2.0, 10 / 2.0});
  CHECK(learner.Column("feasible") == 0.5);
  CHECK(learner.Column("mean_cost") == 6);
  before = learner.logits();
  learner.Update(kTwo);
  CheckGradient(before, learner.logits(), kTwo, {2, 0});
  before = learner.logits();
  learner.Update({kTwo[1], kTwo[1]});
  CHECK(learner.logits() == before);
}

TEST_CASE("the table tells of each update") {
  PolicyGradientConfig config = Plain();
  config.baseline = {.method = "moving_average", .decay = 0.5};
  Learner learner(config, 1);
  const Matrix before = learner.logits();
  const auto p = Probabilities(before);
  learner.Update({kTwo[1], kTwo[1]});
  CHECK(std::isnan(learner.Column("best_step_time_ns")));
  CHECK(learner.Column("feasible") == 0);
  learner.Update(kTwo);
  CHECK(learner.learning->updates() == 2);
  CHECK(learner.learning->table().num_rows() == 2);
  CHECK(learner.Column("evaluations") == 4);
  CHECK(learner.Column("best_step_time_ns") == 2e9);
  CHECK(learner.Column("learning_rate") == 0.5);
  CHECK(learner.Column("baseline") == 8);  // 0.5 * 10 + 0.5 * (2 + 10) / 2
  // the first update's advantages were 0: the logits are those of the beginning
  double entropy = 0, log_p0 = 0;
  for (int g = 0; g < kGroups; ++g) {
    for (int d = 0; d < kDevices; ++d) entropy -= p[g][d] * std::log(p[g][d]) / kGroups;
    log_p0 += std::log(p[g][kTwo[0].device[g]]);
  }
  CHECK(learner.Column("entropy") == doctest::Approx(entropy));
  CHECK(learner.Column("loss") == doctest::Approx((2 - 10) / 2.0 * log_p0));  // the other one: 0
  double squares = 0;
  for (int g = 0; g < kGroups; ++g) {
    for (int d = 0; d < kDevices; ++d) {
      squares += std::pow(-4 * ((kTwo[0].device[g] == d) - p[g][d]), 2);
    }
  }
  CHECK(learner.Column("gradient_norm") == doctest::Approx(std::sqrt(squares)));
}

TEST_CASE("no more placements are sampled than the budget leaves") {
  Learner learner(Plain());
  CHECK(learner.learning->BeginUpdate(learner.evaluator) == 2);
  MeteredEvaluator metered(learner.evaluator, {.evaluations = 3});
  learner.Update(kTwo, metered);
  CHECK(learner.learning->BeginUpdate(metered) == 1);
  learner.Update({kTwo[0]}, metered);
  CHECK(learner.learning->BeginUpdate(metered) == 1);
  CHECK_THROWS_AS(learner.Update({kTwo[0]}, metered), BudgetExhausted);
}

TEST_CASE("after updates without a better placement it begins anew with other weights") {
  PolicyGradientConfig config = Plain();
  config.baseline.method = "moving_average";
  config.optimizer.method = "adam";
  config.imitation_weight = 0.1;
  config.patience = 2;
  Learner learner(config), other(config);
  learner.Update(kTwo);  // better than nothing
  learner.Update(kTwo);
  CHECK_FALSE(learner.learning->Stale());
  learner.Update(kTwo);
  CHECK(learner.learning->Stale());
  learner.Update({{{0, 0, 0}}, {{1, 1, 1}}});  // better
  CHECK_FALSE(learner.learning->Stale());

  learner.learning->Restart(other.parameters);
  CHECK(learner.logits() == other.logits());
  CHECK(learner.learning->updates() == 0);
  CHECK(learner.learning->ToImitate() == nullptr);
  for (int update = 0; update < 3; ++update) {  // as one that has never learned
    CHECK_FALSE(learner.learning->Stale());
    learner.Update(kTwo);
    other.Update(kTwo);
    CHECK(learner.logits() == other.logits());
  }
  CHECK(learner.learning->Stale());
  CHECK(learner.learning->table().num_rows() == 7);
  CHECK(learner.Column("restarts") == 1);
  CHECK(learner.Column("evaluations") == 14);

  config.patience = 0;
  Learner patient(config);
  for (int update = 0; update < 20; ++update) patient.Update(kTwo);
  CHECK_FALSE(patient.learning->Stale());
}

TEST_CASE("there is no restart before the plan of the entropy has come to its end") {
  PolicyGradientConfig config = Plain();
  config.patience = 1;
  config.entropy_weight = 1;
  config.entropy_control = {.begin = 1, .end = 0.01, .updates = 100, .share = 0.5, .rate = 0.1};
  Learner learner(config);
  // 2 of 20 evaluations an update: 10 updates, of which the plan takes 5.
  MeteredEvaluator metered(learner.evaluator, {.evaluations = 20});
  for (int update = 0; update < 5; ++update) {
    learner.learning->BeginUpdate(metered);
    CHECK_FALSE(learner.learning->Stale());
    learner.Update(kTwo, metered);
  }
  CHECK(learner.learning->Stale());
}

TEST_CASE("it begins from the best start, pulled to it, after every restart again") {
  PolicyGradientConfig config = Plain();
  config.imitation_weight = 0.1;
  config.patience = 2;
  config.start = {.names = {"random", "random", "random"}, .probability = 0.95, .steps = 1000};
  Learner learner(config), other(config);
  PolicyGradient& learning = *learner.learning;
  REQUIRE(learning.MustBegin());
  CHECK(learning.start() == nullptr);
  Rng rng(1), same(1);
  learning.Begin(learner.evaluator, rng, {});
  CHECK_FALSE(learning.MustBegin());
  REQUIRE(learning.start() != nullptr);
  const Placement start = *learning.start();
  const auto drawn = MakeStarts(*learner.problem, config.start.names, same);
  const std::vector<Score> scores = learner.evaluator.Scores(drawn);
  CHECK(start == drawn[IndexOfBest(scores)]);
  CHECK(*learning.ToImitate() == start);

  const auto mean_probability = [&] {
    const auto p = Probabilities(learner.logits());
    double product = 1;
    for (int g = 0; g < kGroups; ++g) product *= p[g][start.device[g]];
    return std::cbrt(product);
  };
  const auto pull = [&] {
    learning.PullToStart(learner.tape, [&](Tape&) { return learner.Score({start}); });
  };
  CHECK(mean_probability() < 0.9);
  pull();
  CHECK(mean_probability() >= 0.95);
  CHECK(mean_probability() < 0.96);
  CHECK(learning.updates() == 0);
  CHECK(learning.table().num_rows() == 0);
  CHECK(learner.tape.num_nodes() == 0);

  learner.Update({{{1, 1, 1}}, {{1, 1, 1}}});
  CHECK(learner.Column("evaluations") == 5);
  CHECK(learner.Column("best_step_time_ns") == scores[IndexOfBest(scores)].step_time);
  learner.Update({{{1, 1, 1}}, {{1, 1, 1}}});
  REQUIRE(learning.Stale());  // neither was better than the start
  learning.Restart(other.parameters);
  CHECK(*learning.ToImitate() == start);
  CHECK(mean_probability() < 0.9);
  pull();
  CHECK(mean_probability() >= 0.95);

  config.start.steps = 2;
  Learner short_of_it(config);
  short_of_it.learning->Begin(short_of_it.evaluator, rng, {});
  int steps = 0;
  short_of_it.learning->PullToStart(short_of_it.tape, [&](Tape&) {
    ++steps;
    return short_of_it.Score({*short_of_it.learning->start()});
  });
  CHECK(steps == 2);
}

TEST_CASE("at the end of the budget the policy settles on the best placement of all") {
  PolicyGradientConfig config = Plain();
  config.patience = 1;
  config.entropy_weight = 1;
  config.start.settle_share = 0.25;
  config.start.steps = 10000;
  Learner learner(config), other(config);
  PolicyGradient& learning = *learner.learning;
  MeteredEvaluator metered(learner.evaluator, {.evaluations = 16});
  const auto update = [&](const std::vector<Placement>& placements) {
    learning.BeginUpdate(metered);
    learner.Update(placements, metered);
  };
  const std::vector<Placement> good = {{{0, 0, 0}}, {{1, 0, 0}}};
  update(good);
  update(kTwo);
  REQUIRE(learning.Stale());
  learning.Restart(other.parameters, metered.remaining());
  CHECK(learning.start() == nullptr);  // it begins from nothing
  for (int i = 0; i < 4; ++i) {
    CHECK_FALSE(learning.MustSettle(metered.remaining()));
    update(kTwo);
  }
  CHECK(metered.remaining() == 4);  // a quarter
  CHECK(learning.MustSettle(metered.remaining()));
  CHECK_FALSE(learning.MustSettle(0));
  CHECK_FALSE(learning.MustSettle(std::numeric_limits<std::int64_t>::max()));
  const Matrix before = learner.logits();
  learning.Settle();
  CHECK(learner.logits() == before);
  CHECK_FALSE(learning.MustSettle(metered.remaining()));
  REQUIRE(learning.start() != nullptr);
  CHECK(*learning.start() == good[0]);
  learning.PullToStart(learner.tape, [&](Tape&) { return learner.Score({good[0]}); });
  double product = 1;
  for (const auto& p : Probabilities(learner.logits())) product *= p[0];
  CHECK(std::cbrt(product) >= kSettledProbability);

  // No entropy bonus, no further restart.
  config.entropy_weight = 0;
  Learner without(config);
  learner.logits() = without.logits();
  update(good);
  without.Update(good);
  CHECK(learner.logits() == without.logits());
  update(kTwo);
  CHECK_FALSE(learning.Stale());

  Learner unfit(config, 0);  // a placement that does not fit is nothing to settle on
  unfit.Update({{{0, 0, 0}}, {{0, 1, 0}}});
  CHECK_FALSE(unfit.learning->MustSettle(1));
}

TEST_CASE("late restarts begin at the best placement of all") {
  PolicyGradientConfig config = Plain();
  config.imitation_weight = 0.1;
  config.start.fresh_share = 0.5;
  Learner learner(config), other(config);
  PolicyGradient& learning = *learner.learning;
  learner.Update({{{0, 0, 1}}, {{1, 1, 1}}});  // the best: 2 s
  learning.Restart(other.parameters, 2);       // 2 of 4 evaluations: not beyond a half
  CHECK(learning.start() == nullptr);
  CHECK(learning.ToImitate() == nullptr);
  learner.Update({{{1, 1, 0}}, {{1, 1, 1}}});
  CHECK(*learning.ToImitate() == Placement{{1, 1, 0}});
  learning.Restart(other.parameters, 3);  // 4 of 7
  REQUIRE(learning.start() != nullptr);
  CHECK(*learning.start() == Placement{{0, 0, 1}});
  CHECK(*learning.ToImitate() == Placement{{0, 0, 1}});
  CHECK_FALSE(learning.MustBegin());
  learning.Restart(other.parameters);  // no budget
  CHECK(*learning.start() == Placement{{0, 0, 1}});

  CopyState(learning, *other.learning);
  REQUIRE(other.learning->start() != nullptr);
  CHECK(*other.learning->start() == Placement{{0, 0, 1}});
}

TEST_CASE("a gradient that is not a number stops the search with update and operation named") {
  // A finite loss whose gradient is not: the square root of nothing, as exp(log(x) / 2).
  Learner infinite(Plain());
  infinite.parameters.all()[0].value.setZero();
  const Var x = infinite.tape.Use(infinite.parameters.all()[0]);
  const Var tiny = AddScalar(infinite.tape, Scale(infinite.tape, x, 1e38F), 1e-38F);
  const Var log = Log(infinite.tape, SumAll(infinite.tape, tiny));
  const PolicyGradient::Sampled sampled{
      .log_probability = log, .entropy = log, .best_log_probability = {}};
  const std::vector<Placement> one = {kTwo[0]};
  const std::string gradient = MessageOf<RunError>(
      [&] { infinite.learning->Update(infinite.tape, sampled, one, infinite.evaluator); });
  CHECK(gradient.find("update 0: not finite: ") == 0);
  CHECK(gradient.find(": gradient") != std::string::npos);
  CHECK(infinite.logits().isZero());
}

TEST_CASE("settings that make no sense are refused by key and value") {
  const auto refusal = [](const auto& change) {
    PolicyGradientConfig config = Plain();
    change(config);
    return MessageOf<InputError>([&] { Learner learner(config); });
  };
  CHECK(refusal([](auto& c) {
          c.samples = 1;
          c.baseline.method = "leave_one_out";
        }) == "samples: expected at least 2 with the baseline leave_one_out, got 1");
}

}  // namespace
