#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "framework/graph/graph.h"
#include "framework/graph/grouping.h"

namespace emplace {

/// Called with each warning ("resnet.json: ops[3] \"conv\": unknown key \"colour\" kept").
using WarningSink = std::function<void(const std::string&)>;

/// Reads `emplace-graph` version 1 (FORMAT.md), JSON or gzipped JSON. Unknown extra keys are kept
/// under a warning (one per key name, with the number of places).
/// @throws InputError naming file, op or tensor, field, value and what was expected
Graph ReadGraph(const std::filesystem::path& path, const WarningSink& warn = {});
/// @param where  stands for the file in messages
Graph ParseGraph(const std::string& json, const std::string& where, const WarningSink& warn = {});

/// `emplace-graph` version 1 text; reading it back gives an equal graph. Defaults are left out.
std::string FormatGraph(const Graph& graph);
/// Atomically; gzipped when the name ends in ".gz". @throws RunError
void WriteGraph(const Graph& graph, const std::filesystem::path& path);

/// Text for Graphviz' `dot`: a node per group, an edge per pair of groups that exchange tensors
/// (with their bytes) or control (dashed).
/// @param device_of_group  [num_groups] indices into `device_names`, by which nodes are coloured;
///   empty: no colours
std::string FormatDot(const Graph& graph,
                      const Grouping& grouping,
                      const std::vector<int>& device_of_group = {},
                      const std::vector<std::string>& device_names = {});

}  // namespace emplace
