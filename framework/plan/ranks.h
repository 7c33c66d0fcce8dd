#pragma once

// Ranks: devices that run one step together, each with parts of the tensors (shards: tensor
// parallelism, fully sharded data parallelism). The graph is that of rank 0, as a framework makes
// it (framework/graph/FORMAT.md, "Ranks"). It stands for all ranks.
//
// FirstRank() divides the devices of a cluster into blocks of one device for each rank. Plans then
// apply to the first devices of the blocks. The simulated step is exactly that of all ranks if the
// ranks are alike: the devices of a block are equal, the devices of rank r of all blocks have the
// same routes as those of rank 0, and no channel belongs to routes of two ranks. FirstRank() throws
// otherwise. Ranks then meet in collectives only, and every rank calls the same ones. By induction
// over the collectives, each begins at the same time on all ranks, since until then each rank does
// the same on equal devices and channels that no other rank uses. All ranks need the memory of
// rank 0, and each has a host of its own. Replicas reduce the gradients of equal ranks.

#include <memory>
#include <string>

#include "framework/cluster/cluster.h"
#include "framework/plan/planned_graph.h"

namespace emplace {

struct RankStep {
  std::shared_ptr<const Graph> step;
  std::shared_ptr<const Cluster> cluster;
};

/// Returns the step and the cluster of rank 0; a graph of one rank, and the cluster, as they are.
///
/// The GPUs (CPUs of a cluster without GPUs) are divided in their order: of N ranks, block b has
/// the devices b N to b N + N - 1. The cluster "NAME in blocks of N" has the first ones and the
/// devices of class network.
/// CPUs beside GPUs are left out, since all ranks would use them.
///
/// A collective becomes an op that takes no time and may run on all devices; AddRankCollectives()
/// adds the time. If the cluster has no network device, it has a cost for a kind "ranks": its time
/// over the cluster's channels (CollectiveTimes) in the slowest block.
/// @throws InputError naming the graph: ranks that do not divide the devices (with the choices) or
///   are not alike (with the reason); a collective of another name (with the choices) or without
///   the ranks of its group
RankStep FirstRank(std::shared_ptr<const Graph> step, std::shared_ptr<const Cluster> cluster);

/// Returns "ranks:0", "ranks:1", ...: the device of the transfers of a group of ranks.
std::string RankDevice(int group);

/// Adds the transfer of each collective of a graph of several ranks: an op "network/NAME" directly
/// behind the op, and a network device "ranks:0", "ranks:1", ... for each group of ranks. The
/// result is a graph of one rank, as it is without ranks.
///
/// - The transfer has the kind of the op, one input and one output with the bytes and element type
///   of the whole tensor or a part of it, and the attribute group_size: the signature of a measured
///   collective (framework/cost/FORMAT.md).
/// - It awaits the op, and the transfers of results that the op reads. So it begins when the device
///   comes to the op, as kernels of collectives wait for the stream from which they are called.
///   With the attribute "ahead": true it awaits the ops that make the inputs, and the control
///   inputs of the op, but not the op: it begins also while the device is busy with earlier ops.
///   The output of the op is in memory from the op on.
/// - An op that takes time and reads the result, directly or through views, reads an alias of it,
///   of an op "received/NAME" (NAME/1, NAME/2 for further outputs) of kind aten.alias that awaits
///   the transfer. It stands before the first such reader, on the device of the op NAME whose
///   output it passes on. So other devices receive the result after the transfer. Views that take
///   no time, and further collectives, do not wait for it; the transfers of these collectives do.
/// - Other ops that await the op, or a view of its result, await the transfer.
///
/// A device has a slot for each of its transfers. Transfers of one GPU and group begin one after
/// another in issue order if the caller adds the edges (InOrder()).
/// @param step  of FirstRank(), with all other parts of a plan
PlannedStep AddRankCollectives(PlannedStep step);

}  // namespace emplace
