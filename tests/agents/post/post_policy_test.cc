#include "agents/post/post_policy.h"

#include <cmath>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/learn/ops.h"
#include "tests/support/agent_contract.h"
#include "tests/support/gradients.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Four groups on three devices: all, {0, 2}, {1} (no decision), {1, 2}.
std::shared_ptr<const Problem> FourGroups() {
  ProblemBuilder builder = Gpus(3);
  builder.Op("all", {1, 1, 1});
  builder.Op("outer", {1, kMaxNanos, 1});
  builder.Op("one", {kMaxNanos, 1, kMaxNanos});
  builder.Op("upper", {kMaxNanos, 1, 1});
  return builder.Build();
}

struct Policy {
  explicit Policy(std::shared_ptr<const Problem> of = FourGroups(), double sharing = 0)
      : problem(std::move(of)), policy(*problem, parameters, sharing) {}
  Matrix& logits() { return parameters.all()[0].value; }
  Matrix LogProbabilities() {
    Tape tape;
    return tape.value(policy.LogProbabilities(tape));
  }
  double Probability(int row, int device) {
    return std::exp(double{LogProbabilities()(row, device)});
  }
  void MinimizeCrossEntropy(const std::vector<Placement>& elites, double epsilon, double step) {
    std::vector<const Placement*> pointers;
    for (const Placement& elite : elites) pointers.push_back(&elite);
    policy.MinimizeCrossEntropy(pointers, epsilon, step);
  }

  std::shared_ptr<const Problem> problem;
  ParameterSet parameters;
  PostPolicy policy;
};

TEST_CASE("at first every allowed device is as likely as the others, a forbidden one impossible") {
  Policy p;
  CHECK(p.policy.num_decisions() == 3);
  const Matrix log_p = p.LogProbabilities();
  for (int d = 0; d < 3; ++d) {
    CHECK(p.Probability(0, d) == doctest::Approx(1.0 / 3));
    CHECK(p.Probability(1, d) == doctest::Approx(d == 1 ? 0 : 0.5));
    CHECK(p.Probability(2, d) == doctest::Approx(d == 0 ? 0 : 0.5));
  }
  CHECK(p.policy.MeanEntropy() == doctest::Approx((std::log(3) + 2 * std::log(2)) / 3));
  p.logits()(0, 0) = 5;
  p.policy.MakeUniform();
  CHECK(p.LogProbabilities() == log_p);
}

TEST_CASE("placements are drawn as the probabilities say, groups without a choice where they are") {
  Policy p;
  p.logits() << 1, 0, -1, 2, 9, 1, 9, -1, 0;  // 9: of forbidden devices
  Rng rng(3);
  constexpr int kCount = 20'000;
  const Matrix log_p = p.LogProbabilities();
  Matrix share = Matrix::Zero(4, 3);
  for (const Placement& placement : p.policy.Sample(log_p, kCount, rng)) {
    REQUIRE(placement.device.size() == 4);
    for (int g = 0; g < 4; ++g) share(g, placement.device[g]) += 1.0F / kCount;
  }
  const int row_of_group[] = {0, 1, -1, 2};
  for (int g = 0; g < 4; ++g) {
    for (int d = 0; d < 3; ++d) {
      const double expected = g == 2 ? d == 1 : p.Probability(row_of_group[g], d);
      CHECK(std::abs(share(g, d) - expected) < 0.015);  // four standard deviations
      if (!p.problem->allowed(g, d)) CHECK(share(g, d) == 0);
    }
  }
}

TEST_CASE("log-probabilities are those of plain loops") {
  Rng rng(4);
  for (int trial = 0; trial < 20; ++trial) {
    Policy p(MixedProblem(rng, 20, 1 + trial % 3, kUnlimitedMemory));
    const Problem& problem = *p.problem;
    const int rows = p.policy.num_decisions(), cols = problem.num_devices();
    p.logits() = RandomMatrix(rows, cols, rng, -2, 2);
    const Matrix old = p.LogProbabilities();
    const std::vector<Placement> drawn = p.policy.Sample(old, 3, rng);
    p.logits() += RandomMatrix(rows, cols, rng, -2, 2);

    std::vector<int> groups;
    for (int g = 0; g < problem.num_groups(); ++g) {
      int allowed = 0;
      for (int d = 0; d < cols; ++d) allowed += problem.allowed(g, d);
      if (allowed > 1) groups.push_back(g);
    }
    REQUIRE(std::ssize(groups) == rows);
    Matrix expected(rows, 3);
    double entropy = 0;
    for (int m = 0; m < rows; ++m) {
      double sum = 0;
      for (int d = 0; d < cols; ++d) {
        if (problem.allowed(groups[m], d)) sum += std::exp(double{p.logits()(m, d)});
      }
      for (int d = 0; d < cols; ++d) {
        if (!problem.allowed(groups[m], d)) continue;
        const double log_p = p.logits()(m, d) - std::log(sum);
        entropy -= std::exp(log_p) * log_p / rows;
        for (int i = 0; i < 3; ++i) {
          if (drawn[i].device[groups[m]] == d) expected(m, i) = static_cast<float>(log_p);
        }
      }
    }
    Tape tape;
    const Var all = p.policy.LogProbabilities(tape);
    CHECK(Distance(tape.value(p.policy.LogProbability(tape, all, drawn)), expected) < 1e-5);
    CHECK(p.policy.MeanEntropy() == doctest::Approx(entropy));
  }
}

TEST_CASE("the cross-entropy step counts the elites' devices and mixes") {
  const std::vector<Placement> elites = {
      {{0, 2, 1, 1}}, {{0, 2, 1, 2}}, {{1, 2, 1, 1}}, {{0, 0, 1, 1}}};
  SUBCASE("as published, without epsilon: the shares, none of them quite 0") {
    Policy p;
    p.MinimizeCrossEntropy(elites, 0, 1);
    CHECK(p.Probability(0, 0) == doctest::Approx(0.75));
    CHECK(p.Probability(0, 1) == doctest::Approx(0.25));
    CHECK(p.Probability(0, 2) == doctest::Approx(1e-8));
    CHECK(p.Probability(1, 0) == doctest::Approx(0.25));
    CHECK(p.Probability(1, 1) == 0);
    CHECK(p.Probability(1, 2) == doctest::Approx(0.75));
    CHECK(p.Probability(2, 1) == doctest::Approx(0.75));
    CHECK(p.logits().allFinite());
  }
  SUBCASE("epsilon is shared by the allowed devices") {
    Policy p;
    p.MinimizeCrossEntropy(elites, 0.3, 1);
    CHECK(p.Probability(0, 0) == doctest::Approx(0.7 * 0.75 + 0.3 / 3));
    CHECK(p.Probability(0, 2) == doctest::Approx(0.3 / 3));
    CHECK(p.Probability(1, 0) == doctest::Approx(0.7 * 0.25 + 0.3 / 2));
    CHECK(p.Probability(1, 1) == 0);
    CHECK(p.Probability(2, 2) == doctest::Approx(0.7 * 0.25 + 0.3 / 2));
  }
  SUBCASE("a smaller step keeps part of what was") {
    Policy p;
    p.logits().row(0) << std::log(0.2F), std::log(0.2F), std::log(0.6F);
    p.MinimizeCrossEntropy(elites, 0.5, 0.25);
    // 0.5 * (0.25 * 0.75 + 0.75 * 0.2) + 0.5 / 3
    CHECK(p.Probability(0, 0) == doctest::Approx(0.5 * 0.3375 + 0.5 / 3));
    CHECK(p.Probability(0, 2) == doctest::Approx(0.5 * 0.45 + 0.5 / 3));
    CHECK(p.Probability(1, 2) == doctest::Approx(0.5 * (0.1875 + 0.375) + 0.25));
  }
}

TEST_CASE("with sharing the policy and the cross-entropy step are the same") {
  Rng rng(8);
  const auto problem = MixedProblem(rng, 30, 3, kUnlimitedMemory);
  Policy plain(problem), shared(problem, 20);
  CHECK(Distance(plain.LogProbabilities().array().exp(), shared.LogProbabilities().array().exp()) <
        1e-6);
  for (int step = 0; step < 5; ++step) {
    const auto elites = plain.policy.Sample(plain.LogProbabilities(), 6, rng);
    plain.MinimizeCrossEntropy(elites, 0.1, 0.7);
    shared.MinimizeCrossEntropy(elites, 0.1, 0.7);
    CHECK(Distance(plain.LogProbabilities().array().exp(),
                   shared.LogProbabilities().array().exp()) < 1e-4);
  }
}

TEST_CASE("another strength of sharing keeps the distributions") {
  Rng rng(8);
  Policy shared(MixedProblem(rng, 30, 3, kUnlimitedMemory), 20);
  const auto elites = shared.policy.Sample(shared.LogProbabilities(), 6, rng);
  shared.MinimizeCrossEntropy(elites, 0.1, 0.7);
  const Matrix before = shared.LogProbabilities().array().exp();
  for (const double strength : {3000.0, 0.0, 20.0}) {
    shared.policy.SetSharing(strength);
    CHECK(Distance(before, shared.LogProbabilities().array().exp()) < 1e-3);
  }
}

TEST_CASE("near a placement its devices have that probability, the others share the rest") {
  Policy plain, shared(FourGroups(), 20);
  for (Policy* p : {&plain, &shared}) {
    p->policy.MakeNear({{1, 0, 1, 2}}, 0.7);
    CHECK(p->Probability(0, 0) == doctest::Approx(0.15));
    CHECK(p->Probability(0, 1) == doctest::Approx(0.7));
    CHECK(p->Probability(0, 2) == doctest::Approx(0.15));
    CHECK(p->Probability(1, 0) == doctest::Approx(0.7));
    CHECK(p->Probability(1, 1) == 0);
    CHECK(p->Probability(1, 2) == doctest::Approx(0.3));
    CHECK(p->Probability(2, 1) == doctest::Approx(0.3));
    CHECK(p->Probability(2, 2) == doctest::Approx(0.7));
    p->policy.MakeNear({{1, 0, 1, 2}}, 1);
    CHECK(p->Probability(0, 0) == doctest::Approx(1e-8));
    CHECK(p->logits().allFinite());
  }
}

// The closed form against what it is the minimum of: -sum over the elites of log f(d).
TEST_CASE("no other distribution has less cross-entropy to the elites") {
  Rng rng(6);
  for (int trial = 0; trial < 20; ++trial) {
    Policy p(MixedProblem(rng, 12, 2, kUnlimitedMemory));
    const std::vector<Placement> elites = p.policy.Sample(p.LogProbabilities(), 5, rng);
    const auto cross_entropy = [&] {
      Tape tape;
      const Var all = p.policy.LogProbabilities(tape);
      return -tape.value(p.policy.LogProbability(tape, all, elites)).sum();
    };
    p.MinimizeCrossEntropy(elites, 0, 1);
    const double least = cross_entropy();
    const Matrix minimum = p.logits();
    for (int i = 0; i < 20; ++i) {
      p.logits() =
          minimum +
          RandomMatrix(
              static_cast<int>(minimum.rows()), static_cast<int>(minimum.cols()), rng, -0.5, 0.5);
      CHECK(cross_entropy() >= least - 1e-4);
    }
  }
}

}  // namespace
