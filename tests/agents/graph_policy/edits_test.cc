// Edits of a placement, drawn from a policy.

#include "agents/graph_policy/edits.h"

#include <cmath>
#include <set>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/config/setting_error.h"
#include "framework/learn/ops.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"
#include "tests/support/text.h"

namespace {

using namespace emplace;
using namespace emplace::testing;
using doctest::Approx;

std::shared_ptr<const Problem> Ops(int count, int num_gpus) {
  ProblemBuilder builder = Gpus(num_gpus);
  for (int v = 0; v < count; ++v) {
    builder.Op(fmt::format("op{}", v), {10}, v > 0 ? std::vector{v - 1} : std::vector<int>{}, 8);
  }
  return builder.Build();
}

constexpr EditConfig kSingles{.single = 1, .neighbors = 0, .block = 0, .whole = 0};
constexpr EditConfig kWholes{.single = 0, .neighbors = 0, .block = 0, .whole = 1};
constexpr EditConfig kBlocks{.single = 0, .neighbors = 0, .block = 1, .whole = 0};

TEST_CASE("a connected window has 2^U groups, also where its groups have neighbours inside") {
  const auto problem = Ops(8, 2);
  EditProposer proposer(*problem, {.single = 0, .neighbors = 1, .block = 0, .whole = 0});
  const Placement base{std::vector<DeviceIndex>(8, 0)};
  Rng rng(5);
  double decisions = 0;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    TriedEdits tried;
    EditBatch batch;
    proposer.Draw(rng, base, Matrix::Constant(8, 2, 0.5F), 1, false, tried, batch);
    decisions += static_cast<double>(batch.decisions.size()) / kDraws;
  }
  // U is uniform from 1 to log2(8 / 2) = 2. Rounded, 2^U is 2 below log2(2.5) = 1.32, 3 below
  // log2(3.5) = 1.81, else 4: 0.32 * 2 + 0.49 * 3 + 0.19 * 4 = 2.87.
  CHECK(decisions == Approx(2.87).epsilon(0.02));
}

TEST_CASE("groups that the policy would move are moved most, to where it would") {
  const auto problem = Ops(4, 3);
  EditProposer proposer(*problem, kSingles);
  const Placement base{{0, 0, 0, 0}};
  Matrix probability(4, 3);
  probability << 0.98F, 0.01F, 0.01F,  //
      0.1F, 0.6F, 0.3F,                //
      0.98F, 0.01F, 0.01F,             //
      0.94F, 0.03F, 0.03F;
  Rng rng(1);
  Matrix count = Matrix::Zero(4, 3);
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    TriedEdits tried;
    EditBatch batch;
    proposer.Draw(rng, base, probability, 1, false, tried, batch);
    REQUIRE(batch.size() == 1);
    const auto moves = batch.moves.Of(base).of(0);
    REQUIRE(moves.size() == 1);
    count(moves[0].group, moves[0].device) += 1.0F / kDraws;
  }
  // Weights 0.02, 0.9, 0.02, 0.06 and a fiftieth of their mean each: 0.025, 0.905, 0.025, 0.065 of
  // 1.02. Group 1 goes to gpu:1 in two of three cases.
  CHECK(count.row(1).sum() == Approx(0.905 / 1.02).epsilon(0.03));
  CHECK(count(1, 1) == Approx(0.905 / 1.02 * 2 / 3).epsilon(0.04));
  CHECK(count.row(3).sum() == Approx(0.065 / 1.02).epsilon(0.25));
  CHECK(count.col(0).sum() == 0);
}

TEST_CASE("the log-probability of a decision, by hand") {
  const auto problem = Ops(3, 3);
  const EditProposer proposer(*problem, {});
  const Placement base{{0, 0, 1}};
  EditBatch batch;
  batch.decisions = {{0, 0, 2, -1, 0, true}, {0, 1, 2, 2, 1.5F, false}, {1, 2, 1, -1, 0, false}};
  Matrix logits(3, 3);
  logits << 1, 2, 3, 0, 1, 0, 3, 2, 1;
  Tape tape;
  const Matrix& p = tape.value(proposer.LogProbability(tape, tape.Constant(logits), base, batch));
  REQUIRE(p.rows() == 3);
  CHECK(p(0, 0) == Approx(3 - std::log(std::exp(2.0) + std::exp(3.0))));  // not its own device
  CHECK(p(1, 0) == Approx(1.5 - std::log(1 + std::exp(1.0) + std::exp(1.5))));
  CHECK(p(2, 0) == Approx(2 - std::log(std::exp(1.0) + std::exp(2.0) + std::exp(3.0))));
}

TEST_CASE("whole edits are drawn group by group, the greedy one is the most probable") {
  const auto problem = Ops(2, 2);
  EditProposer proposer(*problem, kWholes);
  const Placement base{{0, 0}};
  Matrix probability(2, 2);
  probability << 0.25F, 0.75F, 0.6F, 0.4F;
  Rng rng(2);
  int both = 0, drawn = 0;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    TriedEdits tried;
    EditBatch batch;
    proposer.Draw(rng, base, probability, 2, true, tried, batch);
    REQUIRE(batch.size() >= 1);
    if (batch.size() < 2) continue;  // the two that do not count were drawn eight times
    ++drawn;
    const Neighbors edits = batch.moves.Of(base);
    REQUIRE(edits.of(0).size() == 1);  // (1, 0)
    CHECK(edits.of(0)[0].group == 0);
    for (const EditBatch::Decision& decision : batch.decisions) CHECK(decision.edit == 1);
    CHECK(batch.decisions.size() == 2);
    both += edits.of(1).size() == 2;
  }
  // Of the others (0, 1) has 0.25 * 0.4 and (1, 1) has 0.75 * 0.4: three of four.
  CHECK(drawn > 0.9 * kDraws);
  CHECK(both / double(drawn) == Approx(0.75).epsilon(0.04));
}

TEST_CASE("with attraction a block follows its pivot, without it does not") {
  const auto problem = Ops(64, 4);
  const Placement base{std::vector<DeviceIndex>(64, 0)};
  const Matrix probability = [] {
    Matrix p = Matrix::Constant(64, 4, 0.01F);
    p.col(0).setConstant(0.97F);
    return p;
  }();
  const auto moves_per_edit = [&](double attraction) {
    EditConfig config = kBlocks;
    config.attraction = attraction;
    EditProposer proposer(*problem, config);
    Rng rng(3);
    TriedEdits tried;
    EditBatch batch;
    proposer.Draw(rng, base, probability, 200, false, tried, batch);
    double moves = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      moves += static_cast<double>(batch.moves.Of(base).of(i).size());
    }
    return moves / static_cast<double>(batch.size());
  };
  CHECK(moves_per_edit(0) < 2);
  CHECK(moves_per_edit(20) > 5);
}

TEST_CASE("edits of random problems are new, and keep groups where they may run") {
  Rng rng(4);
  for (int round = 0; round < 20 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem = RandomProblem(rng, {.forbidden = true});
    EditProposer proposer(*problem, {});
    if (!proposer.any()) continue;
    const Placement base = RandomPlacement(rng, *problem);
    Matrix probability(problem->num_groups(), problem->num_devices());
    for (int g = 0; g < problem->num_groups(); ++g) {
      for (int d = 0; d < problem->num_devices(); ++d) {
        probability(g, d) = problem->allowed(g, d) ? static_cast<float>(Uniform01(rng)) : 0;
      }
      probability.row(g) /= probability.row(g).sum();
    }
    TriedEdits tried;
    std::set<std::vector<DeviceIndex>> seen = {base.device};
    for (int repeat = 0; repeat < 3; ++repeat) {
      EditBatch batch;
      proposer.Draw(rng, base, probability, 20, repeat == 0, tried, batch);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        Placement placement = base;
        batch.moves.Apply(i, placement.device);
        CHECK(seen.insert(placement.device).second);
        for (int g = 0; g < problem->num_groups(); ++g) {
          CHECK(problem->allowed(g, placement.device[g]));
        }
      }
    }
  }
}

TEST_CASE("weights that make no sense are named") {
  const auto problem = Ops(2, 2);
  const auto refusal = [&](const EditConfig& config) {
    return MessageOf<SettingError>([&] { EditProposer(*problem, config); });
  };
  CHECK(Contains(refusal({.single = 0, .neighbors = 0, .block = 0, .whole = 0}),
                 "expected a weight above 0"));
}

}  // namespace
