#pragma once

// From measured times to a cluster file: which device kinds and channels the simulator has to
// assume so that it predicts the steps of this machine. The cluster's figures and what the
// simulator does with them: framework/cluster/FORMAT.md, simulator/README.md.

#include <string>

#include "framework/cluster/cluster.h"
#include "framework/cost/cost_table.h"
#include "profilers/executor/backend.h"

namespace emplace {

/// The cluster that a profile describes, for `cluster:` in a run config with the cost table as
/// `costs:`. It has the backend's devices, a channel per link, routes (over a CPU device where two
/// devices have no direct link) and the device kinds with their measured figures.
///
/// Channels, named "cpu:0->gpu:0". Setup (the latency of the fit) and bandwidth are FitChannel() of
/// the copies seen in whole steps, weighted by how often each was seen, if there are enough of
/// them: 8 sizes, or 3 sizes and 20 copies. Else it is fitted to the copies timed alone, with the
/// weight 1 / time. A channel is one in-order stream: the next copy starts when this one is made
/// and the stream has gone on, after the gap of the source's kind. The latency is what either end
/// waits for the other's commands (DispatchCosts::wait_ns of the source's kind and of the
/// destination's). Bandwidths are rounded to whole B/s, times to ns.
///
/// A channel occupies its source where the source's own worker makes the copies
/// (BackendLink::by_source).
///
/// Neighbours are AreNeighbors() of the table.
///
/// Kinds. `cold_read` is the table's (InSituTimings::WriteColdReads()), and so is `interference`,
/// but transfers have no sensitivity where copies seen in whole steps count, which have it in their
/// times. With eager dispatch, issue and launch are those of DispatchCosts. A step that is handed
/// over whole has no issue cost, and its commands start `launch` after the step's start at the
/// earliest (as seen in steps; 0 if the table has only eager ones). Peak and bandwidth are the best
/// of the table's fits, but at most twice what any op reached, because a fit may extrapolate;
/// without fits they are what the best op reached. The efficiency of an op class is its share of
/// the peak.
///
/// @param mode  how steps will be dispatched
/// @throws InputError naming link and choices if the table has no timings of one of the links
Cluster CalibratedCluster(const CostTable& table,
                          const Backend& backend,
                          const std::string& name,
                          DispatchMode mode = DispatchMode::kGraph);

/// Key in CostTable::properties: how the steps were dispatched from which the table has its in-situ
/// figures.
inline constexpr const char* kDispatchProperty = "dispatch";
std::string ToString(DispatchMode mode);  ///< "eager", "graph"

/// Name of a link's channel in cluster files: "cpu:0->cpu:1".
std::string ChannelName(const Backend& backend, const BackendLink& link);

}  // namespace emplace
