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

}  // namespace

ToyProblem TwoChains() {
  ProblemBuilder builder = Gpus(2, kLatency);
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
  ProblemBuilder builder = Gpus(2, kLatency);
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
  ProblemBuilder builder = Gpus(3, kLatency);
  const int hub = builder.Op("hub", Milliseconds({10, 10, 100}));
  for (int i = 0; i < 8; ++i) {
    builder.Op(fmt::format("leaf{}", i), Milliseconds({10, 10, 100}), {hub});
  }
  return {"star", builder.Build(), 55 * kMillisecond};
}

std::shared_ptr<const Problem> Sorting(const std::string& letters) {
  ProblemBuilder builder = Gpus(2);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const bool first = letters[i] == 'a';
    const int op =
        builder.Op(fmt::format("op{}", i), Milliseconds({first ? 10 : 40, first ? 40 : 10}));
    builder.op(op).kind = std::string(1, letters[i]);
  }
  return builder.Build();
}

Placement Sorted(const std::string& letters) {
  Placement placement;
  for (char letter : letters) placement.device.push_back(letter == 'a' ? 0 : 1);
  return placement;
}

std::vector<ToyProblem> ToyProblems() {
  return {TwoChains(), HeavyEdge(), Star()};
}

}  // namespace emplace::testing
