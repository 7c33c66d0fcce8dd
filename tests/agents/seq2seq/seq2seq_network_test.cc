#include "agents/seq2seq/seq2seq_network.h"

#include <bit>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/learn/ops.h"
#include "tests/agents/seq2seq/network_variants.h"
#include "tests/agents/seq2seq/plain_seq2seq.h"
#include "tests/support/agent_contract.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("log-probabilities and entropies are those of the formulas") {
  ForAllVariants([](const Seq2SeqNetworkConfig& config) {
    Rng rng(5);
    for (int trial = 0; trial < 5; ++trial) {
      Policy policy(MixedProblem(rng, 1 + UniformInt(rng, 14), 2, 1000), config);
      Tape tape;
      const auto rollout = policy.network.Sample(tape, policy.inputs, 6, rng);
      REQUIRE(rollout.placements.size() == 6);
      for (int row = 0; row < 6; ++row) {
        double entropy = 0;
        const Placement& placement = rollout.placements[row];
        const double expected = plain::LogProbability(
            *policy.problem, policy.vocabulary, policy.parameters, config, placement, entropy);
        CHECK(tape.value(rollout.log_probability)(row, 0) ==
              doctest::Approx(expected).epsilon(1e-4));
        CHECK(tape.value(rollout.entropy)(row, 0) == doctest::Approx(entropy).epsilon(1e-4));
      }
    }
  });
}

TEST_CASE("the probabilities of all placements sum to one, forbidden devices have none") {
  ProblemBuilder builder = Gpus(3);
  int last = builder.Op("op0", {1, 2, 3});
  last = builder.Op("op1", {1, kMaxNanos, 3}, {last});
  builder.Op("op2", {kMaxNanos, kMaxNanos, 3}, {last});
  const auto problem = builder.Build();
  ForAllVariants([&](const Seq2SeqNetworkConfig& config) {
    Policy policy(problem, config);
    double sum = 0;
    for (int code = 0; code < 27; ++code) {
      const std::array<int, 3> devices = {code % 3, code / 3 % 3, code / 9};
      bool allowed = true;
      Placement placement;
      for (int g = 0; g < 3; ++g) {
        allowed &= problem->allowed(g, devices[g]);
        placement.device.push_back(static_cast<DeviceIndex>(devices[g]));
      }
      if (allowed) sum += std::exp(policy.LogProbability(placement));
    }
    CHECK(sum == doctest::Approx(1).epsilon(1e-5));
  });
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

TEST_CASE("the gradient of a log-probability is that of finite differences") {
  ForAllVariants([](const Seq2SeqNetworkConfig& config) {
    Rng rng(21);
    Policy policy(MixedProblem(rng, 8, 2, 1000), config);
    Tape tape;
    const auto rollout = policy.network.Sample(tape, policy.inputs, 1, rng);
    tape.Backward(SumAll(tape, rollout.log_probability));
    constexpr float kStep = 1e-2F;
    for (Parameter& parameter : policy.parameters.all()) {
      CAPTURE(parameter.name);
      for (int trial = 0; trial < 4 && parameter.value.size() > 0; ++trial) {
        const int i = UniformInt(rng, static_cast<int>(parameter.value.size()));
        float& value = parameter.value.data()[i];
        const float before = value;
        const auto at = [&](float x) {
          value = x;
          double entropy = 0;
          return plain::LogProbability(*policy.problem,
                                       policy.vocabulary,
                                       policy.parameters,
                                       config,
                                       rollout.placements[0],
                                       entropy);
        };
        const double slope = (at(before + kStep) - at(before - kStep)) / (2 * kStep);
        value = before;
        CHECK(parameter.gradient.data()[i] == doctest::Approx(slope).epsilon(1e-2).scale(1e-1));
      }
    }
  });
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

TEST_CASE("logits that are not numbers are an error") {
  Rng rng(4);
  Policy policy(MixedProblem(rng, 10, 3, 1000), SmallConfig(true, false));
  policy.parameters.all()[0].value.setConstant(std::numeric_limits<float>::quiet_NaN());
  Tape tape;
  CHECK_THROWS_AS(policy.network.Sample(tape, policy.inputs, 2, rng), RunError);
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

}  // namespace
