#include "agents/seq2seq/seq2seq_agent.h"

#include <doctest/doctest.h>

#include "tests/agents/seq2seq/small_seq2seq.h"
#include "tests/support/chains.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("an update uses all samples, the last one what the budget leaves") {
  const auto problem = SmallProblem();
  Seq2SeqConfig config = SmallSeq2Seq();
  config.learning.samples = 8;
  config.learning.imitation_weight = 0.1;  // the imitated placement is not evaluated again
  Seq2SeqAgent agent({problem, 1}, config);
  const SearchTrace trace = RunAgent(agent, problem, 27);
  CHECK(trace.placements.size() == 27);
  CHECK(trace.states.size() == 4);
  CHECK(agent.updates()->num_rows() == 4);
}

TEST_CASE("at first the groups of a part choose alike") {
  const auto problem = Chain(60, 4);
  Seq2SeqConfig config = SmallSeq2Seq();
  config.network.logit_bound = 1e-6;  // all devices are equally likely
  config.parts = {.first = 2, .share = 0.1, .probability = 0};
  Seq2SeqAgent agent({problem, 1}, config);
  // Of 20 updates the first draws 2 parts, the second 8, the others groups.
  const SearchTrace trace = RunAgent(agent, problem, 20 * 8);
  for (int i = 0; i < 8; ++i) CHECK(NumDevicesUsed(trace.placements[i]) <= 2);
  for (int i = 16; i < 20 * 8; ++i) CHECK(NumDevicesUsed(trace.placements[i]) == 4);
}

}  // namespace
