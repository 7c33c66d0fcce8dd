#include "agents/seq2seq/seq2seq_network.h"

#include <bit>
#include <cmath>
#include <memory>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/agents/seq2seq/plain_seq2seq.h"
#include "tests/support/agent_contract.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

Seq2SeqNetworkConfig SmallConfig(bool aligned, bool bidirectional) {
  Seq2SeqNetworkConfig config;
  config.hidden = 4;
  config.attention = 3;
  config.type_vector = 2;
  config.device_vector = 2;
  config.aligned = aligned;
  config.bidirectional = bidirectional;
  return config;
}

/// A network with random weights on one problem.
struct Policy {
  Policy(std::shared_ptr<const Problem> of, const Seq2SeqNetworkConfig& config)
      : Policy(of, MakeSeq2SeqVocabulary({&of, 1}), config) {}
  Policy(std::shared_ptr<const Problem> of,
         Seq2SeqVocabulary known,
         const Seq2SeqNetworkConfig& config)
      : problem(std::move(of)),
        vocabulary(std::move(known)),
        rng(3),
        network(config, vocabulary, parameters, rng),
        inputs(*problem, vocabulary, config.features) {
    // Larger than the initial ones, so that no part is hidden by small logits.
    for (Parameter& parameter : parameters.all()) {
      for (int i = 0; i < parameter.value.size(); ++i) {
        parameter.value.data()[i] = static_cast<float>(1.6 * Uniform01(rng) - 0.8);
      }
    }
  }
  double LogProbability(const Placement& placement) {
    Tape tape;
    const auto rollout = network.Score(tape, inputs, {&placement, 1});
    CHECK(rollout.placements == std::vector<Placement>{placement});
    return tape.value(rollout.log_probability)(0, 0);
  }

  std::shared_ptr<const Problem> problem;
  Seq2SeqVocabulary vocabulary;
  ParameterSet parameters;
  Rng rng;
  Seq2SeqNetwork network;
  Seq2SeqInputs inputs;
};

/// Calls test(config) for networks with and without each of their options.
template <class F>
void ForAllVariants(const F& test) {
  for (const bool aligned : {false, true}) {
    for (const bool bidirectional : {false, true}) {
      CAPTURE(aligned);
      CAPTURE(bidirectional);
      Seq2SeqNetworkConfig config = SmallConfig(aligned, bidirectional);
      config.logit_bound = aligned ? 1.5 : 0;
      test(config);
    }
  }
}

TEST_CASE("placements are drawn as often as they are probable") {
  ProblemBuilder builder = Gpus(2);
  for (int i = 0; i < 2; ++i) builder.Op("op" + std::to_string(i), {1, 2});
  Policy policy(builder.Build(), SmallConfig(true, false));
  constexpr int kDraws = 4000;
  Tape tape;
  Rng rng(11);
  const auto rollout = policy.network.Sample(tape, policy.inputs, kDraws, rng);
  std::array<int, 4> count{};
  for (const Placement& placement : rollout.placements) {
    ++count[placement.device[0] * 2 + placement.device[1]];
  }
  for (int code = 0; code < 4; ++code) {
    const Placement placement{
        {static_cast<DeviceIndex>(code / 2), static_cast<DeviceIndex>(code % 2)}};
    const double p = std::exp(policy.LogProbability(placement));
    CAPTURE(p);
    // four standard deviations of a share of kDraws
    CHECK(std::abs(count[code] / double{kDraws} - p) < 4 * std::sqrt(p * (1 - p) / kDraws));
  }
}

TEST_CASE("the forced row is the last and changes no other") {
  Rng problem_rng(8);
  Policy policy(MixedProblem(problem_rng, 20, 3, 1000), SmallConfig(true, true));
  const Placement forced = [&] {
    Tape tape;
    Rng rng(1);
    return policy.network.Sample(tape, policy.inputs, 1, rng).placements[0];
  }();
  Tape tape;
  Rng rng(2);
  const auto rollout = policy.network.Sample(tape, policy.inputs, 3, rng, &forced);
  REQUIRE(rollout.placements.size() == 4);
  CHECK(rollout.placements[3] == forced);
  for (int row = 0; row < 4; ++row) {
    CHECK(tape.value(rollout.log_probability)(row, 0) ==
          doctest::Approx(policy.LogProbability(rollout.placements[row])).epsilon(1e-5));
  }
}

TEST_CASE("before any update all devices are about equally likely") {
  Rng rng(4);
  const auto problem = MixedProblem(rng, 30, 3, 1000);
  ParameterSet parameters;
  const Seq2SeqVocabulary vocabulary = MakeSeq2SeqVocabulary({&problem, 1});
  const Seq2SeqNetwork network({}, vocabulary, parameters, rng);
  const Seq2SeqInputs inputs(*problem, vocabulary, {});
  Tape tape;
  const auto rollout = network.Sample(tape, inputs, 4, rng);
  double most = 0;
  for (int group = 0; group < problem->num_groups(); ++group) {
    most += std::log(std::popcount(problem->allowed_devices(group)));
  }
  for (int row = 0; row < 4; ++row) {
    CHECK(tape.value(rollout.entropy)(row, 0) == doctest::Approx(most).epsilon(1e-3));
  }
}

TEST_CASE("a bound keeps every device in play, however large the weights") {
  ProblemBuilder builder = Gpus(2);
  builder.Op("op", {1, 2});
  Seq2SeqNetworkConfig config = SmallConfig(true, false);
  config.logit_bound = 2;
  Policy policy(builder.Build(), config);
  for (Parameter& parameter : policy.parameters.all()) {
    if (parameter.name == "output.bias") parameter.value << 1000, -1000;
  }
  // logits 2 and -2
  CHECK(policy.LogProbability({{1}}) == doctest::Approx(-std::log(1 + std::exp(4))));
}

TEST_CASE("an odd width of both directions together is refused") {
  Rng problem_rng(8);
  const auto problem = MixedProblem(problem_rng, 5, 1, 1000);
  const auto refusal = [&](const auto& change) {
    Seq2SeqNetworkConfig config;
    change(config);
    ParameterSet parameters;
    Rng rng(1);
    const Seq2SeqVocabulary vocabulary = MakeSeq2SeqVocabulary({&problem, 1});
    return MessageOf<InputError>([&] { Seq2SeqNetwork(config, vocabulary, parameters, rng); });
  };
  CHECK(refusal([](auto& c) {
          c.hidden = 63;
          c.bidirectional = true;
        }) == "hidden: expected an even number for a bidirectional encoder, got 63");
}

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
