// The work whose instructions tests/benchmarks/instructions.py counts: every case evaluates the
// same 64 placements of a random graph of 1,000 ops. Prints the compiler, then for each case its
// name and how many ops it simulated.

#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "simulator/simulator.h"
#include "tests/benchmarks/random_graphs.h"

namespace {

using namespace emplace;

using Placements = std::span<const Placement>;
using Outcomes = std::span<Outcome>;
using Work = void (*)(Evaluator& evaluator, Placements placements, Outcomes outcomes);

void OneByOne(Evaluator& evaluator, Placements placements, Outcomes outcomes) {
  for (std::size_t i = 0; i < placements.size(); ++i) {
    evaluator.Evaluate(placements.subspan(i, 1), outcomes.subspan(i, 1));
  }
}

// As many single moves of the first placement, spread over its ops.
void Moves(Evaluator& evaluator, Placements placements, Outcomes) {
  static std::vector<int> begin;
  static std::vector<Move> moves;
  static std::vector<Nanos> step_time;
  const Placement& base = placements[0];
  begin = {0};
  moves.clear();
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const auto group = i * base.device.size() / placements.size();
    moves.push_back({static_cast<int>(group), static_cast<DeviceIndex>(3 - base.device[group])});
    begin.push_back(static_cast<int>(moves.size()));
  }
  step_time.resize(placements.size());
  evaluator.EvaluateNeighbors({base, begin, moves}, {.step_time = step_time});
}

void Batch(Evaluator& evaluator, Placements placements, Outcomes outcomes) {
  evaluator.Evaluate(placements, outcomes);
}

constexpr struct {
  const char* name;
  Semantics semantics;
  bool memory;
  Work work;
} kCases[] = {
    {"stream", Semantics::kStream, false, OneByOne},
    {"stream_memory", Semantics::kStream, true, OneByOne},
    {"stream_batch", Semantics::kStream, false, Batch},
    {"stream_memory_batch", Semantics::kStream, true, Batch},
    {"stream_moves", Semantics::kStream, false, Moves},
    {"stream_memory_moves", Semantics::kStream, true, Moves},
    {"queue", Semantics::kQueue, false, OneByOne},
    {"queue_memory", Semantics::kQueue, true, OneByOne},
};

}  // namespace

// Callgrind knows the part to count by this name, and writes a file at the end of each call.
extern "C" [[gnu::noinline]] void CountInstructions(Work work,
                                                    Evaluator& evaluator,
                                                    Placements placements,
                                                    Outcomes outcomes) {
  work(evaluator, placements, outcomes);
}

int main() {
#if defined(__clang__)
  std::printf("Clang-%d\n", __clang_major__);
#else
  std::printf("GNU-%d\n", __GNUC__);
#endif
  const auto problem = testing::RandomGraphProblem(1000);
  const std::vector<Placement> placements = testing::VariedPlacements(*problem);
  std::vector<Outcome> outcomes(placements.size());
  for (const auto& [name, semantics, memory, work] : kCases) {
    const auto simulator = MakeSimulator(problem, {.semantics = semantics, .memory = memory});
    work(*simulator, placements, outcomes);  // buffers grow in the first call
    CountInstructions(work, *simulator, placements, outcomes);
    std::printf("%s %zu\n", name, placements.size() * problem->num_ops());
  }
}
