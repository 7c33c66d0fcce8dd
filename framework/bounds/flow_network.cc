#include "framework/bounds/flow_network.h"

#include <algorithm>

namespace emplace {

int FlowNetwork::AddNode() {
  arcs_of_.emplace_back();
  return num_nodes() - 1;
}

int FlowNetwork::AddArc(int from, int to, Nanos capacity) {
  arcs_of_[from].push_back(static_cast<int>(arcs_.size()));
  arcs_.push_back({to, 0});
  arcs_of_[to].push_back(static_cast<int>(arcs_.size()));
  arcs_.push_back({from, 0});
  capacity_.push_back(capacity);
  return num_arcs() - 1;
}

Nanos FlowNetwork::Flow(int source, int sink, Nanos most) {
  for (int arc = 0; arc < num_arcs(); ++arc) {
    arcs_[2 * arc].left = capacity_[arc];
    arcs_[2 * arc + 1].left = 0;
  }
  Nanos flow = 0;
  while (flow < most && Layer(source, sink)) {
    next_.assign(arcs_of_.size(), 0);
    while (flow < most) {
      const Nanos more = Push(source, sink, most - flow);
      if (more == 0) break;
      flow += more;
    }
  }
  return flow;
}

// Computes distances from the source. @return whether the sink is reached
bool FlowNetwork::Layer(int source, int sink) {
  depth_.assign(arcs_of_.size(), -1);
  depth_[source] = 0;
  queue_.assign(1, source);
  bool reached = false;
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const int node = queue_[i];
    if (node == sink) {
      reached = true;
      continue;
    }
    for (const int a : arcs_of_[node]) {
      if (arcs_[a].left == 0 || depth_[arcs_[a].to] >= 0) continue;
      depth_[arcs_[a].to] = depth_[node] + 1;
      queue_.push_back(arcs_[a].to);
    }
  }
  return reached;
}

Nanos FlowNetwork::Push(int node, int sink, Nanos most) {
  if (node == sink) return most;
  for (std::size_t& i = next_[node]; i < arcs_of_[node].size(); ++i) {
    const int a = arcs_of_[node][i];
    if (arcs_[a].left == 0 || depth_[arcs_[a].to] != depth_[node] + 1) continue;
    const Nanos pushed = Push(arcs_[a].to, sink, std::min(most, arcs_[a].left));
    if (pushed == 0) continue;
    arcs_[a].left -= pushed;
    arcs_[a ^ 1].left += pushed;
    return pushed;
  }
  return 0;
}

}  // namespace emplace
