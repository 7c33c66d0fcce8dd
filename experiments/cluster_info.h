#pragma once

// What `emplace cluster info` tells about a cluster.

#include <string>
#include <vector>

#include "framework/cluster/cluster.h"

namespace emplace {

/// For people: the devices, their kinds with the published figures, the channels with the pairs of
/// devices that they serve, and FormatBandwidths(). Equal devices and equal channels share a line.
/// @param columns  width to fit; 0: no limit
std::string FormatClusterInfo(const Cluster& cluster, int columns);

/// For programs: devices, kinds, channels and routes as one JSON object.
std::string FormatClusterInfoJson(const Cluster& cluster);

/// Returns what a long transfer from one device to another reaches when alone: 1 / sum of
/// 1 / bandwidth over the hops; 0 without a route. [B/s]
double RouteBandwidth(const Cluster& cluster, int from, int to);

/// Returns the matrix of RouteBandwidth(), a row and a column per device. Where it has more than
/// kMostDrawn of them or is wider than `columns`, devices of which any may be exchanged
/// (InterchangeableDevices()) share a row and a column; where that is still too much, it is a list
/// of the bandwidths with the number of pairs that have them.
std::string FormatBandwidths(const Cluster& cluster, int columns);
inline constexpr int kMostDrawn = 16;

/// Returns device names in short: "cpu:0, gpu:0-3".
std::string ShortNames(const Cluster& cluster, const std::vector<int>& devices);

}  // namespace emplace
