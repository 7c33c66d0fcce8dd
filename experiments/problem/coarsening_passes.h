#pragma once

// Coarsening passes, as a run config or `emplace graph coarsen` lists them. Each pass merges groups
// of ops that are placed together, beginning with single ops; framework/graph/coarsen.h defines
// them.
//
//   coarsen:
//     - colocate                            the graph's own labels; always first, listed or not
//     - gradients                           gradient ops with their forward ops
//     - single_consumer: {max_share: 0.1}   producers into their only consumer
//     - scope: {depth: 2}                   by name scope
//     - merge_cheapest: {groups: 128}       cheapest group into its closest neighbour
//     - heavy_edge: {groups: 128}           heavy-edge matching

#include <functional>
#include <string>
#include <vector>

#include "framework/config/config_node.h"
#include "framework/config/fields.h"
#include "framework/graph/coarsen.h"

namespace emplace {

/// One entry of the list: a pass with its setting.
struct CoarseningPass {
  std::string name;      ///< one of the above
  double max_share = 1;  ///< single_consumer: largest share of the graph's cost in a merged group
  int depth = 1;         ///< scope: number of leading scopes that must agree
  int groups = 128;      ///< merge_cheapest, heavy_edge: final number of groups

  void Visit(FieldVisitor& v);
};

/// Reads the list. @throws InputError for an unknown pass or setting, with the choices
std::vector<CoarseningPass> ParsePasses(const ConfigNode& list);
/// Reads one entry: a name, or a map of one name with its settings.
/// @throws InputError as ParsePasses()
CoarseningPass ParsePass(const ConfigNode& node);

/// Returns the list as YAML in one line, which ParsePasses() reads.
std::string FormatPasses(const std::vector<CoarseningPass>& passes);

/// Applies the passes one after another; `colocate` comes first, listed or not.
/// @param weight  [num_ops] cost of each op, >= 0, any unit
/// @param report  if set, called after each pass
Grouping ApplyPasses(
    const Graph& graph,
    const std::vector<CoarseningPass>& passes,
    const std::vector<double>& weight,
    const std::function<void(const CoarseningPass&, const Grouping&)>& report = {});

}  // namespace emplace
