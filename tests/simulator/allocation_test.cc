// What simulators allocate once their buffers have grown: nothing. Counts every call of a global
// operator new in this program.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/simulator.h"
#include "tests/support/problems.h"
#include "tests/support/sanitizers.h"

namespace {

std::atomic<std::int64_t> g_allocations = 0;

}  // namespace

// A sanitizer has operators of its own. Those that are not here call these.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t size) {
  ++g_allocations;
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t size, std::align_val_t align) {
  ++g_allocations;
  const auto boundary = static_cast<std::size_t>(align);
  void* const memory = std::aligned_alloc(boundary, (size / boundary + 1) * boundary);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#endif

namespace {

using namespace emplace;
using namespace emplace::testing;

// A batch for every way of asking, and room for the answers.
struct AllocationBatch {
  AllocationBatch(const Problem& problem, int size, const OutcomeDetail& detail) : detail(detail) {
    Rng rng(11);
    for (int i = 0; i < size; ++i) {
      placements.push_back(RandomPlacement(rng, problem));
      const std::vector<DeviceIndex>& device = placements.back().device;
      rows.insert(rows.end(), device.begin(), device.end());
      const int group = UniformInt(rng, problem.num_groups());
      moves.push_back({group, device[group]});
      begin.push_back(static_cast<int>(moves.size()));
    }
    outcomes.resize(size);
    step_time.resize(size);
    deficit.resize(size);
    peak.resize(size_t(size) * problem.num_devices());
    busy.resize(size_t(size) * problem.num_devices());
  }
  OutcomeColumns columns() { return {step_time, deficit, peak, busy}; }

  OutcomeDetail detail;
  std::vector<Placement> placements;
  std::vector<DeviceIndex> rows;
  std::vector<int> begin{0};
  std::vector<Move> moves;
  std::vector<Outcome> outcomes;
  std::vector<Nanos> step_time, busy;
  std::vector<std::int64_t> deficit, peak;
};

struct WayOfAsking {
  std::string_view name;
  void (*ask)(Evaluator& evaluator, AllocationBatch& batch);
};

const WayOfAsking kWaysOfAsking[] = {
    {"Evaluate",
     [](Evaluator& evaluator, AllocationBatch& b) {
       evaluator.Evaluate(b.placements, b.outcomes, b.detail);
     }},
    {"EvaluateRows",
     [](Evaluator& evaluator, AllocationBatch& b) {
       const auto num_groups = static_cast<size_t>(evaluator.problem().num_groups());
       evaluator.EvaluateRows({b.rows.data(), b.placements.size(), num_groups}, b.columns());
     }},
    {"EvaluateNeighbors",
     [](Evaluator& evaluator, AllocationBatch& b) {
       evaluator.EvaluateNeighbors({b.placements[0], b.begin, b.moves}, b.columns());
     }},
};

// Allocations of a call after one that was the same.
std::int64_t AllocationsOf(const WayOfAsking& way, Evaluator& evaluator, AllocationBatch& batch) {
  way.ask(evaluator, batch);
  const std::int64_t before = g_allocations;
  way.ask(evaluator, batch);
  return g_allocations - before;
}

template <class F>
void ForEverySimulator(int threads, const F& f) {
  Rng rng(5);
  const RandomProblemOptions all{.num_ops = 60, .num_devices = 4};
  RandomProblemOptions plain = all;  // for which queue semantics has a faster run
  plain.slots = plain.shared_channels = plain.hops = plain.host_costs = plain.occupies = false;
  for (const RandomProblemOptions& options : {all, plain}) {
    const auto problem = RandomProblem(rng, options);
    for (const Semantics semantics : AllSemantics()) {
      for (const bool memory : {false, true}) {
        CAPTURE(ToString(semantics));
        CAPTURE(memory);
        f(*MakeSimulator(problem, {.semantics = semantics, .memory = memory, .threads = threads}));
      }
    }
  }
}

TEST_CASE("the counter of allocations counts" * doctest::skip(kUnderSanitizers)) {
  struct alignas(64) Line {
    char bytes[64];
  };
  const std::int64_t before = g_allocations;
  std::vector<int> numbers(3);
  std::vector<Line> lines(2);
  numbers.push_back(4);
  CHECK(g_allocations - before == 3);
}

TEST_CASE("a second call on one thread allocates nothing" * doctest::skip(kUnderSanitizers)) {
  ForEverySimulator(1, [](Evaluator& simulator) {
    for (const WayOfAsking& way : kWaysOfAsking) {
      CAPTURE(way.name);
      for (const bool detail : {false, true}) {
        AllocationBatch batch(simulator.problem(), 32, {.channels = detail, .op_times = detail});
        CHECK(AllocationsOf(way, simulator, batch) == 0);
      }
    }
  });
}

TEST_CASE("on two threads a call allocates what starting them takes, whatever the batch" *
          doctest::skip(kUnderSanitizers)) {
  ForEverySimulator(2, [](Evaluator& simulator) {
    for (const WayOfAsking& way : kWaysOfAsking) {
      CAPTURE(way.name);
      AllocationBatch few(simulator.problem(), 40, {}), many(simulator.problem(), 64, {});
      // A worker's first share of a batch makes its buffers; which call that is depends on who is
      // free first.
      const auto least = [&](AllocationBatch& batch) {
        std::int64_t allocations = AllocationsOf(way, simulator, batch);
        for (int i = 0; i < 20; ++i) {
          allocations = std::min(allocations, AllocationsOf(way, simulator, batch));
        }
        return allocations;
      };
      const std::int64_t allocations = least(few);
      CHECK(allocations < 10);
      CHECK(least(many) == allocations);
    }
  });
}

}  // namespace
