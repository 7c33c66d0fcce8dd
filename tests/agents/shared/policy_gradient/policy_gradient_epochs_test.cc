// PolicyGradient with several steps on one batch.

#include <cmath>

#include <doctest/doctest.h>

#include "agents/shared/policy_gradient/policy_gradient.h"
#include "tests/agents/shared/policy_gradient/logits_learner.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// One step of descent on  1/K sum_i A_i sum_g r_ig  with r_ig = p(P_i(g)) / p_old(P_i(g)), for
// "clip" max(r A, clamp(r, 1 - c, 1 + c) A) in place of r A, for "kl" with + beta sum_g KL(p_old ||
// p); less 0.1 times the entropy and 0.3 log p(best). d r_ig / d logit[g, d] = r_ig ([P_i(g) = d] -
// p[g, d]), d KL / d logit[g, d] = p[g, d] - p_old[g, d].
void DescendByHand(std::vector<std::vector<double>>& logits,
                   const std::vector<std::vector<double>>& old,
                   const std::vector<double>& advantages,
                   const Placement& best,
                   const PpoConfig& ppo,
                   double beta,
                   double& kl) {
  Matrix rounded(kGroups, kDevices);
  for (int g = 0; g < kGroups; ++g) {
    for (int d = 0; d < kDevices; ++d) rounded(g, d) = static_cast<float>(logits[g][d]);
  }
  const auto p = Probabilities(rounded);
  kl = 0;
  for (int g = 0; g < kGroups; ++g) {
    double entropy = 0;
    for (int d = 0; d < kDevices; ++d) {
      entropy -= p[g][d] * std::log(p[g][d]);
      kl += old[g][d] * std::log(old[g][d] / p[g][d]) / kGroups;
    }
    for (int d = 0; d < kDevices; ++d) {
      double gradient = 0.1 * p[g][d] * (std::log(p[g][d]) + entropy);
      gradient -= 0.3 * ((best.device[g] == d) - p[g][d]);
      if (ppo.penalty == "kl") gradient += beta * (p[g][d] - old[g][d]);
      for (std::size_t i = 0; i < kTwo.size(); ++i) {
        const int device = kTwo[i].device[g];
        const double ratio = p[g][device] / old[g][device], a = advantages[i];
        const bool cut =
            ppo.penalty == "clip" && (a > 0 ? ratio < 1 - ppo.clip : ratio > 1 + ppo.clip);
        if (!cut) gradient += a / 2 * ratio * ((device == d) - p[g][d]);
      }
      logits[g][d] -= 0.5 * gradient;
    }
  }
}

TEST_CASE("epochs of PPO are steps on ratios of one batch, as by hand") {
  for (const std::string penalty : {"kl", "clip"}) {
    CAPTURE(penalty);
    PolicyGradientConfig config = Plain();
    config.baseline.method = "leave_one_out";
    config.entropy_weight = 0.1;
    config.imitation_weight = 0.3;
    config.ppo = {.penalty = penalty, .epochs = 4, .clip = 0.3, .kl_target = 0.01, .kl_weight = 2};
    Learner learner(config);
    learner.Update({{{0, 0, 1}}, {{1, 1, 1}}});  // for something to imitate: 2 s
    CHECK(learner.Column("kl_weight") == 2);
    const double first_kl = learner.Column("kl");
    const double beta = penalty == "clip"       ? 2
                        : first_kl > 0.015      ? 4
                        : first_kl < 0.01 / 1.5 ? 1
                                                : 2;

    const auto old = Probabilities(learner.logits());
    std::vector<std::vector<double>> logits(kGroups, std::vector<double>(kDevices));
    for (int g = 0; g < kGroups; ++g) {
      for (int d = 0; d < kDevices; ++d) logits[g][d] = learner.logits()(g, d);
    }
    double kl = 0;
    for (int epoch = 0; epoch < 4; ++epoch) {  // in the first all ratios are 1
      DescendByHand(logits, old, {-2, 2}, {{0, 0, 1}}, config.ppo, beta, kl);
    }
    learner.Update(kTwo);
    for (int g = 0; g < kGroups; ++g) {
      for (int d = 0; d < kDevices; ++d) {
        CHECK(learner.logits()(g, d) == doctest::Approx(logits[g][d]).epsilon(1e-4));
      }
    }
    CHECK(learner.Column("kl") == doctest::Approx(kl).epsilon(1e-3));
    CHECK(learner.Column("kl") > 0);
    CHECK(learner.Column("kl_weight") == beta);
    CHECK(learner.learning->updates() == 2);
    CHECK(learner.tape.num_nodes() == 0);
  }
}

TEST_CASE("one epoch is the plain policy gradient, whatever the other settings of PPO") {
  PolicyGradientConfig config = Plain();
  config.baseline.method = "leave_one_out";
  config.imitation_weight = 0.1;
  Learner plain(config);
  config.ppo = {.penalty = "clip", .epochs = 1, .clip = 0.01, .kl_target = 1, .kl_weight = 7};
  Learner ppo(config);
  for (int update = 0; update < 3; ++update) {
    plain.Update(kTwo);
    ppo.Update(kTwo);
    CHECK(plain.logits() == ppo.logits());
  }
  CHECK(plain.learning->table().columns == ppo.learning->table().columns);
  CHECK(plain.learning->table().values == ppo.learning->table().values);
}

}  // namespace
