#pragma once

// Co-location and coarsening: passes that take a grouping and merge some of its groups. They
// compose in any order; none ever splits a group. That ops are in a group means that they share a
// device, and nothing else. The marks [R] and [?] tell how sure a statement about a paper is
// (agents/README.md).

#include <cstdint>
#include <string>
#include <vector>

#include "framework/graph/grouping.h"

namespace emplace {

/// The framework's own constraints: ops with equal `colocate` labels, and an alias with the tensor
/// whose memory it shares (a parameter with its in-place update). A tensor without producer binds
/// nothing.
Grouping ColocateByLabel(const Graph& graph, const Grouping& grouping);

/// A gradient op with its forward op (attribute "forward_op": an op name). ICML 2017, section on
/// co-location, heuristic 1 [R].
/// @throws InputError naming graph and op if the attribute is no text or names no op
Grouping ColocateGradients(const Graph& graph, const Grouping& grouping);

/// If all that group X produces is consumed by one group Y, merge X into Y; repeated until nothing
/// merges. ICML 2017, heuristic 2 [R]. A parameter or constant with a single reader goes to it
/// likewise. Tensors decide, control edges do not; a group whose tensors nobody reads stays as it
/// is. Without a limit the result does not depend on the order of merging; with one, groups are
/// tried by number.
/// @param max_share  a merged group may hold at most this share of the graph's weight; 1: no limit
/// @param weight     [num_ops] cost of each op, >= 0 (any unit)
/// @throws InputError unless max_share > 0
Grouping MergeSingleConsumers(const Graph& graph,
                              const Grouping& grouping,
                              const std::vector<double>& weight,
                              double max_share = 1);

/// Ops whose names share the first `depth` scopes, or all of them where there are fewer ("a/b/c"
/// has scopes a, b; the separator is '/' in names that have one, else '.'). An op that names its
/// forward op counts under that op's scope. Names without scopes join nothing.
/// @throws InputError if depth < 1
Grouping GroupByScope(const Graph& graph, const Grouping& grouping, int depth);

/// Repeatedly merges the cheapest group into the neighbour it shares the most bytes with (either
/// direction; the neighbour of least op id on ties), until at most `num_groups` remain or nothing
/// has a neighbour. Among equally cheap groups the one merged least recently goes first. Placeto
/// merges its graphs to about 128 groups in this way [?].
/// @param weight  [num_ops] cost of each op, >= 0 (any unit)
/// @throws InputError if num_groups < 1
Grouping MergeCheapest(const Graph& graph,
                       const Grouping& grouping,
                       const std::vector<double>& weight,
                       int num_groups);

/// METIS-style coarsening: rounds of heavy-edge matching (each group with the unmatched neighbour
/// it shares the most bytes with, groups of few neighbours choosing first, weight limit 1.5 * total
/// / num_groups) until at most `num_groups` remain or a round shrinks the graph by less than 1 %.
/// Karypis and Kumar, SIAM J. Sci. Comput. 20 (1998), section 3.1. More than `num_groups` remain
/// where the limit or the shape (a star) forbids further pairs.
/// @param weight  [num_ops] cost of each op, >= 0 (any unit)
/// @throws InputError if num_groups < 1
Grouping MergeHeavyEdges(const Graph& graph,
                         const Grouping& grouping,
                         const std::vector<double>& weight,
                         int num_groups);

/// Contracted op graph: op g stands for group g, so that Expand of a placement of it is a placement
/// of `graph`. Only for groupings without cycles between groups (else: ContractGroups); simulating
/// it is an approximation (a group starts when ALL its inputs are there, its outputs appear when
/// ALL its ops are done, and tensors within a group occupy no memory).
///
/// - name: of the group's first op; kind: of its op with the most FLOPs (then bytes accessed),
///   storage only if all are; phase: the most frequent; attributes and unknown keys are dropped
/// - flops and bytes_accessed: sums; workspace_bytes: the maximum
/// - cost_ns: summed for the device kinds that every member has (storage without any counts as 0)
/// - device_kinds: the names that all restricted members list (a class and a kind of it are two
///   names)
/// - colocate: groups whose ops shared a label share one
/// - tensors kept: those between groups, graph inputs, every role but activation and gradient, and
///   what a kept one is an alias of; each group reads a tensor once
/// @throws InputError naming the groups on a cycle, or two ops whose device_kinds have nothing in
///   common
Graph Contract(const Graph& graph, const Grouping& grouping);

/// A finer grouping that can always be contracted. Groups are ordered by their first op in
/// topological order; a path that steps back in that order begins a new round, and a part is what a
/// group does in one round:
///
///   round(v) = max over predecessors u of round(u) + (group(v) stands before group(u))
///
/// So a parameter, the layer that reads it and its update become three parts of one group.
Grouping SplitAcyclic(const Graph& graph, const Grouping& grouping);

/// The graph of the parts of all groups, for groupings with cycles between groups.
struct ContractedGraph {
  Graph graph;      ///< Contract(original, parts); parts of one group share a colocate label
  Grouping parts;   ///< of the original's ops: op p of `graph` stands for part p
  Grouping groups;  ///< of the ops of `graph`: group g is group g of the original grouping
};
/// @param grouping  respects the graph's colocate labels (ColocateByLabel)
ContractedGraph ContractGroups(const Graph& graph, const Grouping& grouping);

/// True if merging the groups leaves the graph between groups acyclic.
bool IsAcyclic(const Graph& graph, const Grouping& grouping);

}  // namespace emplace
