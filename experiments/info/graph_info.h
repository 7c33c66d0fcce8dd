#pragma once

// The output of `emplace graph info`.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/graph/graph.h"

namespace emplace {

/// The statistics of a graph.
struct GraphInfo {
  struct Kind {
    std::string kind;
    std::int64_t ops = 0;
    double flops = 0;  ///< [FLOP]
  };
  std::array<std::int64_t, 3> ops_by_phase{};   ///< by Phase
  std::array<double, 3> flops_by_phase{};       ///< by Phase [FLOP]
  std::array<std::int64_t, 7> bytes_by_role{};  ///< by TensorRole; aliases count as 0 [B]
  std::vector<Kind> kinds;                      ///< the kind with most ops first
  std::int64_t dependencies = 0;  ///< pairs of ops, one of which reads an output of the other
  std::int64_t parameter_tensors = 0;
  std::int64_t parameters = 0;  ///< elements of tensors of role parameter
  int groups = 0;               ///< after co-location by the graph's labels
  int depth = 0;                ///< ops on the longest chain of dependencies
};

GraphInfo DescribeGraph(const Graph& graph);

/// Returns a few lines of text for people.
std::string FormatGraphInfo(const Graph& graph, const GraphInfo& info);
/// Returns the same numbers as one JSON object for programs.
std::string FormatGraphInfoJson(const Graph& graph, const GraphInfo& info);

}  // namespace emplace
