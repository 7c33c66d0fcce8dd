#include "experiments/sweep/sweep.h"

#include <fmt/format.h>

namespace emplace {

std::string RunTitle(const SweepPlan& plan, int run) {
  return fmt::format("#{} {}", run, plan.runs[run].description);
}

std::string LabelOfRun(const SweepPlan& plan, int run) {
  const SweepRun& entry = plan.runs[run];
  return SearchLabel(plan.configs[entry.config].agents[entry.agent], entry.seed);
}

ResultRun StateOfRun(const Sweep& sweep, int run) {
  return ReadRunState(sweep.folder.run(run), LabelOfRun(sweep.plan, run));
}

SweepTask MakeTask(const Sweep& sweep, int run) {
  const int problem = sweep.problems.of_config[sweep.plan.runs[run].config];
  return {PlanOfRun(sweep.plan, sweep.plan.runs[run]),
          &sweep.problems.problems[problem],
          RunTitle(sweep.plan, run),
          sweep.folder.run(run),
          sweep.provenance};
}

}  // namespace emplace
