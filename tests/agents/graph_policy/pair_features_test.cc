// What the policy is told of pairs of groups and devices.

#include "agents/graph_policy/pair_features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "tests/agents/graph_policy/permuted_devices.h"
#include "tests/agents/shared/two_gpus.h"

namespace {

using namespace emplace;
using namespace emplace::testing;
using doctest::Approx;

std::map<std::string, double> NamedPair(const PairFeatures& features, int group, int device) {
  std::map<std::string, double> named;
  const int row = group * features.problem().num_devices() + device;
  for (int i = 0; i < PairFeatures::kCount; ++i) {
    named[PairFeatures::Names()[i]] = features.values()(row, i);
  }
  CHECK(named.size() == PairFeatures::kCount);
  return named;
}

// Of the step of 260 ns.
double RootOf(double nanoseconds) {
  return std::copysign(std::sqrt(std::abs(nanoseconds) / 260), nanoseconds);
}

TEST_CASE("a sender and its reader on two devices") {
  const TwoGpus example;  // a on gpu:0 sends 50 B, 60 ns, to b on gpu:1; c on gpu:0 is alone
  PairFeatures features(*example.problem);
  features.Set(example.placement, example.outcome);
  auto here = NamedPair(features, 0, 0), there = NamedPair(features, 0, 1);
  CHECK(here["allowed"] == 1);
  CHECK(here["here"] == 1);
  CHECK(there["here"] == 0);
  CHECK(here["sqrt(cost)"] == Approx(RootOf(100)));
  CHECK(here["log2(cost over least cost) / 4"] == 0);
  CHECK(here["sqrt(messages)"] == Approx(RootOf(60)));
  CHECK(there["sqrt(messages)"] == 0);
  CHECK(there["sqrt(messages now - then)"] == Approx(RootOf(60)));
  CHECK(there["sqrt(critical messages now - then)"] == Approx(RootOf(60)));
  CHECK(here["share of the bytes to later groups that are there"] == 0);
  CHECK(there["share of the bytes to later groups that are there"] == 1);
  CHECK(there["share of the bytes from earlier groups that are there"] == 0);
  CHECK(here["load with the group"] == Approx(160 / 260.0));
  CHECK(there["load with the group"] == Approx(200 / 260.0));
  CHECK(there["load with the group - largest load now"] == Approx(40 / 260.0));
  CHECK(here["work of the device meanwhile"] == Approx(1).epsilon(0.02));
  CHECK(there["work of the device meanwhile"] == Approx(0).epsilon(0.02));
  CHECK(here["sqrt(slack)"] == 0);
  CHECK(here["sqrt(critical time)"] == Approx(RootOf(100)));
  CHECK(here["sqrt(start to end)"] == Approx(RootOf(100)));
  CHECK(here["share of the bytes that stay on the device"] == 0);
  CHECK(here["mean load"] == Approx(130 / 260.0));
  CHECK(here["log2(devices) / 3"] == Approx(1 / 3.0));
  auto reader = NamedPair(features, 1, 0);
  CHECK(reader["share of the bytes from earlier groups that are there"] == 1);
  CHECK(reader["sqrt(messages now)"] == Approx(RootOf(60)));
  auto alone = NamedPair(features, 2, 1);
  CHECK(alone["sqrt(slack)"] == Approx(RootOf(100)));
  CHECK(alone["sqrt(waits)"] == Approx(RootOf(100)));
  CHECK(alone["log(1 + neighbours) / 2"] == 0);
  CHECK(features.work()[0] == Approx(100 / 260.0));
  CHECK(features.work()[2] == Approx(60 / 260.0));
  CHECK(features.later()->coeff(0, 1) == 1);
  CHECK(features.earlier()->coeff(1, 0) == 1);
  CHECK(features.earlier()->nonZeros() == 1);
}

TEST_CASE("permuted devices have permuted features") {
  const PermutedDevices one({0, 1, 2}), other({2, 0, 1});
  CHECK(one.outcome.step_time == other.outcome.step_time);
  PairFeatures features(*one.problem), permuted(*other.problem);
  features.Set(one.placement, one.outcome);
  permuted.Set(other.placement, other.outcome);
  constexpr std::array<int, 3> kOf = {2, 0, 1};
  for (int g = 0; g < one.problem->num_groups(); ++g) {
    for (int d = 0; d < 3; ++d) {
      CAPTURE(g);
      CAPTURE(d);
      const Matrix difference =
          permuted.values().row(g * 3 + d) - features.values().row(g * 3 + kOf[d]);
      CHECK(difference.cwiseAbs().maxCoeff() < 1e-5F);
    }
  }
}

TEST_CASE("features of random problems are finite, and 0 where a group may not run") {
  Rng rng(5);
  for (int round = 0; round < 40 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem = RandomProblem(rng, {.forbidden = round % 2 == 0});
    const Placement placement = RandomPlacement(rng, *problem);
    PairFeatures features(*problem);
    features.Set(placement,
                 MakeSimulator(problem, {})->Evaluate(placement, {.op_times = round % 3 != 0}));
    CHECK(features.values().allFinite());
    for (int g = 0; g < problem->num_groups(); ++g) {
      for (int d = 0; d < problem->num_devices(); ++d) {
        const auto row = features.values().row(g * problem->num_devices() + d);
        CHECK((row.cwiseAbs().sum() > 0) == problem->allowed(g, d));
      }
    }
  }
}

}  // namespace
