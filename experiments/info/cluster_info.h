#pragma once

// The answers of `emplace cluster info`.

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

/// Returns the rate of a long transfer from one device to another that is alone: 1 / sum of
/// 1 / bandwidth over the hops, which are taken one after another; 0 without a route. [B/s]
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
