#include "framework/bounds/set_cover.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "framework/bounds/period_bound.h"
#include "simulator/simulator.h"
#include "tests/support/problems.h"
#include "tests/support/small_periods.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("no part with a placement of the period is refuted, and placements have its taken sets") {
  Rng rng(31);
  int refuted = 0, solved = 0;
  for (int trial = 0; trial < 60 * EMPLACE_TEST_SCALE; ++trial) {
    const auto problem = SmallPeriod(rng);
    const CompiledPeriod compiled(*problem);
    const Nanos known = MostPeriod(compiled);
    const std::function<bool()> stop = [] { return false; };
    SetCover cover(compiled, known, stop);
    REQUIRE(cover.usable());
    const std::vector<Placement> placements = AllPlacements(*problem);
    const std::vector<Outcome> outcomes = MakeSimulator(problem, {})->Evaluate(placements);
    const int n = problem->num_groups();
    for (int part_of = 0; part_of < 4; ++part_of) {
      PlacementPart part;
      for (int i = n < 2 ? 0 : UniformInt(rng, 3); i > 0; --i) {
        const int a = UniformInt(rng, n), b = (a + 1 + UniformInt(rng, n - 1)) % n;
        part.pairs.push_back({a, b, UniformInt(rng, 2) == 0});
      }
      const Nanos period = 1 + UniformInt(rng, static_cast<int>(std::min<Nanos>(known, 1000)));
      bool exists = false;
      for (std::size_t i = 0; i < placements.size(); ++i) {
        const auto& device = placements[i].device;
        exists = exists || (outcomes[i].feasible && outcomes[i].step_time <= period &&
                            std::ranges::all_of(part.pairs, [&](const PairDecision& pair) {
                              return (device[pair.first] == device[pair.second]) == pair.together;
                            }));
      }
      for (const bool quick : {false, true}) {
        PlacementPart tried = part;
        const SetCover::Answer answer = cover.Solve(tried, period, quick);
        REQUIRE(answer.result != SetCover::Answer::kStopped);
        const bool is_refuted = answer.result == SetCover::Answer::kRefuted;
        if (exists) CHECK_FALSE(is_refuted);
        refuted += is_refuted;
        solved += !is_refuted;
        if (is_refuted || answer.likely.empty()) continue;
        tried.taken.push_back(answer.likely[0]);
        const SetCover::Answer then = cover.Solve(tried, period, quick);
        if (then.device.empty()) continue;
        const std::vector<int>& groups = answer.likely[0].groups;
        for (int g = 0; g < n; ++g) {
          const bool is_taken = std::ranges::binary_search(groups, g);
          if (is_taken) CHECK(then.device[g] == then.device[groups[0]]);
        }
      }
    }
  }
  CHECK(refuted > 0);
  CHECK(solved > 0);
}

}  // namespace
