#include "tests/support/lane_problems.h"

#include <algorithm>

#include <fmt/format.h>

#include "simulator/reference/reference.h"

namespace emplace::testing {

std::shared_ptr<const Problem> RandomLaneProblem(Rng& rng, int round) {
  RandomProblemOptions options{.num_ops = 1 + UniformInt(rng, 60),
                               .num_devices = 1 + UniformInt(rng, 6)};
  const bool plain = round % 3 == 0;
  if (plain) {
    options.slots = options.shared_channels = options.hops = options.broadcast = false;
    options.occupies = false;
    options.setups = round % 2 == 1;
    options.host_costs = round % 8 < 4;
    options.gaps = round % 4 < 2;
    if (round % 2 == 1) {
      options.shared_channels = true;
      options.sharing = 1;
      options.num_devices = round % 12 == 3 ? 5 : 3;
    }
  }
  if (round % 11 == 0) options.num_devices = 9 + UniformInt(rng, 12);
  if (plain && round % 2 == 0) options.num_devices = 4;
  options.forbidden = round % 5 == 4;
  if (round % 8 == 6) {  // some steps and most memories do not fit into 32 bits
    options.num_ops += 40;
    options.ties = false;
    options.longest = 100'000'000;
    options.largest = 500'000'000;
  }
  const auto single = RandomProblem(rng, options);
  if (options.forbidden || round % 2 == 0) return single;
  std::vector<int> label;
  const int groups = 1 + UniformInt(rng, options.num_ops);
  for (int v = 0; v < options.num_ops; ++v) label.push_back(UniformInt(rng, groups));
  return std::make_shared<Problem>(std::make_shared<Graph>(single->graph()),
                                   Grouping(label),
                                   std::make_shared<Cluster>(single->cluster()),
                                   single->costs(),
                                   Objective::kStepTime,
                                   ProblemChecks::kPlacementOnly);
}

std::vector<Outcome> ReferenceOutcomes(const Problem& problem,
                                       const std::vector<Placement>& placements,
                                       const SimulatorOptions& options) {
  std::vector<Outcome> outcomes;
  for (const Placement& placement : placements) {
    outcomes.push_back(
        SimulateReference(problem, ExpandPlacement(placement, problem.grouping()), options)
            .outcome);
  }
  return outcomes;
}

std::string LaneDifference(const Outcome& outcome, const Outcome& expected) {
  if (outcome.step_time != expected.step_time) {
    return fmt::format("step time {} instead of {}", outcome.step_time, expected.step_time);
  }
  for (size_t d = 0; d < expected.devices.size(); ++d) {
    const auto &a = outcome.devices[d], &b = expected.devices[d];
    if (a.busy != b.busy) return fmt::format("busy of device {}: {} not {}", d, a.busy, b.busy);
    if (a.peak != b.peak) return fmt::format("peak of device {}: {} not {}", d, a.peak, b.peak);
    if (a.deficit != b.deficit) return fmt::format("deficit of device {}", d);
  }
  return outcome.feasible == expected.feasible ? "" : "feasible";
}

ColumnStorage::ColumnStorage(std::size_t n, int num_devices)
    : step_time(n, -1), busy(n * num_devices, -1), deficit(n, -1), peak(n * num_devices, -1) {
}

OutcomeColumns ColumnStorage::columns() {
  return {.step_time = step_time, .deficit = deficit, .peak = peak, .busy = busy};
}

Outcome ColumnStorage::row(std::size_t i, const Problem& problem) const {
  const int num_devices = problem.num_devices();
  Outcome outcome{.step_time = step_time[i], .feasible = deficit[i] == 0};
  for (int d = 0; d < num_devices; ++d) {
    const std::int64_t bytes = peak[i * num_devices + d];
    const std::int64_t missing =
        std::max<std::int64_t>(0, bytes - problem.cluster().device(d).memory);
    outcome.devices.push_back({busy[i * num_devices + d], bytes, missing});
  }
  return outcome;
}

}  // namespace emplace::testing
