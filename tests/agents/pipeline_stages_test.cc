#include "agents/pipeline_stages/pipeline_stages.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/contiguous/contiguous.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Forward ops f0 ... f3 of 10 each; backward ops b3 ... b0 of 20 each, which name their forward op.
ProblemBuilder FourLayers() {
  ProblemBuilder builder = Gpus(2);
  int last = -1;
  for (int i = 0; i < 4; ++i) {
    last =
        builder.Op(fmt::format("f{}", i), {10}, last < 0 ? std::vector<int>{} : std::vector{last});
  }
  for (int i = 3; i >= 0; --i) {
    last = builder.Op(fmt::format("b{}", i), {20}, {last});
    builder.op(last).phase = Phase::kBackward;
    builder.op(last).attributes = fmt::format(R"({{"forward_op": "f{}"}})", i);
  }
  return builder;
}

TEST_CASE("backward ops are beside their forward ops") {
  const auto problem = FourLayers().Build();
  // Layers of 30: 60 per stage.
  CHECK(PipelineStagesPlacement(*problem, {0, 1}).device ==
        std::vector<DeviceIndex>{0, 0, 1, 1, 1, 1, 0, 0});
  // Contiguous blocks know nothing of it: of 120 the first 60 are f0 ... f3 and b3.
  CHECK(ContiguousPlacement(*problem, {0, 1}).device ==
        std::vector<DeviceIndex>{0, 0, 0, 0, 0, 1, 1, 1});
}

TEST_CASE("updates and parameters stay with their label") {
  ProblemBuilder builder = FourLayers();
  const int w = builder.Op("w", {0}, {}, 8);
  builder.op(w).kind = "parameter";
  builder.op(w).colocate = "w";
  builder.op(0).inputs.push_back(builder.op(w).outputs[0]);
  const int update = builder.Op("update", {1}, {7, w});
  builder.op(update).colocate = "w";
  const auto problem = builder.Build();
  const Placement placement = PipelineStagesPlacement(*problem, {0, 1});
  CHECK(placement.device[w] == 0);
  CHECK(placement.device[update] == placement.device[w]);
}

TEST_CASE("a parameter and its update are in the stage of the first op that reads it") {
  ProblemBuilder builder = FourLayers();
  const int w = builder.Op("w", {0}, {}, 8);
  builder.op(w).kind = "parameter";
  builder.op(w).colocate = "w";
  for (const int reader : {2, 3}) builder.op(reader).inputs.push_back(builder.op(w).outputs[0]);
  const int update = builder.Op("update", {1}, {5, w});
  builder.op(update).colocate = "w";
  const auto problem = builder.Build();
  // Layers of 30, 30, 31 and 30; the parameter comes first in topological order.
  CHECK(PipelineStagesPlacement(*problem, {0, 1}).device ==
        std::vector<DeviceIndex>{0, 0, 1, 1, 1, 1, 0, 0, 1, 1});
}

TEST_CASE("ops that would join but share no device are placed each by itself") {
  ProblemBuilder builder = Gpus(2);
  const int f = builder.Op("f", {kMaxNanos, 10});
  const int b = builder.Op("b", {20, kMaxNanos}, {f});
  builder.op(b).attributes = R"({"forward_op": "f"})";
  CHECK(PipelineStagesPlacement(*builder.Build(), {0, 1}).device == std::vector<DeviceIndex>{1, 0});
}

TEST_CASE("without forward ops it is the contiguous placement") {
  Rng rng(11);
  for (int trial = 0; trial < 20; ++trial) {
    CAPTURE(trial);
    const auto problem = MixedProblem(rng, 5 + UniformInt(rng, 40), 3, kUnlimitedMemory);
    CHECK(PipelineStagesPlacement(*problem, {1, 2, 3}) == ContiguousPlacement(*problem, {1, 2, 3}));
  }
}

}  // namespace
