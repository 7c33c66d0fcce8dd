#pragma once

#include <vector>

#include "profilers/executor/plan.h"

namespace emplace::testing {

/// Indices into plan.commands per stream, ascending. [num_streams]
inline std::vector<std::vector<int>> CommandsByStream(const ExecutionPlan& plan) {
  std::vector<std::vector<int>> streams(plan.num_streams());
  for (int c = 0; c < static_cast<int>(plan.commands.size()); ++c) {
    streams[plan.commands[c].stream].push_back(c);
  }
  return streams;
}

}  // namespace emplace::testing
