#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/cluster/cluster.h"

namespace emplace {

/// Returns the first device of class network; -1: none.
int NetworkDevice(const Cluster& cluster);

/// Returns the cluster with a further device of class network, which all devices reach without
/// delay.
/// @param kind  name of its kind, which is added if the cluster lacks it
/// @throws InputError if the cluster has kMaxDevices devices
std::shared_ptr<const Cluster> WithNetwork(const Cluster& cluster,
                                           const std::string& name,
                                           const std::string& kind,
                                           int slots);

/// Returns the cluster of some devices, in this order, and those of class network.
std::shared_ptr<const Cluster> WithDevices(const Cluster& cluster,
                                           const std::vector<int>& some,
                                           const std::string& name);

}  // namespace emplace
