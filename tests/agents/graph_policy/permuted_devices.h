#pragma once

// One problem with its devices in two orders: three devices of different speeds, links and
// memories, and a placement of eight ops.

#include <array>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "framework/search/evaluator.h"
#include "simulator/simulator.h"
#include "tests/support/problems.h"

namespace emplace::testing {

struct PermutedDevices {
  /// @param order  device i of the problem is device order[i] of {0, 1, 2}
  explicit PermutedDevices(std::array<int, 3> order) {
    constexpr std::array<Nanos, 3> kSpeed = {1, 2, 3}, kLatency = {5, 20, 40};
    std::array<int, 3> place{};
    ProblemBuilder builder;
    for (int i = 0; i < 3; ++i) {
      place[order[i]] = i;
      builder.Device(fmt::format("gpu:{}", order[i]), 1000 * (order[i] + 1));
    }
    for (int from = 0; from < 3; ++from) {
      for (int to = 0; to < 3; ++to) {
        if (from == to) continue;
        const int channel = builder.Channel(fmt::format("{}-{}", order[from], order[to]),
                                            kLatency[order[from]] + kLatency[order[to]],
                                            kGigabytePerSecond);
        builder.Route(from, to, {channel});
      }
    }
    const std::vector<std::vector<int>> inputs = {{}, {0}, {0}, {1}, {2}, {3, 4}, {5}, {1}};
    const std::vector<int> device = {0, 0, 1, 0, 1, 2, 2, 1};
    for (int v = 0; v < 8; ++v) {
      std::vector<Nanos> costs(3);
      for (int i = 0; i < 3; ++i) costs[i] = (100 + 7 * v) * kSpeed[order[i]];
      builder.Op(fmt::format("op{}", v), costs, inputs[v], 10 + 3 * v);
      placement.device.push_back(static_cast<DeviceIndex>(place[device[v]]));
    }
    problem = builder.Build();
    outcome = MakeSimulator(problem, {})->Evaluate(placement, {.op_times = true});
  }
  std::shared_ptr<const Problem> problem;
  Placement placement;
  Outcome outcome;
};

}  // namespace emplace::testing
