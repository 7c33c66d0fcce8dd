#include "experiments/run/search_record.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/graph/op_order.h"

namespace emplace {

std::vector<int> AsIssueOrder(const std::vector<std::int64_t>& ops,
                              const Graph& graph,
                              const std::string& where) {
  std::vector<int> order;
  for (const std::int64_t op : ops) {
    if (op < 0 || op >= graph.num_ops()) {
      throw InputError(fmt::format("{}: op {} of {}", where, op, graph.num_ops()));
    }
    order.push_back(static_cast<int>(op));
  }
  RequireOpOrder(graph, order, where);
  return order;
}

void VisitShares(RecordVisitor& v, CostSourceShares& shares) {
  for (int source = 0; source < kNumCostSources; ++source) {
    v.Field("cost_source_" + std::string(ToString(static_cast<CostSource>(source))),
            shares[source]);
  }
}

OutcomeRecord::OutcomeRecord(const MeteredEvaluator::Best& best, const CostSourceShares& shares)
    : step_time(best.outcome.step_time),
      feasible(best.outcome.feasible),
      evaluation(best.index),
      shares(shares) {
  for (const DeviceOutcome& device : best.outcome.devices) {
    busy.push_back(device.busy);
    peak.push_back(device.peak);
    deficit.push_back(device.deficit);
  }
}

Outcome OutcomeRecord::ToOutcome(int num_devices, const std::string& where) const {
  for (const auto* list : {&busy, &peak, &deficit}) {
    if (std::ssize(*list) == num_devices) continue;
    throw InputError(fmt::format("{}: expected numbers of {} devices", where, num_devices));
  }
  Outcome outcome{.step_time = step_time, .feasible = feasible};
  for (size_t d = 0; d < busy.size(); ++d)
    outcome.devices.push_back({busy[d], peak[d], deficit[d]});
  return outcome;
}

void OutcomeRecord::Visit(RecordVisitor& v) {
  v.Field("step_time_ns", step_time);
  v.Field("feasible", feasible);
  v.Field("evaluation", evaluation);
  VisitShares(v, shares);
  v.Field("busy_ns", busy);
  v.Field("peak_bytes", peak);
  v.Field("deficit_bytes", deficit);
}

void SearchRecord::Visit(RecordVisitor& v) {
  v.Field("agent", algorithm);
  v.Field("label", agent);
  v.Field("settings", settings);
  v.Field("uses_seed", uses_seed);
  v.Field("seed", seed);
  v.Field("evaluations", evaluations);
  v.Field("steps", steps);
  v.Field("seconds", seconds);
  v.Field("hardware_seconds", hardware_seconds);
  v.Field("steps_per_measurement", steps_per_measurement);
  v.Field("status", status);
  v.Field("error", error);
  v.Field("bound_ns", own_bound);
  v.Group("best/outcome", best);
}

std::vector<DeviceIndex> PlacementRecord::Devices(int num_ops,
                                                  int num_devices,
                                                  const std::string& where) const {
  std::vector<DeviceIndex> devices;
  for (const std::int64_t device : placement) {
    if (device < 0 || device >= num_devices) {
      throw InputError(fmt::format(
          "{}/placement: expected devices below {}, got {}", where, num_devices, device));
    }
    devices.push_back(static_cast<DeviceIndex>(device));
  }
  if (static_cast<int>(devices.size()) != num_ops) {
    throw InputError(
        fmt::format("{}/placement: expected {} devices, got {}", where, num_ops, devices.size()));
  }
  return devices;
}

std::vector<int> PlacementRecord::IssueOrder(const Graph& graph, const std::string& where) const {
  if (!issue_order) return {};
  return AsIssueOrder(*issue_order, graph, where + "/issue_order");
}

void PlacementRecord::Visit(RecordVisitor& v) {
  v.Field("placement", placement);
  v.Field("issue_order", issue_order);
}

void EvaluationRow::Visit(RecordVisitor& v) {
  double best = record.best_step_time < kMaxNanos ? static_cast<double>(record.best_step_time)
                                                  : std::numeric_limits<double>::quiet_NaN();
  v.Field("index", index);
  v.Field("wall_seconds", record.wall_seconds);
  v.Field("step_time_ns", record.step_time);
  v.Field("best_step_time_ns", best);
  v.Field("feasible", record.feasible);
  record.best_step_time = std::isnan(best) ? kMaxNanos : static_cast<Nanos>(best);
}

void EvaluationsRecord::Visit(RecordVisitor& v) {
  v.Rows("evaluations", evaluations);
}

void UpdatesRecord::Visit(RecordVisitor& v) {
  v.Field("updates", updates);
}

void SearchLists::Visit(RecordVisitor& v) {
  EvaluationsRecord::Visit(v);
  UpdatesRecord::Visit(v);
  v.Group("best", best);
  v.Field("checkpoint", checkpoint);
}

}  // namespace emplace
