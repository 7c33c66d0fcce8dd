#include "tests/support/toy_problems.h"

#include <fmt/format.h>

#include "tests/support/problems.h"

namespace emplace::testing {
namespace {

constexpr Nanos kMillisecond = 1'000'000;
constexpr Nanos kLatency = 5 * kMillisecond;

std::vector<Nanos> Milliseconds(std::vector<Nanos> times) {
  for (Nanos& time : times) time *= kMillisecond;
  return times;
}

ProblemBuilder Devices(int count) {
  ProblemBuilder builder;
  for (int d = 0; d < count; ++d) builder.Device(fmt::format("gpu:{}", d));
  builder.AllToAll(kLatency, kGigabytePerSecond);
  return builder;
}

}  // namespace

ToyProblem TwoChains() {
  ProblemBuilder builder = Devices(2);
  for (const char chain : {'a', 'b'}) {
    int last = -1;
    for (int i = 0; i < 4; ++i) {
      const std::vector<int> inputs = i == 0 ? std::vector<int>{} : std::vector<int>{last};
      last = builder.Op(fmt::format("{}{}", chain, i), Milliseconds({10}), inputs);
    }
  }
  return {"two chains", builder.Build(), 40 * kMillisecond};
}

ToyProblem HeavyEdge() {
  ProblemBuilder builder = Devices(2);
  int last = -1;
  for (int i = 0; i < 8; ++i) {
    const std::vector<Nanos> costs = i < 4    ? std::vector<Nanos>{10, 30}
                                     : i == 4 ? std::vector<Nanos>{20, 10}
                                              : std::vector<Nanos>{30, 10};
    const std::vector<int> inputs = i == 0 ? std::vector<int>{} : std::vector<int>{last};
    // 95 MB at 1 GB/s take 95 ms more than the latency.
    const std::int64_t bytes = i == 3 ? 95'000'000 : 0;
    last = builder.Op(fmt::format("op{}", i), Milliseconds(costs), inputs, bytes);
  }
  return {"heavy edge", builder.Build(), 95 * kMillisecond};
}

ToyProblem Star() {
  ProblemBuilder builder = Devices(3);
  const int hub = builder.Op("hub", Milliseconds({10, 10, 100}));
  for (int i = 0; i < 8; ++i) {
    builder.Op(fmt::format("leaf{}", i), Milliseconds({10, 10, 100}), {hub});
  }
  return {"star", builder.Build(), 55 * kMillisecond};
}

std::vector<ToyProblem> ToyProblems() {
  return {TwoChains(), HeavyEdge(), Star()};
}

}  // namespace emplace::testing
