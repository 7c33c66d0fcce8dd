#pragma once

// Devices that nothing but their names and places in the cluster tells apart. A *symmetry* is a
// permutation p of the devices such that
//
//   - p(d) has the memory, the slots, the gap, issue and launch times of d, pays for transfers as d
//     does, and has its label: labels tell what else the caller knows, as which devices have equal
//     costs (DevicesOfEqualCosts(), framework/cost/costs.h);
//   - the neighbours of p(d) are the images of those of d;
//   - some one-to-one map of channels onto channels of the same figures takes the route from a to
//   b,
//     hop by hop, to the route from p(a) to p(b), for all a and b.
//
// A placement P and its image, in which each op is on p(device in P), then have the same step time,
// period and memory, but for one rule: an item's copies are made in the order of their destinations
// (simulator/README.md). So the step times may differ where an item goes from a device s to two
// devices a and b, OrderMatters(s, a, b), and p turns the order of a and b round. The period and
// memory never differ.

#include <cstddef>
#include <span>
#include <vector>

#include "framework/cluster/cluster.h"

namespace emplace {

/// The image of each device. [num_devices]
using DevicePermutation = std::vector<int>;

/// All symmetries, the identity first, or a part of them that is a group, too: where there are more
/// than `most`, or it takes long to find them, those that leave device 0 where it is; or devices 0
/// and 1, and so on.
/// @param label  [num_devices] any integers
/// @param most   at least 1
std::vector<DevicePermutation> Symmetries(const Cluster& cluster,
                                          std::span<const int> label,
                                          std::size_t most);

/// Classes of devices of which any may be permuted at will: for each device the least one that it
/// can be exchanged with, all others staying where they are; itself if there is none. [num_devices]
/// There may be further symmetries, such as the exchange of two boards with two devices each.
/// @param label  [num_devices] any integers
std::vector<int> InterchangeableDevices(const Cluster& cluster, std::span<const int> label);

/// Whether a step may depend on which goes first, the copy of an item from device `from` to `a` or
/// that to `b`: the two routes share a channel, both first hops occupy the source, or the host
/// takes time to issue them. @pre routes exist, the devices differ
bool OrderMatters(const Cluster& cluster, int from, int a, int b);

}  // namespace emplace
