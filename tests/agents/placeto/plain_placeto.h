#pragma once

// The formulas of placeto_graph.h and placeto_network.h once more, in plain loops and double
// precision.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "agents/placeto/placeto_network.h"
#include "tests/support/plain_networks.h"

namespace emplace::testing::plain {

using Relation = std::vector<std::vector<bool>>;  // [num_groups][num_groups]

/// [parent][child]
inline Relation Parents(const Problem& problem) {
  Relation edges(problem.num_groups(), std::vector<bool>(problem.num_groups()));
  for (int op = 0; op < problem.num_ops(); ++op) {
    for (int other : problem.graph().predecessors(op)) {
      const int a = problem.grouping().group_of(op), b = problem.grouping().group_of(other);
      if (a != b) edges[b][a] = true;
    }
  }
  return edges;
}

/// Floyd and Warshall's algorithm along edges from earlier to later groups. [ancestor][descendant]
inline Relation Closure(const Problem& problem, const Relation& parents) {
  const auto order = problem.group_order();
  const auto place = [&](int group) { return std::find(order.begin(), order.end(), group); };
  Relation reaches(parents.size(), std::vector<bool>(parents.size()));
  for (int u = 0; u < problem.num_groups(); ++u) {
    for (int v = 0; v < problem.num_groups(); ++v) {
      reaches[u][v] = (parents[u][v] || parents[v][u]) && place(u) < place(v);
    }
  }
  for (std::size_t via = 0; via < reaches.size(); ++via) {
    for (std::size_t u = 0; u < reaches.size(); ++u) {
      for (std::size_t v = 0; v < reaches.size(); ++v) {
        if (reaches[u][via] && reaches[via][v]) reaches[u][v] = true;
      }
    }
  }
  return reaches;
}

inline Row Relu(Row x) {
  for (double& value : x) value = std::max(value, 0.0);
  return x;
}

inline Row Fnn(const ParameterSet& parameters, const std::string& name, int layers, Row x) {
  for (int layer = 0; layer < layers; ++layer) {
    const std::string prefix = name + "." + std::to_string(layer);
    const Row y = Plus(Times(x, ValueOf(parameters, prefix + ".weights")),
                       ValueOf(parameters, prefix + ".bias")[0]);
    x = layer + 1 < layers ? Relu(y) : y;
  }
  return x;
}

/// relu(g(sum or mean over `from` of relu(f(x_u))))
inline Row Gathered(const ParameterSet& parameters,
                    const std::string& name,
                    const Table& x,
                    const std::vector<int>& from,
                    bool mean) {
  Row sum(x[0].size(), 0);
  for (int u : from) {
    const Row sent = Relu(Fnn(parameters, name + ".before", 2, x[u]));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += sent[i];
  }
  for (double& value : sum) value /= mean && !from.empty() ? static_cast<double>(from.size()) : 1;
  return Relu(Fnn(parameters, name + ".after", 2, sum));
}

inline std::vector<int> Members(const Relation& relation, int group, bool column) {
  std::vector<int> members;
  for (int u = 0; u < static_cast<int>(relation.size()); ++u) {
    if (column ? relation[u][group] : relation[group][u]) members.push_back(u);
  }
  return members;
}

inline Table Passed(const ParameterSet& parameters,
                    const std::string& name,
                    const Table& start,
                    const Relation& parents,
                    bool from_parents,
                    const PlacetoNetworkConfig& config) {
  Table now = start;
  for (int round = 0; round < config.rounds; ++round) {
    Table next = start;
    for (int v = 0; v < static_cast<int>(start.size()); ++v) {
      const std::vector<int> from = Members(parents, v, from_parents);
      if (from.empty()) continue;
      const Row heard = Gathered(parameters, name, now, from, config.mean());
      for (std::size_t i = 0; i < heard.size(); ++i) next[v][i] += heard[i];
    }
    now = next;
  }
  return now;
}

/// @param groups  [num_groups, F] features    @param devices  [num_devices, 6]; scored only
/// @return [num_devices]; -infinity where the current group may not run
inline Row LogProbabilities(const Problem& problem,
                            const ParameterSet& parameters,
                            const PlacetoNetworkConfig& config,
                            const PlacetoState& state,
                            const Table& groups,
                            const Table& devices) {
  const int n = problem.num_groups(), v = state.current;
  const Relation parents = Parents(problem), reaches = Closure(problem, parents);
  Table start;
  for (const Row& x : groups) start.push_back(Fnn(parameters, "embed", 3, x));
  Table h = Passed(parameters, "parents", start, parents, true, config);
  const Table back = Passed(parameters, "children", start, parents, false, config);
  for (int u = 0; u < n; ++u) h[u] = Joined(h[u], back[u]);

  std::vector<int> parallel;
  for (int u = 0; u < n; ++u) {
    if (u != v && !reaches[u][v] && !reaches[v][u]) parallel.push_back(u);
  }
  const auto pool = [&](const char* name, const std::vector<int>& from) {
    return Gathered(parameters, name, h, from, config.mean());
  };
  Row summary = pool("ancestors", Members(reaches, v, true));
  summary = Joined(summary, pool("descendants", Members(reaches, v, false)));
  summary = Joined(summary, pool("parallel", parallel));
  summary = Joined(summary, h[v]);

  Row logits;
  if (config.features.one_hot()) {
    logits = Fnn(parameters, "head", 3, summary);
  } else {
    for (const Row& device : devices) {
      logits.push_back(Fnn(parameters, "head", 3, Joined(summary, device))[0]);
    }
  }
  logits[state.placement.device[v]] += config.stay;
  return LogSoftmax(std::move(logits), AllowedDevices(problem, v));
}

}  // namespace emplace::testing::plain
