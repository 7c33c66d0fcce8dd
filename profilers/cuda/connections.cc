#include "profilers/cuda/connections.h"

#include <algorithm>

namespace emplace::cuda {

std::vector<Connection> ConnectCommands(std::span<const PlanCommand> commands,
                                        std::span<const int> lane_of_stream) {
  const int num_lanes =
      lane_of_stream.empty() ? 0 : 1 + std::max(-1, *std::ranges::max_element(lane_of_stream));
  // The last command of each lane; -1: none.
  using Reach = std::vector<int>;
  const Reach nothing(num_lanes, -1);
  std::vector<Connection> connections(commands.size());
  std::vector<Reach> host_reach(commands.size());  // what each host command comes after
  std::vector<Reach> stream_reach(lane_of_stream.size(), nothing);  // of host streams, so far
  std::vector<Reach> waited(num_lanes, nothing);  // what each lane has waited for, so far
  for (size_t i = 0; i < commands.size(); ++i) {
    const PlanCommand& command = commands[i];
    Connection& connection = connections[i];
    const int lane = lane_of_stream[command.stream];
    Reach behind = nothing;
    for (int wait : command.waits) {
      const int other = lane_of_stream[commands[wait].stream];
      if (other >= 0) {
        behind[other] = std::max(behind[other], wait);
      } else {
        for (int l = 0; l < num_lanes; ++l) behind[l] = std::max(behind[l], host_reach[wait][l]);
      }
      if (lane < 0 || other < 0) {
        connection.counters.push_back(wait);
        connections[wait].has_counter = true;
      }
    }
    if (lane < 0) {
      Reach& reach = stream_reach[command.stream];
      for (int l = 0; l < num_lanes; ++l) reach[l] = std::max(reach[l], behind[l]);
      host_reach[i] = reach;
      continue;
    }
    for (int l = 0; l < num_lanes; ++l) {
      if (l == lane || behind[l] <= waited[lane][l]) continue;
      waited[lane][l] = behind[l];
      connection.events.push_back(behind[l]);
      connections[behind[l]].has_event = true;
    }
  }
  return connections;
}

}  // namespace emplace::cuda
