#pragma once

// Runs and layouts for tests of tables, without files where none are needed.

#include <cmath>
#include <limits>
#include <string>

#include "experiments/table/result_table.h"
#include "framework/base/error.h"
#include "tests/experiments/program_files.h"

namespace emplace::testing {

inline constexpr double kOom = std::numeric_limits<double>::infinity();

/// A finished run. @param seconds  step time of its best placement [s]; kOom: none fits
inline ResultRun MakeRun(const std::string& graph,
                         const std::string& agent,
                         std::uint64_t seed,
                         double seconds) {
  ResultRun run;
  run.keys = {{"graph", graph}, {"cluster", "2xk80"}, {"semantics", "queue"}};
  run.agent = agent;
  run.seed = seed;
  run.uses_seed = true;
  run.title = graph + " " + agent + " " + std::to_string(seed);
  run.progress = RunProgress::kDone;
  run.best_ns = std::round(seconds * 1e9);
  return run;
}

/// Finished runs of one agent with the seeds 0, 1, ...
inline void AddRuns(ResultRuns& runs,
                    const std::string& graph,
                    const std::string& agent,
                    const std::vector<double>& seconds) {
  for (size_t i = 0; i < seconds.size(); ++i) {
    runs.runs.push_back(MakeRun(graph, agent, i, seconds[i]));
  }
}

inline TableLayout LayoutOf(const std::string& yaml) {
  return ReadTableLayout(ConfigNode::FromString(yaml, "t.yaml"));
}

inline bool Holds(const std::string& text, const std::string& fragment) {
  return text.find(fragment) != std::string::npos;
}

inline void CheckHolds(const std::string& text, const std::string& fragment) {
  CAPTURE(text);
  CAPTURE(fragment);
  CHECK(Holds(text, fragment));
}

}  // namespace emplace::testing
