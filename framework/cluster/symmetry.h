#pragma once

// Finds devices that differ only in their names and their positions in the cluster. A *symmetry* is
// a permutation p of the devices such that
//
//   - p(d) has the memory, slots, gap, issue and launch times of d, pays for transfers if d does,
//     and has the label of d. Labels express other knowledge of the caller, such as devices with
//     equal costs (DevicesOfEqualCosts(), framework/cost/costs.h);
//   - the neighbours of p(d) are the images of the neighbours of d;
//   - a one-to-one map between channels of equal properties maps the route from a to b, hop by
//     hop, to the route from p(a) to p(b), for all a and b.
//
// The image of a placement P puts each op on p(device in P). Both have the same period and memory,
// and the same step time with one exception. The copies of an item are made in the order of their
// destinations (simulator/README.md). So the step times may differ if an item goes from a device s
// to two devices a and b with OrderMatters(s, a, b), and p reverses the order of a and b.

#include <cstddef>
#include <span>
#include <vector>

#include "framework/cluster/cluster.h"

namespace emplace {

/// The image of each device. [num_devices]
using DevicePermutation = std::vector<int>;

/// Returns all symmetries, the identity first. If there are more than `most`, or the search takes
/// too long, returns a subgroup: the symmetries that fix device 0, or devices 0 and 1, and so on.
/// @param label  [num_devices] any integers
/// @param most   at least 1
std::vector<DevicePermutation> Symmetries(const Cluster& cluster,
                                          std::span<const int> label,
                                          std::size_t most);

/// Returns classes of devices that can be permuted freely. The result for each device is the least
/// device that it can be exchanged with while all others stay fixed, or itself. [num_devices] There
/// may be further symmetries, such as the exchange of two boards with two devices each.
/// @param label  [num_devices] any integers
std::vector<int> InterchangeableDevices(const Cluster& cluster, std::span<const int> label);

/// Returns whether the step time may depend on the order of two copies of an item, from device
/// `from` to `a` and to `b`. This is the case if the two routes share a channel, both first hops
/// occupy the source, or the host takes time to issue them. @pre routes exist, the devices differ
bool OrderMatters(const Cluster& cluster, int from, int a, int b);

}  // namespace emplace
