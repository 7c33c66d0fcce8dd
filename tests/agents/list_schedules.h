#pragma once

// Published examples and rules that the tests of several list schedulers share.

#include <array>
#include <memory>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/problems.h"

namespace emplace::testing {

/// Tasks t1, t2, ... on three processors; messages {from, to, time} in the unit of time.
inline std::shared_ptr<const Problem> TaskGraph(const std::vector<std::array<Nanos, 3>>& costs,
                                                const std::vector<std::array<int, 3>>& messages) {
  ProblemBuilder builder;
  for (int d = 0; d < 3; ++d) builder.Device(fmt::format("p{}", d + 1));
  builder.AllToAll(0, kGigabytePerSecond);
  for (std::size_t v = 0; v < costs.size(); ++v) {
    builder.Op(fmt::format("t{}", v + 1), {costs[v].begin(), costs[v].end()});
  }
  for (const auto& [from, to, bytes] : messages) {
    const int tensor = builder.AddOutput(from - 1, fmt::format("t{}->t{}", from, to), bytes);
    builder.op(to - 1).inputs.push_back(tensor);
  }
  return builder.Build();
}

/// Checks that ops of a schedule take their costs, await their inputs, which take 3 ns at least
/// from another device, and do not overlap on a device. Ops with a negative start are not in it.
template <class Schedule>
void CheckSchedule(const Problem& problem, const Schedule& schedule) {
  const auto device = ExpandPlacement(schedule.placement, problem.grouping());
  const auto &start = schedule.start, &finish = schedule.finish;
  for (int v = 0; v < problem.num_ops(); ++v) {
    if (start[v] < 0) continue;
    CHECK(finish[v] - start[v] == problem.costs().at(v, device[v]));
    for (int u : problem.graph().predecessors(v)) {
      if (finish[u] >= 0) CHECK(start[v] >= finish[u] + (device[u] == device[v] ? 0 : 3));
    }
    for (int u = 0; u < v; ++u) {
      if (start[u] < 0 || device[u] != device[v]) continue;
      const bool empty = start[u] == finish[u] || start[v] == finish[v];
      CHECK((empty || finish[u] <= start[v] || finish[v] <= start[u]));
    }
  }
}

}  // namespace emplace::testing
