#include "profilers/measure/in_situ.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/quantile.h"
#include "framework/cost/op_signature.h"
#include "framework/schedule/issue_order.h"
#include "framework/schedule/transfer_plan.h"
#include "profilers/measure/cost_table_entries.h"
#include "profilers/measure/step_interference.h"
#include "profilers/statistics/sampling.h"

namespace emplace {
namespace {

// Returns the bytes that each op reads cold. [num_ops] [B] An op without work touches no memory;
// its cold reads count for the first reader of its output on its device.
std::vector<std::int64_t> ColdBytes(const Problem& problem,
                                    std::span<const DeviceIndex> device_of_op,
                                    const ExecutionPlan& plan) {
  const Graph& graph = problem.graph();
  std::vector<std::int64_t> cold(graph.num_ops(), 0);
  for (const int v : IssueOrder(graph)) {
    for (const int t : ColdReads(graph, device_of_op, v)) cold[v] += graph.tensor(t).bytes;
    if (cold[v] == 0 || !plan.ops[v].work.calls.empty()) continue;
    int first = -1;
    for (const int t : graph.op(v).outputs) {
      for (const int reader : graph.readers(t)) {
        if (device_of_op[reader] == device_of_op[v] && (first < 0 || reader < first))
          first = reader;
      }
    }
    if (first >= 0) cold[first] += cold[v];
    cold[v] = 0;
  }
  return cold;
}

// The progress of a stream in a traced step.
struct StreamState {
  int last = -1;       // its last command with work; -1: none yet
  bool is_new = true;  // it has had no command at all
  Nanos ready = 0;     // when the latest command without work since `last` was ready
};

}  // namespace

void InSituTimings::Add(const Problem& problem,
                        std::span<const DeviceIndex> device_of_op,
                        const StepMeasurement& measurement) {
  EMPLACE_CHECK(measurement.plan != nullptr &&
                device_of_op.size() == static_cast<size_t>(problem.num_ops()));
  const ExecutionPlan& plan = *measurement.plan;
  const Graph& graph = problem.graph();
  const Cluster& cluster = problem.cluster();

  const std::vector<std::int64_t> cold = ColdBytes(problem, device_of_op, plan);

  // The destination of each command's times; nullptr: none.
  std::vector<std::vector<double>*> timings(plan.commands.size(), nullptr);
  for (size_t c = 0; c < plan.commands.size(); ++c) {
    const PlanCommand& command = plan.commands[c];
    if (!HasWork(plan, command)) continue;
    if (command.type == PlanCommand::Type::kCopy) {
      ChannelSamples& channel = copies_[cluster.channel(command.stream - plan.num_devices).name];
      const auto name_of = [&](const Address& address) {
        return address.device == kStaging ? "" : cluster.device(address.device).name;
      };
      channel.ends.insert({name_of(command.source), name_of(command.destinations.at(0))});
      timings[c] = &channel.timings[command.bytes];
      continue;
    }
    std::string signature = OpSignature(graph, command.op);
    OpSamples& samples =
        ops_[{cluster.kind_of(device_of_op[command.op]).name, std::move(signature)}];
    if (samples.timings.empty()) {
      samples.op = NewMeasurement(graph, command.op);
      samples.op.is_proxy = plan.ops[command.op].work.is_proxy();
    }
    timings[c] = &samples.timings[cold[command.op]];
  }
  for (const Device& device : cluster.devices()) {
    const DeviceKind& kind = cluster.kinds()[device.kind];
    kinds_.try_emplace(kind.name).first->second.kind = kind;
  }

  for (const StepRecord& trace : measurement.traces) {
    EMPLACE_CHECK(
        trace.start.size() == plan.commands.size() && trace.finish.size() == plan.commands.size(),
        fmt::format("{} of {} commands traced", trace.start.size(), plan.commands.size()));
    for (size_t c = 0; c < plan.commands.size(); ++c) {
      if (timings[c] == nullptr) continue;
      timings[c]->push_back(static_cast<double>(trace.finish[c] - trace.start[c]));
    }
    AddBetween(problem, plan, trace);
  }
  if (cluster.has_neighbors()) {
    steps_.push_back(std::make_shared<const TracedPlacement>(
        TracePlacement(problem, device_of_op, cold, measurement)));
  }
}

void InSituTimings::Add(const InSituTimings& other) {
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (const auto& [key, samples] : other.ops_) {
    OpSamples& own = ops_[key];
    if (own.timings.empty()) own.op = samples.op;
    for (const auto& [cold, timings] : samples.timings) append(own.timings[cold], timings);
  }
  for (const auto& [name, channel] : other.copies_) {
    ChannelSamples& own = copies_[name];
    own.ends.insert(channel.ends.begin(), channel.ends.end());
    for (const auto& [bytes, timings] : channel.timings) append(own.timings[bytes], timings);
  }
  for (const auto& [name, samples] : other.kinds_) {
    KindSamples& own = kinds_.try_emplace(name).first->second;
    own.kind = samples.kind;
    append(own.gaps, samples.gaps);
    append(own.waits, samples.waits);
    append(own.starts, samples.starts);
  }
  append(steps_, other.steps_);
}

void InSituTimings::AddBetween(const Problem& problem,
                               const ExecutionPlan& plan,
                               const StepRecord& trace) {
  std::vector<StreamState> streams(plan.num_streams());
  for (size_t c = 0; c < plan.commands.size(); ++c) {
    const PlanCommand& command = plan.commands[c];
    const bool is_copy = command.type == PlanCommand::Type::kCopy;
    const int device = is_copy ? command.source.device : command.stream;
    // A copy by its source's worker runs in sequence with the ops there.
    const bool by_source =
        is_copy && device != kStaging &&
        OccupiesSource(problem.cluster().channel(command.stream - plan.num_devices).occupies);
    StreamState& stream = streams[by_source ? device : command.stream];
    Nanos ready = 0;
    for (const int other : command.waits) ready = std::max(ready, trace.finish[other]);
    const bool was_new = std::exchange(stream.is_new, false);
    if (device != kStaging) {
      KindSamples& kind = kinds_.at(problem.cluster().kind_of(device).name);
      const double start = static_cast<double>(trace.start[c]);
      if (was_new && !is_copy && command.waits.empty()) kind.starts.push_back(start);
      if (HasWork(plan, command)) {
        const Nanos all_ready = std::max(ready, stream.ready);
        const bool follows = stream.last >= 0;
        if (follows && !is_copy && all_ready <= trace.start[stream.last]) {
          kind.gaps.push_back(start - static_cast<double>(trace.finish[stream.last]));
        } else if (!command.waits.empty() && ready == all_ready &&
                   (!follows || ready >= trace.finish[stream.last])) {
          const double free = follows ? static_cast<double>(ready - trace.finish[stream.last])
                                      : std::numeric_limits<double>::infinity();
          kind.waits.emplace_back(free, start - static_cast<double>(ready));
        }
      }
    }
    if (HasWork(plan, command)) {
      stream.last = static_cast<int>(c);
      stream.ready = 0;
    } else {
      stream.ready = std::max(stream.ready, ready);
    }
  }
}

InSituTimings InSituTimings::WithoutColdReads() const {
  InSituTimings warm = *this;
  for (auto& [key, samples] : warm.ops_) {
    std::vector<double> all;
    for (const auto& [bytes, timings] : samples.timings) {
      all.insert(all.end(), timings.begin(), timings.end());
    }
    samples.timings.clear();
    if (!all.empty()) samples.timings[0] = std::move(all);
  }
  return warm;
}

double InSituTimings::ColdNanosPerByte(const std::string& kind) const {
  std::vector<std::pair<double, double>> slopes;  // weights: the number of cold bytes read
  for (const auto& [key, samples] : ops_) {
    const auto warm = samples.timings.find(0);
    if (key.first != kind || warm == samples.timings.end() || warm->second.size() < kMinSeen)
      continue;
    const double base = Median(warm->second);
    for (const auto& [bytes, timings] : samples.timings) {
      if (bytes == 0 || timings.empty()) continue;
      const auto size = static_cast<double>(bytes);
      slopes.emplace_back((Median(timings) - base) / size,
                          size * static_cast<double>(timings.size()));
    }
  }
  return slopes.size() < kMinSeen ? 0 : std::max(0.0, WeightedMedian(std::move(slopes)));
}

void InSituTimings::Write(CostTable& table, DispatchMode mode) const {
  WriteOps(table);
  WriteCopies(table);
  if (mode == DispatchMode::kGraph) WriteGaps(table);
}

void InSituTimings::WriteColdReads(CostTable& table) const {
  for (const auto& [name, samples] : kinds_) {
    const double nanos = ColdNanosPerByte(name);
    std::optional<Bandwidth>& rate = KindIn(table, samples.kind).kind.cold_read;
    rate.reset();
    if (nanos > 0) rate = Bandwidth{std::max<std::int64_t>(1, std::llround(1e9 / nanos)), 1};
  }
}

void InSituTimings::WriteOps(CostTable& table) const {
  WriteColdReads(table);
  WriteStepInterference(steps_, table);
  const auto apart_of = ApartTimes(steps_, table);
  std::map<std::string, double> cold_nanos;  // per byte, by kind
  for (const auto& [name, samples] : kinds_) cold_nanos[name] = ColdNanosPerByte(name);
  for (const auto& [key, samples] : ops_) {
    const double per_byte = cold_nanos.at(key.first);
    const auto warmed = [&](const std::map<std::int64_t, std::vector<double>>& by_cold) {
      std::vector<double> warm;
      for (const auto& [bytes, timings] : by_cold) {
        for (const double nanos : timings) {
          // The cost per byte is a mean over ops, so at most half of a time is subtracted.
          warm.push_back(std::max(nanos / 2, nanos - per_byte * static_cast<double>(bytes)));
        }
      }
      return warm;
    };
    const std::vector<double> warm = warmed(samples.timings);
    if (warm.empty()) continue;
    KindCosts& costs = KindIn(table, kinds_.at(key.first).kind);
    OpMeasurement& op = OpIn(costs, samples.op);
    op.in_situ = Summarize(warm);
    op.apart_ns.reset();
    const auto apart = apart_of.find(key);
    if (apart != apart_of.end()) op.apart_ns = Summarize(warmed(apart->second)).Additive();
  }
}

void InSituTimings::WriteCopies(CostTable& table) const {
  for (const auto& [name, channel] : copies_) {
    // Transfers to and from the staging area count as another pair of ends, without a name.
    std::vector<std::pair<std::string, std::string>> ends;
    std::copy_if(
        channel.ends.begin(), channel.ends.end(), std::back_inserter(ends), [](const auto& pair) {
          return !pair.first.empty() && !pair.second.empty();
        });
    if (ends.size() != 1) continue;
    const auto& [from, to] = ends.front();
    LinkMeasurement link{.from = from, .to = to, .memory = kInSituMemory};
    for (const auto& [bytes, timings] : channel.timings) {
      if (!timings.empty()) link.points.emplace_back(bytes, Summarize(timings));
    }
    if (link.points.size() >= 2) {
      const std::vector<LinkPoint> points = CopiesOn(name);
      link.ranges = {FitChannel(points)};
      link.max_relative_error = MaxRelativeError(link.ranges, points);
    }
    LinkMeasurement* const known = FindLink(table, link.from, link.to, link.memory);
    if (known != nullptr) {
      *known = std::move(link);
    } else if (!link.points.empty()) {
      table.links.push_back(std::move(link));
    }
  }
}

void InSituTimings::WriteGaps(CostTable& table) const {
  for (const auto& [name, samples] : kinds_) {
    KindCosts& costs = KindIn(table, samples.kind);
    double gap = static_cast<double>(costs.kind.gap);
    if (samples.gaps.size() >= kMinSeen) {
      gap = std::max(0.0, LowerMean(samples.gaps));
      costs.kind.gap = std::llround(gap);
    }
    if (samples.starts.size() >= kMinSeen) {
      costs.kind.launch = std::llround(std::max(0.0, Median(samples.starts)));
    }
    std::vector<double> waits;
    for (const auto& [free, wait] : samples.waits) {
      if (free >= gap) waits.push_back(wait);
    }
    if (waits.size() >= kMinSeen) DispatchIn(table, name).wait_ns = std::max(0.0, LowerMean(waits));
  }
}

std::vector<LinkPoint> InSituTimings::CopiesOn(const std::string& channel) const {
  std::vector<LinkPoint> points;
  const auto found = copies_.find(channel);
  if (found == copies_.end()) return points;
  for (const auto& [bytes, timings] : found->second.timings) {
    if (timings.empty()) continue;
    points.push_back({static_cast<double>(bytes),
                      std::max(1.0, LowerMean(timings)),  // a coarse clock may show less
                      static_cast<double>(timings.size())});
  }
  return points;
}

}  // namespace emplace
