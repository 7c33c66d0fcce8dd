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

Placer::Decoded Sample(SmallPlacer& small,
                       Tape& tape,
                       const GroupSequence& groups,
                       int rows,
                       double noise) {
  return small.placer.Decode(
      tape, std::vector<Placer::Row>(rows, {.groups = &groups}), noise, small.rng);
}

Placer::Decoded Score(SmallPlacer& small,
                      Tape& tape,
                      const GroupSequence& groups,
                      const std::vector<std::vector<int>>& devices) {
  std::vector<Placer::Row> rows;
  for (const std::vector<int>& of_row : devices) rows.push_back({&groups, &of_row});
  return small.placer.Decode(tape, rows, 0, small.rng);
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
  const Placer::Decoded drawn = Sample(small, tape, groups, kRows, 0);
  const auto all = AllChoices(2);
  const Placer::Decoded scored = Score(small, tape, groups, all);
  const Placer::Decoded again = Score(small, tape, groups, drawn.devices);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double p = std::exp(tape.value(scored.log_probability)(i, 0));
    const auto count = std::count(drawn.devices.begin(), drawn.devices.end(), all[i]);
    CHECK(std::abs(count - kRows * p) < 5 * std::sqrt(kRows * p * (1 - p)) + 1);
  }
  CHECK(tape.value(drawn.log_probability).isApprox(tape.value(again.log_probability), 1e-5F));
  CHECK(tape.value(drawn.entropy).isApprox(tape.value(again.entropy), 1e-5F));
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
  const Placer::Decoded plain = Sample(small, tape, groups, 200, 0);
  CHECK(tape.value(plain.log_probability).minCoeff() >= least - 1e-5);
  CHECK(tape.value(plain.log_probability).maxCoeff() <= most + 1e-5);
  const Placer::Decoded noisy = Sample(small, tape, groups, 200, 20);
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
  const Placer::Decoded noisy = Sample(small, tape, groups, 2000, kNoise);
  const Placer::Decoded plain = Score(small, tape, groups, noisy.devices);
  const double mean = tape.value(noisy.log_probability).mean();
  // The mean of -log p(drawn) is the entropy of what was drawn from.
  CHECK(-mean == doctest::Approx(tape.value(noisy.entropy).mean()).epsilon(0.1));
  CHECK(mean > tape.value(plain.log_probability).mean() + 0.05);
}

TEST_CASE("the same generator draws the same; two sequences of one length share no state") {
  SmallPlacer small(SmallConfig());
  const GroupSequence nine = Sequence(9), two = Sequence(2);
  Tape tape;
  small.rng = Rng(5);
  const auto first = Sample(small, tape, nine, 4, 0.5);
  Sample(small, tape, two, 3, 0.5);
  small.rng = Rng(5);
  const auto second = Sample(small, tape, nine, 4, 0.5);
  CHECK(first.devices == second.devices);
  CHECK(tape.value(first.log_probability) == tape.value(second.log_probability));
}

TEST_CASE("rows of different sequences, drawn and scored together, are what each is alone") {
  for (const bool aligned : {false, true}) {
    PlacerConfig config = SmallConfig();
    config.aligned = aligned;
    SmallPlacer small(config);
    const std::vector<GroupSequence> sequences = {Sequence(4), Sequence(1), Sequence(7)};
    const std::vector<int> given[] = {{2, 0, 1, 1}, {1, 1, 0, 2, 2, 0, 1}};
    const std::vector<Placer::Row> rows = {{&sequences[2]},
                                           {&sequences[0]},
                                           {&sequences[0]},
                                           {&sequences[1]},
                                           {&sequences[0], &given[0]},
                                           {&sequences[2], &given[1]}};
    Tape tape;
    const auto together = small.placer.Decode(tape, rows, 0, small.rng);
    tape.Backward(SumAll(tape, Add(tape, together.log_probability, together.entropy)));
    std::vector<Matrix> gradients;
    for (Parameter& parameter : small.set.all()) gradients.push_back(parameter.gradient);
    small.set.ClearGradients();
    CHECK(together.devices[4] == given[0]);
    CHECK(together.devices[5] == given[1]);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      REQUIRE(together.devices[i].size() == rows[i].groups->groups.size());
      Tape other;
      const auto alone = Score(small, other, *rows[i].groups, {together.devices[i]});
      CHECK(other.value(alone.log_probability)(0, 0) ==
            doctest::Approx(tape.value(together.log_probability)(i, 0)).epsilon(1e-5));
      CHECK(other.value(alone.entropy)(0, 0) ==
            doctest::Approx(tape.value(together.entropy)(i, 0)).epsilon(1e-5));
      other.Backward(SumAll(other, Add(other, alone.log_probability, alone.entropy)));
    }
    for (std::size_t p = 0; p < gradients.size(); ++p) {
      CHECK(gradients[p].isApprox(small.set.all()[p].gradient, 1e-4F));
    }
  }
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
  CHECK(WithNoise(tape, x, 0, rng, 100).id == x.id);
  CHECK(rng == untouched);
  const Matrix noise = tape.value(WithNoise(tape, x, 0.5, rng, 100)) - logits;
  CHECK(rng != untouched);
  CHECK(std::abs(noise.mean()) < 5 * 2.5 / std::sqrt(20'000.0));
  CHECK(std::sqrt(noise.squaredNorm() / 20'000) == doctest::Approx(2.5).epsilon(0.03));
  const Matrix of_first = tape.value(WithNoise(tape, x, 0.5, rng, 30)) - logits;
  CHECK((of_first.topRows(30).array() != 0).all());
  CHECK(of_first.bottomRows(70).isZero(0));
}

TEST_CASE("the gradient goes to the logits as if there were no noise") {
  ParameterSet set;
  Rng rng(4);
  Parameter& logits = set.AddUniform("logits", 3, 4, 1.0F, rng);
  Tape tape;
  tape.Backward(SumAll(tape, WithNoise(tape, tape.Use(logits), 2, rng, 3)));
  CHECK(logits.gradient == Matrix::Ones(3, 4));
}

}  // namespace
