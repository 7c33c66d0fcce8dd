#include "profilers/measure/traced_steps.h"

#include <algorithm>
#include <utility>

#include "framework/cost/op_signature.h"
#include "profilers/measure/cost_table_entries.h"

namespace emplace {
namespace {

// Returns the device that a command occupies; -1: none.
int HomeOf(const Problem& problem,
           std::span<const DeviceIndex> device_of_op,
           const ExecutionPlan& plan,
           const PlanCommand& command) {
  if (command.type == PlanCommand::Type::kOp) return device_of_op[command.op];
  const Occupies occupies = problem.cluster().channel(command.stream - plan.num_devices).occupies;
  if (OccupiesSource(occupies)) return command.source.device;
  if (OccupiesDestination(occupies)) return command.destinations.at(0).device;
  return -1;
}

TracedSubject SubjectOf(const Problem& problem,
                        const PlanCommand& command,
                        int home,
                        std::span<const std::int64_t> cold_bytes) {
  TracedSubject subject{
      .kind = problem.cluster().kind_of(home).name, .work_class = kTransferClass, .signature = {}};
  if (command.type == PlanCommand::Type::kCopy) {
    subject.bytes = command.bytes;
  } else {
    subject.signature = OpSignature(problem.graph(), command.op);
    subject.work_class = ToString(NewMeasurement(problem.graph(), command.op).op_class);
    subject.bytes = cold_bytes[command.op];
  }
  return subject;
}

// Returns an op's own values if it has some, else those of its class.
Interference FiguresOf(const CostTable& table, const TracedSubject& subject) {
  const KindCosts* const costs = table.Find(subject.kind);
  if (costs == nullptr) return {};
  const OpMeasurement* const op = costs->Find(subject.signature);
  if (op != nullptr && op->interference) return *op->interference;
  const auto found = costs->kind.interference.find(subject.work_class);
  return found == costs->kind.interference.end() ? Interference{} : found->second;
}

}  // namespace

bool HasWork(const ExecutionPlan& plan, const PlanCommand& command) {
  return command.type == PlanCommand::Type::kCopy ? command.bytes > 0
                                                  : !plan.ops[command.op].work.calls.empty();
}

void ForEachPiece(const TracedPlacement& traced,
                  int step,
                  int device,
                  const TracedActivity& activity,
                  const std::function<void(std::span<const int>, Nanos)>& fn) {
  struct Change {
    Nanos time = 0;
    bool begins = false;
    int subject = 0;
  };
  std::vector<Change> changes;
  const auto& of_device = traced.steps[step];
  for (size_t e = 0; e < of_device.size(); ++e) {
    if (!(traced.neighbors[device] >> e & 1)) continue;
    auto other = std::ranges::upper_bound(
        of_device[e], activity.start, {}, [](const TracedActivity& a) { return a.finish; });
    // Activities of a device do not overlap, so those that finish later start later.
    for (; other != of_device[e].end() && other->start < activity.finish; ++other) {
      changes.push_back({std::max(other->start, activity.start), true, other->subject});
      changes.push_back({std::min(other->finish, activity.finish), false, other->subject});
    }
  }
  std::ranges::stable_sort(changes, {}, &Change::time);
  changes.push_back({activity.finish, true, 0});
  std::vector<int> beside;
  Nanos since = activity.start;
  for (const Change& change : changes) {
    if (change.time > since) fn(beside, change.time - since);
    since = change.time;
    if (change.begins) {
      beside.push_back(change.subject);
    } else {
      beside.erase(std::ranges::find(beside, change.subject));
    }
  }
}

TracedPlacement TracePlacement(const Problem& problem,
                               std::span<const DeviceIndex> device_of_op,
                               std::span<const std::int64_t> cold_bytes,
                               const StepMeasurement& measurement) {
  const ExecutionPlan& plan = *measurement.plan;
  TracedPlacement traced;
  for (const Device& device : problem.cluster().devices()) {
    traced.neighbors.push_back(device.neighbors);
  }
  std::vector<std::pair<int, int>> home_and_subject;  // [num_commands]
  for (const PlanCommand& command : plan.commands) {
    int home = HomeOf(problem, device_of_op, plan, command);
    if (!HasWork(plan, command)) home = -1;
    home_and_subject.emplace_back(home, static_cast<int>(traced.subjects.size()));
    if (home < 0) continue;
    traced.subjects.push_back(SubjectOf(problem, command, home, cold_bytes));
  }
  for (const StepRecord& trace : measurement.traces) {
    auto& of_device = traced.steps.emplace_back(problem.num_devices());
    for (size_t c = 0; c < plan.commands.size(); ++c) {
      const auto [home, subject] = home_and_subject[c];
      if (home < 0 || trace.finish[c] <= trace.start[c]) continue;
      of_device[home].push_back({subject, trace.start[c], trace.finish[c]});
    }
    for (auto& activities : of_device) {
      std::ranges::sort(activities, {}, &TracedActivity::finish);
    }
  }
  return traced;
}

std::map<std::pair<std::string, std::string>, ApartTimesOfOp> ApartTimes(const TracedSteps& steps,
                                                                         const CostTable& table) {
  std::map<std::pair<std::string, std::string>, ApartTimesOfOp> apart;
  for (const auto& traced : steps) {
    std::vector<Interference> figures;           // [subjects]
    std::vector<std::vector<double>*> times_of;  // [subjects] nullptr: a copy
    for (const TracedSubject& subject : traced->subjects) {
      figures.push_back(FiguresOf(table, subject));
      times_of.push_back(subject.signature.empty()
                             ? nullptr
                             : &apart[{subject.kind, subject.signature}][subject.bytes]);
    }
    ForEachActivity(*traced, [&](int step, int d, const TracedActivity& activity) {
      if (times_of[activity.subject] == nullptr) return;
      double work = 0;  // in 1/1024 ns
      ForEachPiece(*traced, step, d, activity, [&](std::span<const int> beside, Nanos length) {
        std::int64_t excess = 0;
        for (const int other : beside) {
          excess += InterferenceExcess(figures[activity.subject], figures[other]);
        }
        work += static_cast<double>(InterferenceRate(excess)) * static_cast<double>(length);
      });
      times_of[activity.subject]->push_back(work / kInterferenceOne);
    });
  }
  return apart;
}

}  // namespace emplace
