// Measures simulators on the same placements of the same random graph, one thread, in turns.
// scripts/compare_simulators runs it and makes tables of what it prints: a line per simulator, its
// name, time per op and placement [ns], and mean step time of some placements [ns].
//
//   emplace_peers OPS ROUNDS [SIMGRID_OPTION...]
//   emplace_peers check    SimGrid against stream semantics where the two must agree

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/memory.h"
#include "simulator/simulator.h"
#include "tests/benchmarks/peers/simgrid_peer.h"
#include "tests/benchmarks/plain_pass.h"
#include "tests/benchmarks/random_graphs.h"

namespace {

using namespace emplace;
using namespace emplace::testing;
using Clock = std::chrono::steady_clock;

// SimGrid takes too long for all placements; the step times of these are compared.
constexpr std::size_t kNumCompared = 8;

struct Competitor {
  std::string name;
  std::function<void(std::vector<Nanos>& step_times)> run;   // fills as many as there is room for
  std::vector<Nanos> step_times;                             // [ns] of the first placements
  double fastest = std::numeric_limits<double>::infinity();  // per placement [ns]
};

// One turn: passes for a twentieth of a second, at least one.
void TakeTurn(Competitor& competitor) {
  const auto end = Clock::now() + std::chrono::milliseconds(50);
  do {
    const auto begin = Clock::now();
    competitor.run(competitor.step_times);
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    competitor.fastest = std::min(competitor.fastest,
                                  took.count() / static_cast<double>(competitor.step_times.size()));
  } while (Clock::now() < end);
}

Competitor Ours(const std::shared_ptr<const Problem>& problem,
                const std::vector<Placement>& placements,
                const SimulatorOptions& options) {
  const std::string name = std::string(ToString(options.semantics));
  return {"emplace, " + name + (options.memory ? ", memory" : ""),
          [simulator = std::shared_ptr<Evaluator>(MakeSimulator(problem, options)),
           outcomes = std::vector<Outcome>(placements.size()),
           &placements](std::vector<Nanos>& step_times) mutable {
            simulator->Evaluate(placements, outcomes);
            std::ranges::transform(outcomes, step_times.begin(), &Outcome::step_time);
          },
          std::vector<Nanos>(placements.size())};
}

void Compare(int num_ops, int rounds, const std::vector<std::string>& options) {
  const auto problem = RandomGraphProblem(num_ops);
  const std::vector<Placement> placements = VariedPlacements(*problem);
  PlainPass plain(*problem);
  SimGridPeer simgrid(*problem, options);
  const auto one_by_one = [&](auto step_time) {
    return [&placements, step_time](std::vector<Nanos>& step_times) {
      for (std::size_t i = 0; i < step_times.size(); ++i) step_times[i] = step_time(placements[i]);
    };
  };
  std::vector<Competitor> competitors{
      {"plain pass, stream",
       one_by_one([&](const Placement& p) { return plain.StepTime(p); }),
       std::vector<Nanos>(placements.size())}};
  for (const Semantics semantics : AllSemantics()) {
    for (const bool memory : {false, true}) {
      competitors.push_back(Ours(problem, placements, {.semantics = semantics, .memory = memory}));
    }
  }
  for (const auto& [name, use] : {std::pair{"SimGrid", SimGridUse::kReady},
                                  std::pair{"SimGrid, graph at once", SimGridUse::kGraph}}) {
    competitors.push_back(
        {name,
         one_by_one([&, use = use](const Placement& p) { return simgrid.StepTime(p, use); }),
         std::vector<Nanos>(kNumCompared)});
  }
  for (int round = 0; round < rounds; ++round) {
    for (Competitor& competitor : competitors) TakeTurn(competitor);
  }
  for (const Competitor& competitor : competitors) {
    const auto first = competitor.step_times.begin();
    std::printf("%s\t%.2f\t%.0f\n",
                competitor.name.c_str(),
                competitor.fastest / num_ops,
                std::accumulate(first, first + kNumCompared, 0.0) / kNumCompared);
  }
}

// Without latency, and with the issue order among the dependencies, SimGrid's fluid resources have
// nothing to share, and only rounding is left: stream semantics rounds every transfer up to whole
// nanoseconds, and of an op there are at most three, one per other device.
int Check() {
  const auto problem = RandomGraphProblem(1000, 0);
  SimGridPeer simgrid(*problem, {});
  const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kStream});
  for (const Placement& placement : VariedPlacements(*problem)) {
    const Nanos ours = simulator->Evaluate(placement).step_time;
    const Nanos theirs = simgrid.StepTime(placement, SimGridUse::kIssueOrder);
    if (theirs <= ours && ours - theirs <= 3 * problem->num_ops()) continue;
    std::fprintf(stderr,
                 "SimGrid's step time is %lld ns, stream semantics' %lld ns\n",
                 static_cast<long long>(theirs),
                 static_cast<long long>(ours));
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  KeepFreedMemory();  // as the program does
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments == std::vector<std::string>{"check"}) return Check();
  if (arguments.size() < 2) {
    std::fprintf(stderr, "emplace_peers OPS ROUNDS [SIMGRID_OPTION...] | emplace_peers check\n");
    return 2;
  }
  std::printf("%s\n", SimGridVersion().c_str());
  Compare(std::atoi(argv[1]), std::atoi(argv[2]), {arguments.begin() + 2, arguments.end()});
}
