#pragma once

// What `emplace graph info` tells about a graph.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/graph/graph.h"

namespace emplace {

/// A graph in numbers.
struct GraphInfo {
  struct Kind {
    std::string kind;
    std::int64_t ops = 0;
    double flops = 0;  ///< [FLOP]
  };
  std::array<std::int64_t, 3> ops_by_phase{};   ///< by Phase
  std::array<double, 3> flops_by_phase{};       ///< by Phase [FLOP]
  std::array<std::int64_t, 7> bytes_by_role{};  ///< by TensorRole; aliases count nothing [B]
  std::vector<Kind> kinds;                      ///< most ops first
  std::int64_t dependencies = 0;                ///< pairs of ops of which one reads the other
  std::int64_t parameter_tensors = 0;
  std::int64_t parameters = 0;  ///< elements of tensors of role parameter
  int groups = 0;               ///< after co-location by the graph's labels
  int depth = 0;                ///< ops on the longest chain of dependencies
};

GraphInfo DescribeGraph(const Graph& graph);

/// For people: a few lines of text.
std::string FormatGraphInfo(const Graph& graph, const GraphInfo& info);
/// For programs: the same numbers as one JSON object.
std::string FormatGraphInfoJson(const Graph& graph, const GraphInfo& info);

}  // namespace emplace
