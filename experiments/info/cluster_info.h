#pragma once

// The output of `emplace cluster info`.

#include <string>
#include <vector>

#include "framework/cluster/cluster.h"

namespace emplace {

/// Returns the text for people: the devices, their kinds with the published figures, the channels
/// with the pairs of devices that they serve, and FormatBandwidths(). Equal devices and equal
/// channels share a line.
/// @param columns  width to fit; 0: no limit
std::string FormatClusterInfo(const Cluster& cluster, int columns);

/// Returns devices, kinds, channels and routes as one JSON object, for programs.
std::string FormatClusterInfoJson(const Cluster& cluster);

/// Returns the rate of a long transfer from one device to another with no other transfers: 1 / sum
/// of 1 / bandwidth over the hops, which follow one another; 0 without a route. [B/s]
double RouteBandwidth(const Cluster& cluster, int from, int to);

/// Returns the matrix of RouteBandwidth(), a row and a column per device. If it has more than
/// kMostDrawn of them or is wider than `columns`, interchangeable devices
/// (InterchangeableDevices()) share a row and a column. If it is still too large, the text is a
/// list of the bandwidths with the number of pairs of each.
std::string FormatBandwidths(const Cluster& cluster, int columns);
inline constexpr int kMostDrawn = 16;

/// Returns abbreviated device names: "cpu:0, gpu:0-3".
std::string ShortNames(const Cluster& cluster, const std::vector<int>& devices);

}  // namespace emplace
