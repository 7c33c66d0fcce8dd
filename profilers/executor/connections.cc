#include "profilers/executor/connections.h"

#include <algorithm>

namespace emplace {

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

}  // namespace emplace
