#include "framework/instances/task_graph.h"

#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/json.h"
#include "framework/config/units.h"
#include "framework/schedule/issue_order.h"

namespace emplace {

Nanos ParseWeight(std::string_view text) {
  try {
    if (text.find_first_not_of("0123456789.eE+-") == std::string_view::npos && !text.empty()) {
      return ParseTime(std::string(text) + "us");
    }
  } catch (const InputError&) {  // its message is about a unit, which is not needed here
  }
  throw InputError(fmt::format("expected a number >= 0, at most 7e13, got \"{}\"", text));
}

Cluster PrivateChannels(std::vector<DeviceKind> kinds, int count) {
  std::vector<Device> devices;
  std::vector<Channel> channels;
  std::vector<std::vector<int>> routes(static_cast<std::size_t>(count) * count);
  const int num_kinds = static_cast<int>(kinds.size());
  for (int d = 0; d < count; ++d) {
    devices.push_back({.name = fmt::format("p{}", d), .kind = d % num_kinds});
  }
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      if (from == to) continue;
      routes[static_cast<std::size_t>(from) * count + to] = {static_cast<int>(channels.size())};
      channels.push_back({.name = fmt::format("p{}->p{}", from, to),
                          .bandwidth = {.bytes = 1'000'000'000, .per_seconds = 1}});
    }
  }
  return Cluster(fmt::format("{}_processors", count),
                 std::move(kinds),
                 std::move(devices),
                 std::move(channels),
                 std::move(routes));
}

Instance MakeInstance(const TaskGraph& tasks, int processors, const std::string& where) {
  if (tasks.tasks.empty()) throw InputError(fmt::format("{}: no tasks", where));
  if (processors < 1 || processors > kMaxDevices) {
    throw InputError(fmt::format(
        "{}: number of processors: expected 1 to {}, got {}", where, kMaxDevices, processors));
  }
  std::vector<Op> ops;
  std::vector<Tensor> tensors;
  for (const TaskGraph::Task& task : tasks.tasks) {
    ops.push_back({.name = task.name,
                   .kind = "task",
                   .cost_ns = {{"processor", static_cast<double>(task.time)}}});
  }
  bool without_contention = false;
  for (const auto& [from, to, time] : tasks.messages) {
    without_contention |= time > 0;
    const int tensor = static_cast<int>(tensors.size());
    tensors.push_back({.bytes = time});
    ops[from].outputs.push_back(tensor);
    ops[to].inputs.push_back(tensor);
  }
  const bool same_machine = processors == tasks.processors;
  std::string source =
      fmt::format(R"({{"framework": {}, "processors": {})", QuoteJson(tasks.format), processors);
  const std::optional<Nanos> optimum = same_machine ? tasks.optimum : std::nullopt;
  if (optimum) {
    source += fmt::format(R"(, "{}": {})",
                          without_contention ? "optimum_without_contention_ns" : "optimum_ns",
                          *optimum);
  }
  Instance instance{
      Graph(tasks.name, std::move(tensors), std::move(ops), source + "}", where),
      PrivateChannels({{.name = "processor", .device_class = DeviceClass::kGpu}}, processors),
      optimum,
      optimum && without_contention,
      {},
      {}};
  if (same_machine && !tasks.processor_of.empty()) {
    std::vector<std::int64_t> earliest_first;
    for (std::size_t v = 0; v < tasks.tasks.size(); ++v) {
      instance.device_of_op.push_back(static_cast<DeviceIndex>(tasks.processor_of[v]));
      earliest_first.push_back(-tasks.start[v]);
    }
    instance.issue_order = IssueOrder(instance.graph, earliest_first);
  }
  return instance;
}

}  // namespace emplace
