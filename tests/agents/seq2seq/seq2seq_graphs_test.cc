// One network of seq2seq_network.h on several graphs, those it knows and others.

#include <doctest/doctest.h>

#include "agents/seq2seq/seq2seq_network.h"
#include "framework/learn/ops.h"
#include "tests/agents/seq2seq/network_variants.h"
#include "tests/agents/seq2seq/plain_seq2seq.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Networks on a problem whose types of ops and number of groups are others than those they know.
template <class F>
void ForTwoGraphs(const F& test) {
  ForAllVariants([&](const Seq2SeqNetworkConfig& config) {
    Rng rng(31);
    const auto with_kinds = [&](int num_ops, int num_kinds) {
      ProblemBuilder builder = Gpus(3);
      for (int v = 0; v < num_ops; ++v) {
        std::vector<int> inputs;
        for (int i = 0; i < 2 && v > 0; ++i) inputs.push_back(UniformInt(rng, v));
        const Nanos second = UniformInt(rng, 3) == 0 ? kMaxNanos : UniformInt(rng, 90);
        builder.op(builder.Op("op" + std::to_string(v), {50, second, 9}, inputs, v)).kind =
            "kind" + std::to_string(UniformInt(rng, num_kinds));
      }
      return builder.Build();
    };
    const std::vector known = {with_kinds(4, 2), with_kinds(7, 3)};
    const Seq2SeqVocabulary vocabulary = MakeSeq2SeqVocabulary(known);
    for (const auto& problem : {known[0], known[1], with_kinds(11, 6)}) {
      Policy policy(problem, vocabulary, config);
      test(config, policy);
    }
  });
}

TEST_CASE("one network scores the placements of any graph as the formulas do") {
  ForTwoGraphs([](const Seq2SeqNetworkConfig& config, Policy& policy) {
    Rng rng(6);
    std::vector<Placement> placements;
    for (int i = 0; i < 3; ++i) placements.push_back(RandomPlacement(rng, *policy.problem));
    Tape tape;
    const auto rollout = policy.network.Score(tape, policy.inputs, placements);
    CHECK(rollout.placements == placements);
    const int steps = policy.problem->num_groups();
    REQUIRE(tape.rows(rollout.step_log_probability) == 3 * steps);
    std::vector<double> sums(3, 0);
    for (int i = 0; i < 3 * steps; ++i) {
      sums[rollout.row[i]] += tape.value(rollout.step_log_probability)(i, 0);
    }
    for (int row = 0; row < 3; ++row) {
      double entropy = 0;
      const double expected = plain::LogProbability(
          *policy.problem, policy.vocabulary, policy.parameters, config, placements[row], entropy);
      CHECK(tape.value(rollout.log_probability)(row, 0) == doctest::Approx(expected).epsilon(1e-4));
      CHECK(sums[row] == doctest::Approx(expected).epsilon(1e-4));
      CHECK(tape.value(rollout.entropy)(row, 0) == doctest::Approx(entropy).epsilon(1e-4));
    }
  });
}

TEST_CASE("gradients of scored placements are those of finite differences on any graph") {
  ForTwoGraphs([](const Seq2SeqNetworkConfig& config, Policy& policy) {
    Rng rng(7);
    const std::vector<Placement> placements = {RandomPlacement(rng, *policy.problem),
                                               RandomPlacement(rng, *policy.problem)};
    Tape tape;
    const auto rollout = policy.network.Score(tape, policy.inputs, placements);
    tape.Backward(SumAll(tape, rollout.log_probability));
    constexpr float kStep = 1e-2F;
    for (Parameter& parameter : policy.parameters.all()) {
      CAPTURE(parameter.name);
      const int i = UniformInt(rng, static_cast<int>(parameter.value.size()));
      float& value = parameter.value.data()[i];
      const float before = value;
      const auto at = [&](float x) {
        value = x;
        double sum = 0, entropy = 0;
        for (const Placement& placement : placements) {
          sum += plain::LogProbability(
              *policy.problem, policy.vocabulary, policy.parameters, config, placement, entropy);
        }
        return sum;
      };
      const double slope = (at(before + kStep) - at(before - kStep)) / (2 * kStep);
      value = before;
      CHECK(parameter.gradient.data()[i] == doctest::Approx(slope).epsilon(1e-2).scale(1e-1));
    }
  });
}

TEST_CASE("what was sampled is scored to the bit, greedy steps are the most probable ones") {
  ForTwoGraphs([](const Seq2SeqNetworkConfig&, Policy& policy) {
    Rng rng(9);
    Tape drawn, scored, greedy;
    const auto sample = policy.network.Sample(drawn, policy.inputs, 4, rng);
    const auto score = policy.network.Score(scored, policy.inputs, sample.placements);
    CHECK(drawn.value(sample.log_probability) == scored.value(score.log_probability));
    CHECK(drawn.value(sample.step_log_distribution) == scored.value(score.step_log_distribution));

    const auto best = policy.network.Greedy(greedy, policy.inputs);
    REQUIRE(best.placements.size() == 1);
    const Matrix& steps = greedy.value(best.step_log_distribution);
    for (int t = 0; t < policy.problem->num_groups(); ++t) {
      const int group = policy.problem->group_order()[t];
      CHECK(policy.problem->allowed(group, best.placements[0].device[group]));
      CHECK(steps(t, best.placements[0].device[group]) == steps.row(t).maxCoeff());
    }
  });
}

}  // namespace
