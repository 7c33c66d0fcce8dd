#pragma once

// The names of a cluster's devices in other frameworks.
//
//   cluster   TensorFlow                                        PyTorch
//   cpu:N     /job:localhost/replica:0/task:0/device:CPU:N      "cpu"
//   gpu:N     /job:localhost/replica:0/task:0/device:GPU:N      N
//
// For a device of any other name, --device-map must give the name.

#include <map>
#include <string>
#include <vector>

#include "framework/base/json.h"
#include "framework/cluster/cluster.h"
#include "framework/placement/placement.h"

namespace emplace {

enum class NamingFramework : std::uint8_t { kTensorFlow, kTorch };

/// Reads the texts of --device-map: "gpu:0=/device:GPU:2" means that gpu:0 is called /device:GPU:2.
/// @return names by device of the cluster
/// @throws InputError naming --device-map for a text without '=', an unknown device, a device that
///   is named twice, or an invalid name (PyTorch: a number, or cpu, cuda:1, mps, ...)
std::map<std::string, std::string> ParseDeviceNames(const std::vector<std::string>& texts,
                                                    const Cluster& cluster,
                                                    NamingFramework framework);

/// Returns the names of the devices in use. @param told  names from --device-map
/// @return [num_devices] text or integer; null for a device that `device_of_op` does not use
/// @throws InputError for a used device without a name
std::vector<Json> NameDevices(const Cluster& cluster,
                              const std::vector<DeviceIndex>& device_of_op,
                              NamingFramework framework,
                              const std::map<std::string, std::string>& told);

}  // namespace emplace
