#include "agents/m_sct/m_sct.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/config/setting_error.h"
#include "tests/support/agent_contract.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("the favourite child is on the longest chain") {
  // a(10) -> b(100) and a -> c(1), messages of 5. With x_ab = 0: w = 10 + 100 = 110, and c may
  // come 5 later. With x_ac = 0 it would be 115.
  ProblemBuilder builder = Gpus(2, 0);
  const int a = builder.Op("a", {10}, {}, 5);
  const int b = builder.Op("b", {100}, {a});
  builder.Op("c", {1}, {a});
  CHECK(FavoriteChildren(*builder.Build(), 0b11) == std::vector<int>{b, -1, -1});
}

TEST_CASE("an op is the favourite child of one of its parents: of the one that ends last") {
  // a(10) and b(30) both send 5 to c: w = max(10 + 5, 30) + 1 if c follows b, 36 if it follows a.
  ProblemBuilder builder = Gpus(2, 0);
  const int a = builder.Op("a", {10}, {}, 5);
  const int b = builder.Op("b", {30}, {}, 5);
  const int c = builder.Op("c", {1}, {a, b});
  CHECK(FavoriteChildren(*builder.Build(), 0b11) == std::vector<int>{-1, c, -1});
}

TEST_CASE("every op has at most one favourite child and is that of at most one op") {
  Rng rng(7);
  int chosen = 0;
  for (int trial = 0; trial < 60 * EMPLACE_TEST_SCALE; ++trial) {
    CAPTURE(trial);
    const auto problem = MixedProblem(rng, 2 + UniformInt(rng, 50), 3, kUnlimitedMemory);
    const std::vector<int> child = FavoriteChildren(*problem, 0b1110);
    std::vector<int> parents(problem->num_ops(), 0);
    for (int op = 0; op < problem->num_ops(); ++op) {
      if (child[op] < 0) continue;
      ++chosen;
      CHECK(++parents[child[op]] == 1);
      const auto successors = problem->graph().successors(op);
      CHECK(std::find(successors.begin(), successors.end(), child[op]) != successors.end());
      CHECK(problem->grouping().group_of(op) != problem->grouping().group_of(child[op]));
    }
  }
  CHECK(chosen > 100);
}

TEST_CASE("a device waits for the favourite child of its last op") {
  // gpu:0 has a 0-10, gpu:1 z 0-8; messages take 6. b can start on gpu:0 at 8 + 6 = 14, on gpu:1 at
  // 10 + 6 = 16; d on gpu:0 at 10, on gpu:1 at 16. ETF puts d on gpu:0 at 10, and b on gpu:1 at 16:
  // 36. With b the favourite child of a, gpu:0 waits (d is not everywhere before 16): b 14-34, d
  // 16-23 on gpu:1.
  ProblemBuilder builder = Gpus(2, 0);
  const int a = builder.Op("a", {10}, {}, 6);
  const int z = builder.Op("z", {8}, {}, 6);
  const int b = builder.Op("b", {20}, {a, z});
  const int d = builder.Op("d", {7}, {a});
  const auto problem = builder.Build();
  const EtfSchedule etf = ComputeEtf(*problem, 0b11, true);
  CHECK(etf.start[d] == 10);
  CHECK(etf.makespan == 36);
  const EtfSchedule sct = ComputeEtf(*problem, 0b11, true, true, {}, {b, -1, -1, -1});
  CHECK(sct.start[b] == 14);
  CHECK(sct.start[d] == 16);
  CHECK(sct.makespan == 34);
  CHECK(sct.placement.device == std::vector<DeviceIndex>{0, 1, 0, 1});
  CHECK(FavoriteChildren(*problem, 0b11) == std::vector<int>{b, -1, -1, -1});
}

TEST_CASE("an urgent op goes before the favourite child that is not there yet") {
  // As above without d, and with u(5) and v(4), which read nothing. gpu:1 takes u at 8; gpu:0,
  // which waits for b at 14, takes v at 10.
  ProblemBuilder builder = Gpus(2, 0);
  const int a = builder.Op("a", {10}, {}, 6);
  const int z = builder.Op("z", {8}, {}, 6);
  const int b = builder.Op("b", {20}, {a, z});
  const int u = builder.Op("u", {5});
  const int v = builder.Op("v", {4});
  const auto problem = builder.Build();
  const EtfSchedule sct = ComputeEtf(*problem, 0b11, true, true, {}, {b, -1, -1, -1, -1});
  CHECK(sct.start[u] == 8);   // on gpu:1 until 13
  CHECK(sct.start[v] == 10);  // on gpu:0 until 14
  CHECK(sct.start[b] == 14);
  CHECK(sct.makespan == 34);
}

TEST_CASE("without messages waiting changes nothing: m-SCT is m-ETF") {
  Rng rng(9);
  ProblemBuilder builder = Gpus(3, 0);
  for (int op = 0; op < 40; ++op) {
    std::vector<int> inputs;
    for (int i = 0; i < 2 && op > 0; ++i) inputs.push_back(UniformInt(rng, op));
    if (inputs.size() == 2 && inputs[0] == inputs[1]) inputs.pop_back();
    builder.Op(fmt::format("op{}", op), {1 + UniformInt(rng, 50)}, inputs);
  }
  const auto problem = builder.Build();
  const EtfSchedule etf = ComputeEtf(*problem, 0b111, true);
  const EtfSchedule sct =
      ComputeEtf(*problem, 0b111, true, true, {}, FavoriteChildren(*problem, 0b111));
  CHECK(sct.makespan == etf.makespan);
}

TEST_CASE("a graph that is too large for the linear programme is refused") {
  ProblemBuilder builder = Gpus(2);
  for (int op = 0; op < 5; ++op) builder.Op(fmt::format("op{}", op), {1});
  const auto problem = builder.Build();
  CHECK_NOTHROW(MSctAgent({problem, 0}, {.most_ops = 5}));
  CHECK(MessageOf<SettingError>([&] {
          MSctAgent({problem, 0}, {.most_ops = 4});
        }) ==
        "most_ops: graph \"test_graph\" has 5 ops, expected at most 4: the linear program grows "
        "with ops and dependencies; search the graph of the groups (simulate_groups: true), or use "
        "m_etf");
}

TEST_CASE("an interrupt ends the linear programme") {
  Rng rng(3);
  const auto problem = MixedProblem(rng, 30, 2, kUnlimitedMemory);
  const Interrupt at_once([] { return true; });
  CHECK_THROWS_AS(FavoriteChildren(*problem, 0b110, at_once), Interrupted);
}

}  // namespace
