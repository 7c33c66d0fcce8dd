#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "framework/graph/graph.h"
#include "framework/graph/grouping.h"

namespace emplace {

/// The key of a graph file that is an instance (FORMAT.md, "Instances"), in Graph::extra().
inline constexpr std::string_view kInstanceKey = "instance";

/// Receives each warning ("resnet.json: ops[3] \"conv\": unknown key \"colour\" kept").
using WarningSink = std::function<void(const std::string&)>;

/// Reads `emplace-graph` version 1 (FORMAT.md), JSON or gzipped JSON. Keeps unknown keys with a
/// warning (one for each key name, with the number of places).
/// @throws InputError naming file, op or tensor, field, value and expected form
Graph ReadGraph(const std::filesystem::path& path, const WarningSink& warn = {});
/// @param where  stands for the file in messages
Graph ParseGraph(const std::string& json, const std::string& where, const WarningSink& warn = {});

/// Returns `emplace-graph` version 1 text, without defaults. Reading it back gives an equal graph.
std::string FormatGraph(const Graph& graph);
/// Writes atomically, gzipped if the name ends in ".gz". @throws RunError
void WriteGraph(const Graph& graph, const std::filesystem::path& path);

/// Returns text for Graphviz' `dot`: a node for each group, an edge for each pair of groups that
/// exchange tensors (with their bytes) or control (dashed).
/// @param device_of_group  [num_groups] indices into `device_names` for node colours; empty: none
std::string FormatDot(const Graph& graph,
                      const Grouping& grouping,
                      const std::vector<int>& device_of_group = {},
                      const std::vector<std::string>& device_names = {});

/// Returns the origin of a graph in one line: framework, model and batch of the file's `source`,
/// such as "torch 2.5.1, torchvision inception_v3, batch 32". Omits unknown parts.
///
/// For lists of many files: reads only the first 64 KiB (after decompression) and checks nothing.
/// Returns "" if no `source` ends within them, or if the file cannot be read. ReadGraph() reports
/// such errors.
std::string ReadGraphSource(const std::filesystem::path& path);

}  // namespace emplace
