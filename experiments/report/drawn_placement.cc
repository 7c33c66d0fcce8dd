#include "experiments/report/drawn_placement.h"

#include <utility>

#include "experiments/console/output.h"
#include "experiments/problem/priority.h"
#include "framework/results/results_reader.h"
#include "simulator/reference/reference.h"

namespace emplace {

std::optional<DrawnPlacement> DrawPlacement(const ProblemRuns& problem,
                                            const std::string& placement,
                                            const RunFiles& files) {
  const bool is_file = IsPlacementFile(placement);
  const ResultRun* run = is_file ? nullptr : problem.Best(placement);
  if (run == nullptr) run = problem.Best();
  if (run == nullptr) return std::nullopt;
  const std::string where = run->file.string();
  const ResultsReader reader(run->file);
  const EarlierRun earlier = ReadRun(reader, files);

  DrawnPlacement drawn;
  drawn.origin = earlier.origin;
  std::vector<int> issue_order = earlier.issue_order;
  if (is_file) {
    drawn.label = placement;
    PlacementFile file = ReadPlacement(placement, *earlier.graph, *earlier.cluster, PrintWarning);
    drawn.device_of_op = std::move(file.device_of_op);
    issue_order = std::move(file.issue_order);
  } else {
    drawn.label = LabelOf(*run);
    const std::string best = run->group + "/best";
    const auto found = ReadRecord<PlacementRecord>(reader, best);
    drawn.device_of_op = found.Devices(
        earlier.graph->num_ops(), earlier.cluster->num_devices(), where + ": " + best);
    if (!earlier.simulate_groups && found.issue_order) {
      issue_order = found.IssueOrder(*earlier.graph, where + ": " + best);
    }
    drawn.searched = run->best.value().step_time;
  }
  drawn.problem = MakeRunProblem(earlier, where);
  drawn.ops = MakeExactProblem(earlier, where);
  SimulatorOptions how = HowSimulated(earlier, *drawn.ops);
  const bool by_rank = drawn.problem.simulate_groups && !earlier.issue_order.empty();
  drawn.best_single_device =
      BestSingleDevice(drawn.problem.searched,
                       WithPriority(how,
                                    by_rank ? Priority::kUpwardRank : Priority::kGiven,
                                    *drawn.problem.searched,
                                    earlier.issue_order));
  how = WithPriority(how, Priority::kGiven, *drawn.ops, issue_order);
  drawn.timeline = SimulateReference(*drawn.ops, drawn.device_of_op, how);
  drawn.weight.resize(drawn.ops->num_ops());
  for (const OpEvent& event : drawn.timeline.ops) {
    drawn.weight[event.op] = static_cast<double>(event.finish - event.start);
  }
  return drawn;
}

}  // namespace emplace
