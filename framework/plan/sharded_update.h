#pragma once

#include "framework/plan/planned_graph.h"

namespace emplace {

/// Divides the update of the parameters among the replicas, with the optimizer states (ZeRO-1;
/// Rajbhandari et al., ZeRO, SC 2020, section 5.1). The unit is a bucket of Replicate(): bucket b
/// belongs to replica b mod `replicas`.
///
/// - An op of phase update that depends on gradients of buckets of one replica only, directly or
///   through ops of phase update, remains on that replica. So does a parameter or constant that
///   only ops of one replica read then (an optimizer state). Other ops remain on all replicas.
/// - The reduction "all_reduce/B" becomes "reduce_scatter/B" of kind collective.reduce_scatter,
///   whose output is a part of the bucket, one of `replicas`.
/// - An op "all_gather/B" of kind collective.all_gather and phase update follows the ops that
///   update the bucket's parameters (make an alias of a parameter; if none does, all ops of phase
///   update that depend on the bucket): each replica receives the others'.
/// - A cost on network devices is divided by two between the two collectives, which take turns in
///   an all-reduce.
///
/// Buckets of which some op remains on all replicas are left as they are.
/// @param planned   of Replicate() with more than one replica
PlannedGraph ShardUpdate(const PlannedGraph& planned, int replicas);

}  // namespace emplace
