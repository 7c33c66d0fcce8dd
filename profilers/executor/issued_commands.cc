#include "profilers/executor/issued_commands.h"

#include <algorithm>
#include <map>

namespace emplace {
namespace {

// Returns the destinations of a hop, without offsets.
std::vector<Address> EndsOf(const Cluster& cluster, const Copy& copy, const Hop& hop) {
  std::vector<Address> ends;
  for (int d : hop.destinations) {
    const bool is_last = hop.position + 1 == std::ssize(cluster.route(copy.source, d));
    const Address end{is_last ? d : kStaging};
    if (std::ranges::find(ends, end) == ends.end()) ends.push_back(end);
  }
  return ends;
}

}  // namespace

std::vector<int> IssuedCommands::StreamOfCommand() const {
  std::vector<int> streams;
  for (const PlanCommand& command : commands) streams.push_back(command.stream);
  return streams;
}

IssuedCommands IssueCommands(const Problem& problem,
                             std::span<const DeviceIndex> device_of_op,
                             std::span<const int> order) {
  const Graph& graph = problem.graph();
  const Cluster& cluster = problem.cluster();
  IssuedCommands issued;
  issued.command_of_op.assign(graph.num_ops(), -1);
  // The last command on the route of each copied tensor, or of each control edge of an op: (tensor
  // or op, device).
  std::map<std::pair<int, int>, int> arrival, control_arrival;
  const auto add = [&](PlanCommand command, std::vector<int> dependencies) {
    issued.commands.push_back(std::move(command));
    issued.dependencies.push_back(std::move(dependencies));
    return static_cast<int>(issued.commands.size()) - 1;
  };

  for (int v : order) {
    const int d = device_of_op[v];
    std::vector<int> needed;
    for (int t : graph.reads(v)) {
      const int producer = graph.tensor(t).producer;
      if (producer < 0) continue;
      needed.push_back(IsLocal(graph, device_of_op, t, d) ? issued.command_of_op[producer]
                                                          : arrival.at({t, d}));
    }
    for (int producer : graph.op(v).control_inputs) {
      needed.push_back(device_of_op[producer] == d ? issued.command_of_op[producer]
                                                   : control_arrival.at({producer, d}));
    }
    issued.command_of_op[v] =
        add({.type = PlanCommand::Type::kOp, .stream = d, .op = v}, std::move(needed));

    const std::vector<Copy> copies = CopiesOf(graph, cluster, device_of_op, v);
    const size_t first_copy = issued.copies.size();
    for (const Copy& copy : copies) {
      issued.copies.push_back({copy, std::vector<std::vector<int>>(copy.destinations.size())});
    }
    std::vector<int> command_of_hop;
    for (const Hop& hop : HopsOf(cluster, copies)) {
      const Copy& copy = copies[hop.copy];
      const int command =
          add({.type = PlanCommand::Type::kCopy,
               .stream = cluster.num_devices() + hop.channel,
               .op = v,
               .tensor = copy.tensor,
               .hop = hop.position,
               .bytes = copy.bytes,
               .source = {hop.position == 0 ? d : kStaging},
               .destinations = EndsOf(cluster, copy, hop)},
              {hop.behind < 0 ? issued.command_of_op[v] : command_of_hop[hop.behind]});
      command_of_hop.push_back(command);
      for (int destination : hop.destinations) {
        const auto turn = std::ranges::find(copy.destinations, destination);
        const auto index = static_cast<size_t>(turn - copy.destinations.begin());
        issued.copies[first_copy + hop.copy].ways[index].push_back(command);
        if (copy.tensor == kControlTensor) {
          control_arrival[{v, destination}] = command;
        } else {
          arrival[{copy.tensor, destination}] = command;
        }
      }
    }
  }
  return issued;
}

}  // namespace emplace
