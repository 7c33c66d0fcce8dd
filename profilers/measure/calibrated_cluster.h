#pragma once

// Makes a cluster from measured times: the device kinds and channels with which the simulator
// predicts the steps of this machine. framework/cluster/FORMAT.md describes the parameters of a
// cluster, simulator/README.md their use in the simulator.

#include <string>

#include "framework/cluster/cluster.h"
#include "framework/cost/cost_table.h"
#include "profilers/executor/backend.h"

namespace emplace {

/// Returns the cluster that a profile describes, for `cluster:` in a run config with the cost table
/// as `costs:`. It has the backend's devices, one channel per link, routes (over a CPU device if
/// two devices have no direct link) and the device kinds with their measured parameters.
///
/// Channels are named "cpu:0->gpu:0". Setup (the latency of the fit) and bandwidth are FitChannel()
/// of the copies seen in whole steps, each weighted by its number of occurrences, if there are
/// enough of them: 8 sizes, or 3 sizes and 20 copies. Otherwise they are fitted to the copies timed
/// alone, with weight 1 / time. A channel is one in-order stream: the next copy starts after the
/// previous one has ended and the gap of the source's kind has passed. The latency is the time that
/// either end waits for the other's commands (DispatchCosts::wait_ns of the source's kind and of
/// the destination's). Bandwidths are rounded to whole B/s, times to ns.
///
/// A channel occupies its source if the source's own worker makes the copies
/// (BackendLink::by_source).
///
/// Neighbours are AreNeighbors() of the table.
///
/// Kinds take `cold_read` (InSituTimings::WriteColdReads()) and `interference` from the table.
/// Transfers have no sensitivity if copies seen in whole steps are used, because their times
/// already include it. With eager dispatch, issue and launch are those of DispatchCosts. A step
/// that is submitted as a whole has no issue cost, and its commands start at the earliest `launch`
/// after the step's start (as seen in steps; 0 if the table has only eager ones). Peak and
/// bandwidth are the best of the table's fits, but at most twice the best rate of any measured op,
/// because a fit may extrapolate. Without fits they are the best rates of any measured op. The
/// efficiency of an op class is its share of the peak.
///
/// @param mode  dispatch mode of future steps
/// @throws InputError naming link and choices if the table has no timings of one of the links
Cluster CalibratedCluster(const CostTable& table,
                          const Backend& backend,
                          const std::string& name,
                          DispatchMode mode = DispatchMode::kGraph);

/// Key in CostTable::properties: the dispatch mode of the steps from which the table has its
/// in-situ timings.
inline constexpr const char* kDispatchProperty = "dispatch";
std::string ToString(DispatchMode mode);  ///< "eager", "graph"

/// Returns the name of a link's channel in cluster files: "cpu:0->cpu:1".
std::string ChannelName(const Backend& backend, const BackendLink& link);

}  // namespace emplace
