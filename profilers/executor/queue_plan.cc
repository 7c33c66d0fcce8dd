#include "profilers/executor/queue_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

int QueueOfCopy(const ExecutionPlan& plan,
                const PlanCommand& copy,
                int producer,
                std::span<const QueueKind> kinds) {
  const auto is_cores = [&](int device) { return kinds[device] == QueueKind::kCores; };
  const auto is_on_gpu = [&](const Address& end) {
    return end.device != kStaging && !is_cores(end.device);
  };
  if (is_on_gpu(copy.source) || std::ranges::any_of(copy.destinations, is_on_gpu)) {
    return copy.stream;
  }
  if (is_cores(producer)) return producer;
  for (const Address& end : copy.destinations) {
    if (end.device != kStaging) return end.device;
  }
  for (int d = 0; d < plan.num_devices; ++d) {
    if (is_cores(d)) return d;
  }
  throw RunError(
      fmt::format("channel {} copies tensor {} within the host, which needs a device that is a "
                  "group of cores; name one, such as cpu:0",
                  copy.stream - plan.num_devices,
                  copy.tensor));
}

}  // namespace

QueuePlan PlanQueues(const ExecutionPlan& plan, std::span<const QueueKind> kinds) {
  const int num_commands = static_cast<int>(plan.commands.size());
  EMPLACE_CHECK(static_cast<int>(kinds.size()) == plan.num_devices);
  QueuePlan queues;
  queues.kinds.assign(kinds.begin(), kinds.end());
  queues.kinds.resize(plan.num_streams(), QueueKind::kStream);
  queues.lists.resize(plan.num_streams());
  queues.queue_of_command.resize(num_commands);
  queues.number.resize(num_commands);
  queues.waits.resize(num_commands);
  queues.is_awaited.assign(num_commands, false);
  std::vector<int> device_of_op(plan.ops.size(), -1);
  std::vector<int> last(plan.num_streams(), -1);  // last command of each stream of the plan
  for (int c = 0; c < num_commands; ++c) {
    const PlanCommand& command = plan.commands[c];
    const bool is_op = command.type == PlanCommand::Type::kOp;
    if (is_op) device_of_op[command.op] = command.stream;
    const int queue =
        is_op ? command.stream : QueueOfCopy(plan, command, device_of_op[command.op], kinds);
    queues.queue_of_command[c] = queue;
    queues.lists[queue].push_back(c);
    queues.number[c] = static_cast<int>(queues.lists[queue].size());

    std::vector<int> needed = command.waits;
    if (last[command.stream] >= 0) needed.push_back(last[command.stream]);
    last[command.stream] = c;
    std::ranges::sort(needed, std::greater<>());  // the latest command of each queue comes first
    std::vector<int>& waits = queues.waits[c];
    for (int other : needed) {
      const int there = queues.queue_of_command[other];
      const bool is_known = std::ranges::any_of(
          waits, [&](int wait) { return queues.queue_of_command[wait] == there; });
      if (there != queue && !is_known) waits.push_back(other);
    }
    std::ranges::sort(waits);
    for (int other : waits) queues.is_awaited[other] = true;
  }
  return queues;
}

std::vector<Connection> ConnectCommands(const QueuePlan& queues) {
  const size_t num_commands = queues.queue_of_command.size();
  const int num_queues = queues.num_queues();
  const auto is_stream = [&](int queue) { return queues.kinds[queue] == QueueKind::kStream; };
  // The last command of each stream; -1: none.
  using Reach = std::vector<int>;
  const Reach nothing(num_queues, -1);
  std::vector<Connection> connections(num_commands);
  std::vector<Reach> cores_reach(num_commands);  // last commands that precede each command of cores
  std::vector<Reach> queue_reach(num_queues, nothing);  // likewise for each queue of cores, so far
  std::vector<Reach> waited(num_queues, nothing);  // last commands that each stream has waited for
  for (size_t c = 0; c < num_commands; ++c) {
    Connection& connection = connections[c];
    const int queue = queues.queue_of_command[c];
    Reach behind = nothing;
    for (int wait : queues.waits[c]) {
      const int other = queues.queue_of_command[wait];
      if (is_stream(other)) {
        behind[other] = std::max(behind[other], wait);
      } else {
        for (int q = 0; q < num_queues; ++q) {
          behind[q] = std::max(behind[q], cores_reach[wait][q]);
        }
      }
      if (!is_stream(queue) || !is_stream(other)) {
        connection.counters.push_back(wait);
        connections[wait].has_counter = true;
      }
    }
    if (!is_stream(queue)) {
      Reach& reach = queue_reach[queue];
      for (int q = 0; q < num_queues; ++q) reach[q] = std::max(reach[q], behind[q]);
      cores_reach[c] = reach;
      continue;
    }
    for (int q = 0; q < num_queues; ++q) {
      if (q == queue || behind[q] <= waited[queue][q]) continue;
      waited[queue][q] = behind[q];
      connection.events.push_back(behind[q]);
      connections[behind[q]].has_event = true;
    }
  }
  return connections;
}

std::string NameOf(const ExecutionPlan& plan, int command, std::span<const std::string> devices) {
  const PlanCommand& c = plan.commands[command];
  const std::string& op = plan.ops[c.op].name;
  if (c.type == PlanCommand::Type::kOp) {
    return fmt::format("op \"{}\" on device \"{}\"", op, devices[c.stream]);
  }
  return fmt::format("copy of tensor {} of op \"{}\", hop {}, on channel {}",
                     c.tensor,
                     op,
                     c.hop,
                     c.stream - plan.num_devices);
}

}  // namespace emplace
