#include "profilers/executor/executor.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/quantile.h"
#include "framework/base/random.h"
#include "profilers/executor/compile_plan.h"
#include "profilers/statistics/sampling.h"

namespace emplace {
namespace {

// Returns the backend's index of each device of the cluster.
// @throws InputError naming the first device that is missing
std::vector<int> DevicesOf(const Cluster& cluster, const Backend& backend) {
  std::vector<std::string> names;
  for (const BackendDevice& device : backend.devices()) names.push_back(device.name);
  std::vector<int> devices;
  for (const std::string& name : cluster.DeviceNames()) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      ThrowUnknown(
          fmt::format("cluster \"{}\"", cluster.name()), "device of this machine", name, names);
    }
    devices.push_back(static_cast<int>(found - names.begin()));
  }
  return devices;
}

// Returns the plan with the backend's device numbers.
ExecutionPlan WithDevices(ExecutionPlan plan, const std::vector<int>& devices, int num_devices) {
  const auto renumber = [&](Address& address) {
    if (address.device != kStaging) address.device = devices[address.device];
  };
  const auto spread = [&](std::vector<std::int64_t>& bytes) {
    std::vector<std::int64_t> of_backend(num_devices, 0);
    for (size_t d = 0; d < bytes.size(); ++d) of_backend[devices[d]] = bytes[d];
    bytes = std::move(of_backend);
  };
  for (PlanCommand& command : plan.commands) {
    command.stream = command.stream < plan.num_devices
                         ? devices[command.stream]
                         : command.stream - plan.num_devices + num_devices;
    renumber(command.source);
    for (Address& destination : command.destinations) renumber(destination);
  }
  for (CompiledOp& op : plan.ops) {
    for (Address& input : op.inputs) renumber(input);
    for (Address& output : op.outputs) renumber(output);
  }
  for (InitialValue& value : plan.initial_values) renumber(value.address);
  spread(plan.peak_bytes);
  spread(plan.arena_bytes);
  plan.num_devices = num_devices;
  return plan;
}

bool IsOp(const PlanCommand& command) {
  return command.type == PlanCommand::Type::kOp;
}

// Returns the median over the traced steps of a sum over each step's commands. [ns]
template <class Counts>
Nanos MedianSum(const StepMeasurement& measurement, Counts&& counts) {
  std::vector<double> sums;
  for (const StepRecord& trace : measurement.traces) {
    double sum = 0;
    for (size_t c = 0; c < measurement.plan->commands.size(); ++c) {
      if (counts(measurement.plan->commands[c])) {
        sum += static_cast<double>(trace.finish[c] - trace.start[c]);
      }
    }
    sums.push_back(sum);
  }
  return sums.empty() ? 0 : std::llround(Median(sums));
}

// Returns whether a round is traced. Traced rounds are spread evenly, so that drift of the machine
// affects both kinds equally. The first round is not traced.
// @param round  counted from the end of the warm-up
bool IsTraced(int round, const ExecutorOptions& options) {
  if (round < 0) return false;
  const int total = options.rounds + options.traced_rounds;
  const auto traced_before = [&](int r) { return std::int64_t{r} * options.traced_rounds / total; };
  return traced_before(round + 1) > traced_before(round);
}

// Returns whether the command keeps device `d` busy: its ops, and the copies that occupy it.
bool IsWorkOf(const PlanCommand& command,
              int d,
              const ExecutionPlan& plan,
              const Cluster& cluster) {
  if (IsOp(command)) return command.stream == d;
  const Occupies occupies = cluster.channel(command.stream - plan.num_devices).occupies;
  return (OccupiesSource(occupies) && command.source.device == d) ||
         (OccupiesDestination(occupies) && command.destinations.at(0).device == d);
}

void Conclude(const Cluster& cluster, StepMeasurement& measurement) {
  const ExecutionPlan& plan = *measurement.plan;
  const std::vector<double> times(measurement.step_times.begin(), measurement.step_times.end());
  measurement.step = Summarize(times);
  measurement.peak = plan.peak_bytes;
  measurement.arena = plan.arena_bytes;
  for (int d = 0; d < plan.num_devices; ++d) {
    measurement.busy.push_back(MedianSum(
        measurement, [&](const PlanCommand& c) { return IsWorkOf(c, d, plan, cluster); }));
  }
  const Nanos total = MedianSum(measurement, [](const PlanCommand& c) { return IsOp(c); });
  const Nanos proxies = MedianSum(
      measurement, [&](const PlanCommand& c) { return IsOp(c) && plan.ops[c.op].work.is_proxy(); });
  // The sum of the medians of parts may exceed the median of the whole.
  measurement.proxy_share =
      total > 0 ? std::min(1.0, static_cast<double>(proxies) / static_cast<double>(total)) : 0;
}

}  // namespace

Executor::Executor(std::shared_ptr<const Problem> problem,
                   std::shared_ptr<Backend> backend,
                   ExecutorOptions options)
    : problem_(std::move(problem)), backend_(std::move(backend)), options_(std::move(options)) {
  EMPLACE_CHECK(options_.warmup >= 0 && options_.rounds >= 1 && options_.traced_rounds >= 0);
  if (problem_->objective() != Objective::kStepTime) {
    throw InputError("an executor measures step times; expected objective step_time");
  }
  DevicesOf(problem_->cluster(), *backend_);
}

std::vector<StepMeasurement> Executor::Measure(std::span<const Placement> placements,
                                               std::span<const std::vector<int>> issue_orders) {
  EMPLACE_CHECK(issue_orders.empty() || issue_orders.size() == placements.size());
  const std::vector<int> devices = DevicesOf(problem_->cluster(), *backend_);
  const int num_devices = static_cast<int>(backend_->devices().size());
  std::vector<StepMeasurement> measurements(placements.size());
  std::vector<std::unique_ptr<Program>> programs;
  for (size_t i = 0; i < placements.size(); ++i) {
    if (static_cast<int>(placements[i].device.size()) != problem_->num_groups()) {
      throw InputError(
          fmt::format("placement {} has {} entries, expected one for each of {} groups",
                      i,
                      placements[i].device.size(),
                      problem_->num_groups()));
    }
    measurements[i].plan = std::make_shared<ExecutionPlan>(CompilePlan(
        *problem_,
        ExpandPlacement(placements[i], problem_->grouping()),
        issue_orders.empty() || issue_orders[i].empty() ? options_.issue_order : issue_orders[i]));
    programs.push_back(backend_->Load(
        std::make_shared<ExecutionPlan>(WithDevices(*measurements[i].plan, devices, num_devices)),
        options_.mode));
  }

  Rng rng(1);
  const int rounds = options_.warmup + options_.rounds + options_.traced_rounds;
  const auto total = static_cast<std::int64_t>(placements.size()) * rounds;
  std::int64_t done = 0;
  bool goes_on = true;
  std::vector<size_t> order(placements.size());
  std::iota(order.begin(), order.end(), 0);
  for (int round = 0; round < rounds; ++round) {
    // A requested stop takes effect once every placement has one measured step.
    if (!goes_on && round > options_.warmup) break;
    const bool traced = IsTraced(round - options_.warmup, options_);
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[UniformInt(rng, static_cast<int>(i))]);
    }
    for (size_t i : order) {
      StepRecord record = programs[i]->Step(traced);
      if (traced) {
        measurements[i].traces.push_back(std::move(record));
      } else if (round >= options_.warmup) {
        measurements[i].step_times.push_back(record.step_time);
      }
      ++done;
      if (options_.progress) goes_on &= options_.progress(done, total);
    }
  }
  for (StepMeasurement& measurement : measurements) Conclude(problem_->cluster(), measurement);
  return measurements;
}

void Executor::Evaluate(std::span<const Placement> placements,
                        std::span<Outcome> outcomes,
                        const OutcomeDetail& detail) {
  EMPLACE_CHECK(placements.size() == outcomes.size());
  const std::vector<StepMeasurement> measurements = Measure(placements);
  const Cluster& cluster = problem_->cluster();
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const StepMeasurement& measurement = measurements[i];
    const auto& commands = measurement.plan->commands;
    Outcome outcome;
    outcome.step_time = std::llround(measurement.step.median);
    for (int d = 0; d < cluster.num_devices(); ++d) {
      const std::int64_t peak = measurement.peak[d];
      const std::int64_t deficit = std::max<std::int64_t>(0, peak - cluster.device(d).memory);
      outcome.devices.push_back({measurement.busy[d], peak, deficit});
      outcome.feasible &= deficit == 0;
    }
    if (detail.channels) {
      outcome.channels.resize(cluster.num_channels());
      for (const PlanCommand& command : commands) {
        if (IsOp(command)) continue;
        ChannelOutcome& channel = outcome.channels[command.stream - cluster.num_devices()];
        ++channel.transfers;
        channel.bytes += command.bytes;
      }
      for (int k = 0; k < cluster.num_channels(); ++k) {
        outcome.channels[k].busy = MedianSum(measurement, [&](const PlanCommand& c) {
          return c.stream == cluster.num_devices() + k;
        });
      }
    }
    if (detail.op_times && !measurement.traces.empty()) {
      const StepRecord& trace = measurement.traces.back();
      outcome.start.resize(problem_->num_ops());
      outcome.finish.resize(problem_->num_ops());
      for (size_t c = 0; c < commands.size(); ++c) {
        if (!IsOp(commands[c])) continue;
        outcome.start[commands[c].op] = trace.start[c];
        outcome.finish[commands[c].op] = trace.finish[c];
      }
    }
    outcomes[i] = std::move(outcome);
  }
}

}  // namespace emplace
