#include "agents/hierarchical/placer.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "framework/config/setting_error.h"
#include "framework/learn/ops.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr int kInputs = 3, kDevices = 3;

struct SmallPlacer {
  explicit SmallPlacer(PlacerConfig config)
      : placer(config, kInputs, kDevices, set, rng, "placer") {}
  Rng rng{3};
  ParameterSet set;
  Placer placer;
};

PlacerConfig SmallConfig() {
  PlacerConfig config;
  config.hidden = 6;
  config.device_embedding = 2;
  return config;
}

GroupSequence Sequence(int length) {
  GroupSequence groups;
  Rng rng(8);
  groups.input.resize(length, kInputs);
  for (float& x : groups.input.reshaped()) x = static_cast<float>(Uniform01(rng));
  groups.allowed = Matrix::Ones(length, kDevices);
  for (int i = 0; i < length; ++i) groups.groups.push_back(i);
  return groups;
}

std::vector<std::vector<int>> AllChoices(int length) {
  std::vector<std::vector<int>> all{{}};
  for (int i = 0; i < length; ++i) {
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& devices : all) {
      for (int d = 0; d < kDevices; ++d) {
        longer.push_back(devices);
        longer.back().push_back(d);
      }
    }
    all = longer;
  }
  return all;
}

TEST_CASE("placements are drawn as often as their probability says") {
  PlacerConfig config = SmallConfig();
  config.temperature = 0.2;  // far from uniform
  SmallPlacer small(config);
  const GroupSequence groups = Sequence(2);
  Tape tape;
  constexpr int kRows = 5000;
  const Placer::Decoded drawn = small.placer.Sample(tape, groups, kRows, 0, small.rng);
  const auto all = AllChoices(2);
  const Placer::Decoded scored = small.placer.Score(tape, groups, all);
  const Placer::Decoded again = small.placer.Score(tape, groups, drawn.devices);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double p = std::exp(tape.value(scored.log_probability)(i, 0));
    const auto count = std::count(drawn.devices.begin(), drawn.devices.end(), all[i]);
    CHECK(std::abs(count - kRows * p) < 5 * std::sqrt(kRows * p * (1 - p)) + 1);
  }
  CHECK(tape.value(drawn.log_probability).isApprox(tape.value(again.log_probability), 1e-5F));
  CHECK(tape.value(drawn.entropy)(0, 0) ==
        doctest::Approx(tape.value(again.entropy)(0, 0)).epsilon(1e-5));
}

// Without noise the logits C tanh(l / T) are at most C apart from 0, which bounds the
// probabilities.
TEST_CASE("tanh bounds the logits; noise goes beyond the bound") {
  PlacerConfig config = SmallConfig();
  config.tanh_constant = 0.1;
  config.temperature = 1e-3;
  SmallPlacer small(config);
  const GroupSequence groups = Sequence(1);
  const double least = -std::log(1 + 2 * std::exp(0.2)), most = -std::log(1 + 2 * std::exp(-0.2));
  Tape tape;
  const Placer::Decoded plain = small.placer.Sample(tape, groups, 200, 0, small.rng);
  CHECK(tape.value(plain.log_probability).minCoeff() >= least - 1e-5);
  CHECK(tape.value(plain.log_probability).maxCoeff() <= most + 1e-5);
  const Placer::Decoded noisy = small.placer.Sample(tape, groups, 200, 20, small.rng);
  CHECK(tape.value(noisy.log_probability).maxCoeff() > most);
}

// With noise, the log-probability belongs to the noisy distribution. Rows differ in their noise,
// all of deviation `noise` times the root mean square of the logits: the mean of the noisy
// log-probability of the device drawn exceeds that of the plain distribution, which it does not
// know.
TEST_CASE("the log-probability is that of the distribution sampled from") {
  SmallPlacer small(SmallConfig());
  const GroupSequence groups = Sequence(1);
  Tape tape;
  constexpr double kNoise = 50;
  const Placer::Decoded noisy = small.placer.Sample(tape, groups, 2000, kNoise, small.rng);
  const Placer::Decoded plain = small.placer.Score(tape, groups, noisy.devices);
  const double mean = tape.value(noisy.log_probability).mean();
  // The mean of -log p(drawn) is the entropy of what was drawn from.
  CHECK(-mean == doctest::Approx(tape.value(noisy.entropy)(0, 0)).epsilon(0.1));
  CHECK(mean > tape.value(plain.log_probability).mean() + 0.05);
}

TEST_CASE("the same generator draws the same; two sequences of one length share no state") {
  SmallPlacer small(SmallConfig());
  Rng a(5), b(5);
  Tape tape;
  const auto first = small.placer.Sample(tape, Sequence(9), 4, 0.5, a);
  small.placer.Sample(tape, Sequence(2), 3, 0.5, small.rng);
  const auto second = small.placer.Sample(tape, Sequence(9), 4, 0.5, b);
  CHECK(first.devices == second.devices);
  CHECK(tape.value(first.log_probability) == tape.value(second.log_probability));
}

TEST_CASE("an odd width is refused") {
  const auto refusal = [](auto change) {
    PlacerConfig config;
    change(config);
    return MessageOf<SettingError>([&] { SmallPlacer small(config); });
  };
  CHECK(refusal([](PlacerConfig& c) { c.hidden = 7; }) ==
        "placer.hidden: expected an even number, a half for each direction of the encoder, got 7");
}

TEST_CASE("noise has the deviation asked for and no mean; without it nothing is drawn") {
  // Root mean square of the logits: sqrt((1 + 49) / 2) = 5; half of it: 2.5.
  Matrix logits(100, 200);
  for (int r = 0; r < 100; ++r) logits.row(r).setConstant(r % 2 == 0 ? 1.0F : -7.0F);
  Rng rng(3), untouched(3);
  Tape tape;
  const Var x = tape.Constant(logits);
  CHECK(WithNoise(tape, x, 0, rng).id == x.id);
  CHECK(rng == untouched);
  const Matrix noise = tape.value(WithNoise(tape, x, 0.5, rng)) - logits;
  CHECK(rng != untouched);
  CHECK(std::abs(noise.mean()) < 5 * 2.5 / std::sqrt(20'000.0));
  CHECK(std::sqrt(noise.squaredNorm() / 20'000) == doctest::Approx(2.5).epsilon(0.03));
}

TEST_CASE("the gradient goes to the logits as if there were no noise") {
  ParameterSet set;
  Rng rng(4);
  Parameter& logits = set.AddUniform("logits", 3, 4, 1.0F, rng);
  Tape tape;
  tape.Backward(SumAll(tape, WithNoise(tape, tape.Use(logits), 2, rng)));
  CHECK(logits.gradient == Matrix::Ones(3, 4));
}

}  // namespace
