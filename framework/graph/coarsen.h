#pragma once

// Co-location and coarsening: passes that merge some groups of a grouping. They can be combined in
// any order, and none ever splits a group. A group only means that its ops share a device.

#include <cstdint>
#include <string>
#include <vector>

#include "framework/graph/grouping.h"

namespace emplace {

/// Merges ops with equal `colocate` labels, and an alias with the tensor whose memory it shares (a
/// parameter with its in-place update). A tensor without a producer binds nothing. These are the
/// constraints of the framework itself.
Grouping ColocateByLabel(const Graph& graph, const Grouping& grouping);

/// Merges a gradient op with its forward op (attribute "forward_op": an op name). ICML 2017,
/// section on co-location, heuristic 1.
/// @throws InputError naming graph and op if the attribute is not a text or does not name an op
Grouping ColocateGradients(const Graph& graph, const Grouping& grouping);

/// Merges a parameter or constant with the first op in topological order that reads it or a view of
/// it and makes no alias of it. So a shared parameter is with its first layer.
Grouping ColocateParameters(const Graph& graph, const Grouping& grouping);

/// Merges group X into group Y if Y is the only consumer of all tensors that X produces. Repeats
/// this until nothing merges. ICML 2017, heuristic 2. A parameter or constant with a single reader
/// is merged with it likewise. Only tensors count, control edges do not; a group whose tensors have
/// no reader is not merged. Without a limit the result does not depend on the order of merging.
/// With a limit, groups are tried in ascending order.
/// @param max_share  largest share of the graph's weight in a merged group; 1: no limit
/// @param weight     [num_ops] cost of each op, >= 0 (any unit)
/// @throws InputError unless max_share > 0
Grouping MergeSingleConsumers(const Graph& graph,
                              const Grouping& grouping,
                              const std::vector<double>& weight,
                              double max_share = 1);

/// Merges ops whose names share the first `depth` scopes, or all scopes if they have fewer. "a/b/c"
/// has the scopes a and b; the separator is '/' in names that contain one, else '.'. An op that
/// names its forward op belongs to the scope of that op. Names without scopes merge nothing.
/// @throws InputError if depth < 1
Grouping GroupByScope(const Graph& graph, const Grouping& grouping, int depth);

/// Repeatedly merges the cheapest group with the neighbour with which it shares the most bytes (in
/// both directions; the neighbour of least op id on ties), until at most `num_groups` remain or no
/// group has a neighbour. Among equally cheap groups the one that was merged least recently is
/// first. Placeto merges its graphs to about 128 groups in this way.
/// @param weight  [num_ops] cost of each op, >= 0 (any unit)
/// @throws InputError if num_groups < 1
Grouping MergeCheapest(const Graph& graph,
                       const Grouping& grouping,
                       const std::vector<double>& weight,
                       int num_groups);

/// METIS-style coarsening by rounds of heavy-edge matching. A round matches each group with the
/// unmatched neighbour with which it shares the most bytes, groups of few neighbours first. The
/// weight limit of a pair is 1.5 * total / num_groups. Stops when at most `num_groups` remain or a
/// round shrinks the graph by less than 1 %. More than `num_groups` remain if the limit or the
/// shape (a star) forbids further pairs. Karypis and Kumar, SIAM J. Sci. Comput. 20 (1998), section
/// 3.1.
/// @param weight  [num_ops] cost of each op, >= 0 (any unit)
/// @throws InputError if num_groups < 1
Grouping MergeHeavyEdges(const Graph& graph,
                         const Grouping& grouping,
                         const std::vector<double>& weight,
                         int num_groups);

/// Returns the contracted op graph: op g stands for group g, so that Expand of a placement of it is
/// a placement of `graph`. Only for groupings without cycles between groups; ContractGroups()
/// handles the others. Its simulation is an approximation: a group starts when all of its inputs
/// are present, its outputs appear when all of its ops are done, and tensors within a group occupy
/// no memory.
///
/// - name: of the group's first op; kind: of its op with the most FLOPs (then bytes accessed),
///   storage only if all ops are; phase: the most frequent; attributes and unknown keys are dropped
/// - flops and bytes_accessed: sums; workspace_bytes: the maximum
/// - cost_ns: sums for the device kinds that every member has (storage without any counts as 0)
/// - device_kinds: the names that all restricted members list (a class and a kind of it are two
///   names)
/// - devices: the names and patterns of restricted members that lie within a pattern of each other
///   restricted member: "gpu:0" of ["gpu:*"] and ["gpu:0"]. The names do not show that a member
///   without device_kinds and devices may not run on a device of class network, which another one
///   asks for; ContractCosts() (framework/cost/coarsened_costs.h) forbids that device.
/// - colocate: groups whose ops shared a label share a label
/// - tensors kept: those between groups, graph inputs, every role except activation and gradient,
///   and the tensors that kept aliases refer to; each group reads a tensor once
/// @throws InputError naming the groups on a cycle, or two ops without a common name in
///   device_kinds or devices
Graph Contract(const Graph& graph, const Grouping& grouping);

/// Returns a finer grouping that can always be contracted. Groups are ordered by their first op in
/// topological order. A path that goes back in that order begins a new round, and a part consists
/// of the ops of a group in one round:
///
///   round(v) = max over predecessors u of round(u) + (1 if group(v) comes before group(u))
///
/// For example, a parameter, the layer that reads it and its update become three parts of a group.
Grouping SplitAcyclic(const Graph& graph, const Grouping& grouping);

/// The graph of the parts of all groups, for groupings with cycles between groups.
struct ContractedGraph {
  Graph graph;      ///< Contract(original, parts); parts of one group share a colocate label
  Grouping parts;   ///< of the original's ops: op p of `graph` stands for part p
  Grouping groups;  ///< of the ops of `graph`: group g is group g of the original grouping
};
/// @param grouping  respects the graph's colocate labels (ColocateByLabel)
ContractedGraph ContractGroups(const Graph& graph, const Grouping& grouping);

/// Returns whether the graph between groups is acyclic.
bool IsAcyclic(const Graph& graph, const Grouping& grouping);

}  // namespace emplace
