#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/graph/grouping.h"
#include "framework/plan/planned_graph.h"

namespace emplace {

/// The replicas that a planned graph has.
enum class Copies : std::uint8_t {
  kAll,
  /// The first one, with the reductions of all (one_replica.h). Ops and tensors keep their names,
  /// and ops that may run on all devices of the replica have no Op::devices.
  kFirst
};

/// An all-reduce of gradients among the replicas.
struct Bucket {
  std::vector<int> tensors;  ///< of the graph before it was copied
  std::int64_t bytes = 0;    ///< of one replica [B]
  int after = -1;            ///< the producer of greatest id
};

/// Returns the buckets of a step: the distinct tensors that ops of phase forward and backward make,
/// parameters and constants excepted, and that ops of phase update read, in topological order of
/// the ops. Consecutive tensors share a bucket while their producers are in one group of
/// `together`, their element types are the same and their bytes are at most `most_bytes` (0:
/// never).
std::vector<Bucket> GradientBuckets(const Graph& graph,
                                    const Grouping& together,
                                    std::int64_t most_bytes);

/// Copies the whole graph for each replica and reduces the gradients among them before the update
/// (synchronous data parallelism; buckets as in Li et al., PyTorch Distributed, VLDB 2020).
///
/// - Every op is copied: "r0/NAME", "r1/NAME", ... with all tensors, labels ("r0/LABEL") and the
///   attribute forward_op. The copy may run on the devices of its replica only (Op::devices); if
///   the op has devices of its own, on those of them.
/// - Each bucket is one op "all_reduce/0", "all_reduce/1", ... of kind collective.all_reduce on a
///   device of class network. It has the attribute group_size, one input and one output with the
///   bucket's bytes and element type (and as many elements), phase backward, and control inputs
///   from the producers of its tensors in all replicas. So it has the signature of a measured
///   collective (framework/cost/FORMAT.md), and its bytes do not travel over the channels of the
///   cluster.
/// - Every op of phase update that reads a tensor of a bucket has a control input from its op.
///
/// Copies of an op stand side by side, a collective behind the last producer of its tensors. With
/// one replica nothing is copied or named anew; ops are restricted to the devices.
/// @param devices  [replicas] names of the devices of each replica
/// @param cost_ns  of the collective of each bucket on a network device; empty: from a cost table
/// @throws InputError naming an op whose devices are not in a replica's
PlannedGraph Replicate(const PlannedGraph& step,
                       std::span<const std::vector<std::string>> devices,
                       std::span<const Bucket> buckets,
                       std::span<const std::vector<std::pair<std::string, double>>> cost_ns,
                       Copies copies = Copies::kAll);

/// Copies the graph as Replicate() does, with reductions in ordinary ops: a binary tree for each
/// gradient. Such a graph can be executed.
///
/// - At distance d = 1, 2, 4, ... replica r, a multiple of 2 d, adds the sum of replica r + d to
/// its
///   own by an op "rR/reduce/D/NAME" of kind aten.add and phase backward, NAME that of the
///   gradient's producer, with /1, /2, ... for its further gradients. The result is an alias of the
///   sum so far and has the label of the producer in replica r. A producer without a label gets its
///   name as one.
/// - Ops of phase update read the sum of replica 0, in all replicas.
///
/// The sums travel over the cluster's channels and take time on the devices of the replicas.
/// @param devices  as Replicate()
/// @throws InputError as Replicate()
PlannedGraph ReplicateByTree(const PlannedGraph& step,
                             std::span<const std::vector<std::string>> devices);

}  // namespace emplace
