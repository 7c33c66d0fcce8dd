#pragma once

#include <string>

#include "framework/cluster/cluster.h"
#include "framework/cost/cost_table.h"
#include "profilers/executor/backend.h"
#include "profilers/measure/in_situ.h"

namespace emplace {

/// The cluster that a profile describes, ready for `cluster:` beside `costs:`: the backend's
/// devices, a channel per link with its fitted latency and bandwidth, routes (through the host
/// where devices have no direct link), kinds with measured issue, launch and peak rates.
///
/// Channels "cpu:0->gpu:0": one range fitted over the copies seen in whole steps (those with at
/// least 8 sizes, or 3 sizes and 20 copies), weighted by how often each was seen; else over the
/// copies timed alone, relatively. A channel is one in-order stream, so that the next copy starts
/// when this one has arrived and the stream has gone on: gap = latency + gap of the source's kind.
/// To the latency comes what both ends wait for each other's events (DispatchCosts::wait_ns of the
/// source's kind, then of the destination's). Bandwidths are rounded to whole B/s, times to ns.
///
/// Kinds: issue and launch of an eagerly dispatched step from DispatchCosts; a step that was handed
/// over whole is issued for nothing, and its commands start `launch` after the step at the earliest
/// (as seen in steps; 0 if the table knows only eager ones). Peak and bandwidth are the best that
/// the fits of the ladder know, but at most twice what any op reached; the shares of the op classes
/// are their efficiencies; without fits it is what the best op reached.
///
/// @param in_situ  copies and gaps seen in these steps replace those of the table; nullptr: none
/// @throws InputError naming link and choices if the table has no timings of one of the links
Cluster CalibratedCluster(const CostTable& table,
                          const Backend& backend,
                          const std::string& name,
                          DispatchMode mode = DispatchMode::kGraph,
                          const InSituTimings* in_situ = nullptr);

/// CostTable::properties: how the steps were dispatched that a profile has in-situ figures from.
inline constexpr const char* kDispatchProperty = "dispatch";
std::string ToString(DispatchMode mode);  ///< "eager", "graph"

/// "cpu:0->cpu:1"
std::string ChannelName(const Backend& backend, const BackendLink& link);
/// Which of several links between an ordered pair the copies of a step use: the first that is not
/// of pageable memory.
const BackendLink* LinkBetween(const Backend& backend, int from, int to);

}  // namespace emplace
