#include "agents/seq2seq/seq2seq_agent.h"

#include <doctest/doctest.h>

#include "tests/agents/seq2seq/small_seq2seq.h"

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

}  // namespace
