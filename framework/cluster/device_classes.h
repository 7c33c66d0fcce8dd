#pragma once

#include <vector>

#include "framework/cluster/cluster.h"

namespace emplace {

/// Returns the devices of a class, ascending.
std::vector<int> DevicesOfClass(const Cluster& cluster, DeviceClass device_class);

}  // namespace emplace
