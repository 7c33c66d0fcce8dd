// The network of `graph_policy`.

#include "agents/graph_policy/pair_network.h"

#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "framework/config/setting_error.h"
#include "tests/agents/graph_policy/permuted_devices.h"
#include "tests/support/paths.h"
#include "tests/support/text.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

Matrix LogitsOf(const PairNetwork& network, const PermutedDevices& example) {
  PairFeatures features(*example.problem);
  features.Set(example.placement, example.outcome);
  Tape tape(/*differentiable=*/false);
  return tape.value(network.Logits(tape, features));
}

TEST_CASE("permuted devices have permuted logits, which differ from group to group") {
  Rng rng(1);
  const PairNetwork network(8, 2, rng);
  const Matrix logits = LogitsOf(network, PermutedDevices({0, 1, 2}));
  const Matrix permuted = LogitsOf(network, PermutedDevices({2, 0, 1}));
  REQUIRE(logits.rows() == 8);
  REQUIRE(logits.cols() == 3);
  CHECK((permuted.col(0) - logits.col(2)).cwiseAbs().maxCoeff() < 1e-4F);
  CHECK((permuted.col(1) - logits.col(0)).cwiseAbs().maxCoeff() < 1e-4F);
  CHECK((permuted.col(2) - logits.col(1)).cwiseAbs().maxCoeff() < 1e-4F);
  CHECK((logits.row(0) - logits.row(1)).cwiseAbs().maxCoeff() > 1e-3F);
  CHECK((logits.col(0) - logits.col(1)).cwiseAbs().maxCoeff() > 1e-3F);
}

TEST_CASE("what is far away is felt after as many rounds, and not before") {
  // A chain of six groups, one more byte between the last two.
  const auto chain = [](std::int64_t bytes) {
    ProblemBuilder builder = Gpus(2, 10);
    int last = -1;
    for (int v = 0; v < 6; ++v) {
      last = builder.Op(std::string(1, char('a' + v)),
                        {100},
                        v > 0 ? std::vector{last} : std::vector<int>{},
                        v == 4 ? bytes : 1);
    }
    return builder.Build();
  };
  const auto near = chain(1), far = chain(3);
  const Placement one{{0, 0, 0, 0, 0, 0}};
  const Outcome outcome = MakeSimulator(near, {})->Evaluate(one, {.op_times = true});
  for (const int rounds : {3, 4}) {  // from group 4, whose messages differ, to group 0
    Rng rng(2);
    PairNetwork network(8, rounds, rng);
    for (Parameter& parameter : network.parameters().all()) {  // no pools: neighbours alone
      if (parameter.name.find(".group") != std::string::npos ||
          parameter.name.find(".device") != std::string::npos) {
        parameter.value.setZero();
      }
    }
    const auto logits = [&](const std::shared_ptr<const Problem>& problem) {
      PairFeatures features(*problem);
      features.Set(one, outcome);
      Tape tape(/*differentiable=*/false);
      return Matrix(tape.value(network.Logits(tape, features)).row(0));
    };
    CAPTURE(rounds);
    CHECK((logits(near) == logits(far)) == (rounds < 4));
  }
}

TEST_CASE("a policy is what was written") {
  Rng rng(3);
  PairNetwork network(6, 1, rng);
  const PermutedDevices example({0, 1, 2});
  PairFeatures features(*example.problem);
  features.Set(example.placement, example.outcome);
  network.Normalize(features.values());
  const TempDir folder;
  const std::string file = (folder / "policy").string();
  std::ostringstream policy;
  network.SavePolicy(policy);
  std::ofstream(file) << policy.str();
  const auto read = PairNetwork::Read(file);
  CHECK(LogitsOf(*read, example) == LogitsOf(network, example));
  CHECK(LogitsOf(*network.Copy(), example) == LogitsOf(network, example));
  std::ofstream(file) << "emplace-policy 1 placeto\n";
  CHECK(Contains(MessageOf<SettingError>([&] { PairNetwork::Read(file); }),
                 "expected that of agent graph_policy, got that of agent placeto"));
  CHECK(Contains(MessageOf<SettingError>([&] { PairNetwork::Read("/no/such/file"); }),
                 "/no/such/file"));
}

}  // namespace
