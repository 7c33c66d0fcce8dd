// Counts the instructions of evaluations of a random graph of 100 ops: the processor stops after
// each of them, which takes microseconds, so the graph is small. Prints the compiler and the
// instruction set that this was compiled for, then for each case its name and its instructions per
// op, or why it cannot run here.

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include <ucontext.h>
#include <x86intrin.h>

#include "simulator/lanes/lane_kernel.h"
#include "simulator/simulator.h"
#include "tests/benchmarks/random_graphs.h"

namespace {

using namespace emplace;

constexpr int kOps = 100, kPlacements = 16, kOneByOne = 2;
constexpr unsigned long long kTrapFlag = 0x100;

volatile std::int64_t instructions = 0;
volatile greg_t previous = 0;

// The processor also stops after each round of a `rep` instruction, which is counted once.
void CountInstruction(int, siginfo_t*, void* context) {
  const greg_t next = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  if (next != previous) instructions = instructions + 1;
  previous = next;
}

using Placements = std::span<const Placement>;
using Work = void (*)(Evaluator& evaluator, Placements placements);

void OneByOne(Evaluator& evaluator, Placements placements) {
  static std::vector<Outcome> outcome(1);
  for (std::size_t i = 0; i < kOneByOne; ++i) evaluator.Evaluate(placements.subspan(i, 1), outcome);
}

void Batch(Evaluator& evaluator, Placements placements) {
  static std::vector<Outcome> outcomes(kPlacements);
  evaluator.Evaluate(placements, outcomes);
}

// As many single moves of the first placement, spread over its ops.
void Moves(Evaluator& evaluator, Placements placements) {
  static std::vector<int> begin;
  static std::vector<Move> moves;
  static std::vector<Nanos> step_time(kPlacements);
  const Placement& base = placements[0];
  begin = {0};
  moves.clear();
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const auto group = i * base.device.size() / placements.size();
    moves.push_back({static_cast<int>(group), static_cast<DeviceIndex>(3 - base.device[group])});
    begin.push_back(static_cast<int>(moves.size()));
  }
  evaluator.EvaluateNeighbors({base, begin, moves}, {.step_time = step_time});
}

constexpr struct {
  const char* name;
  Semantics semantics;
  bool memory;
  int lanes;  // 0: one placement at a time
  int ops;    // simulated by the work
  Work work;
} kCases[] = {
    {"stream", Semantics::kStream, false, 0, kOneByOne* kOps, OneByOne},
    {"stream_memory", Semantics::kStream, true, 0, kOneByOne* kOps, OneByOne},
    {"stream_batch_8", Semantics::kStream, false, 8, kPlacements* kOps, Batch},
    {"stream_batch_16", Semantics::kStream, false, 16, kPlacements* kOps, Batch},
    {"stream_memory_batch_8", Semantics::kStream, true, 8, kPlacements* kOps, Batch},
    {"stream_memory_batch_16", Semantics::kStream, true, 16, kPlacements* kOps, Batch},
    {"stream_moves_8", Semantics::kStream, false, 8, kPlacements* kOps, Moves},
    {"stream_moves_16", Semantics::kStream, false, 16, kPlacements* kOps, Moves},
    {"stream_memory_moves_8", Semantics::kStream, true, 8, kPlacements* kOps, Moves},
    {"stream_memory_moves_16", Semantics::kStream, true, 16, kPlacements* kOps, Moves},
    {"queue", Semantics::kQueue, false, 0, kOneByOne* kOps, OneByOne},
    {"queue_memory", Semantics::kQueue, true, 0, kOneByOne* kOps, OneByOne},
};

bool HasLanes(int lanes) {
  const LaneKernel* kernel = FindLaneKernel(lanes);
  return lanes == 0 || (kernel != nullptr && kernel->lanes == lanes);
}

}  // namespace

int main() {
#if defined(__clang__)
  std::printf("Clang-%d %s\n", __clang_major__, EMPLACE_ARCH_LEVEL);
#else
  std::printf("GNU-%d %s\n", __GNUC__, EMPLACE_ARCH_LEVEL);
#endif
  struct sigaction action = {};
  action.sa_sigaction = CountInstruction;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, nullptr);
  const auto problem = testing::RandomGraphProblem(kOps);
  std::vector<Placement> placements = testing::VariedPlacements(*problem);
  placements.resize(kPlacements);
  for (const auto& [name, semantics, memory, lanes, ops, work] : kCases) {
    if (!HasLanes(lanes)) {
      std::printf("%s skipped: this processor has no %d lanes\n", name, lanes);
      continue;
    }
    const auto simulator =
        MakeSimulator(problem, {.semantics = semantics, .memory = memory, .most_lanes = lanes});
    work(*simulator, placements);  // buffers grow in the first call
    instructions = 0;
    __writeeflags(__readeflags() | kTrapFlag);
    work(*simulator, placements);
    __writeeflags(__readeflags() & ~kTrapFlag);
    std::printf("%s %.1f\n", name, static_cast<double>(instructions) / ops);
  }
}
