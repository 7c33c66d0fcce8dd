#pragma once

#include <span>
#include <string>

#include "framework/cluster/cluster.h"
#include "framework/cost/cost_table.h"
#include "profilers/executor/backend.h"
#include "profilers/measure/in_situ.h"

namespace emplace {

/// The cluster that a profile describes, ready for `cluster:` beside `costs:`: the backend's
/// devices, a channel per link with its fitted latency and bandwidth, routes (through the host
/// where devices have no direct link), kinds with measured issue, launch and peak rates.
/// @param in_situ  copies seen in whole steps beat those timed alone; nullptr: none
Cluster CalibratedCluster(const CostTable& table,
                          const Backend& backend,
                          const std::string& name,
                          DispatchMode mode = DispatchMode::kGraph,
                          const InSituTimings* in_situ = nullptr);

}  // namespace emplace
