#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "experiments/problem/load.h"
#include "framework/base/random.h"
#include "tests/experiments/program_files.h"

namespace emplace::testing {

/// A random layered graph of `num_ops` ops, enough for searches to differ.
inline std::string LayeredJson(int num_ops) {
  Rng rng(5);
  std::string tensors, ops;
  for (int v = 0; v < num_ops; ++v) {
    const std::string id = std::to_string(v), comma = v > 0 ? "," : "";
    std::string inputs;
    if (v > 0) inputs = std::to_string(v - 1 - UniformInt(rng, std::min(v, 4)));
    const int cost = 1000 * (1 + UniformInt(rng, 100));
    const std::string bytes = std::to_string(1000 * UniformInt(rng, 20));
    tensors += comma + "{\"id\": " + id + ", \"bytes\": " + bytes + "}";
    ops += comma + "{\"id\": " + id + ", \"name\": \"op" + id +
           "\", \"kind\": \"k\", \"inputs\": [" + inputs + "], \"outputs\": [" + id +
           "], \"cost_ns\": {\"g\": " + std::to_string(cost) +
           ", \"c\": " + std::to_string(4 * cost) + "}}";
  }
  return GraphJson(tensors, ops);
}

/// This graph on the cluster of ClusterYaml(), op by op.
inline std::shared_ptr<const Problem> LayeredProblem(int num_ops,
                                                     Objective objective = Objective::kStepTime) {
  const TempDir folder;
  WriteText(folder / "g.json", LayeredJson(num_ops));
  WriteText(folder / "c.yaml", ClusterYaml());
  const auto graph = LoadGraph(folder / "g.json");
  return MakeProblem(graph, LoadCluster(folder / "c.yaml"), {}, objective, false, "test").searched;
}

}  // namespace emplace::testing
