#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "framework/base/random.h"
#include "tests/experiments/program_files.h"

namespace emplace::testing {

/// A random layered graph of `num_ops` ops, enough for searches to differ.
inline std::string LayeredJson(int num_ops) {
  Rng rng(5);
  std::vector<std::string> tensors, ops;
  for (int v = 0; v < num_ops; ++v) {
    std::string inputs;
    if (v > 0) inputs = std::to_string(v - 1 - UniformInt(rng, std::min(v, 4)));
    const int cost = 1000 * (1 + UniformInt(rng, 100));
    tensors.push_back(fmt::format(R"({{"id": {}, "bytes": {}}})", v, 1000 * UniformInt(rng, 20)));
    ops.push_back(fmt::format(
        R"({{"id": {0}, "name": "op{0}", "kind": "k", "inputs": [{1}], "outputs": [{0}],
            "cost_ns": {{"g": {2}, "c": {3}}}}})",
        v,
        inputs,
        cost,
        4 * cost));
  }
  return GraphJson(fmt::format("{}", fmt::join(tensors, ",")),
                   fmt::format("{}", fmt::join(ops, ",")));
}

}  // namespace emplace::testing
