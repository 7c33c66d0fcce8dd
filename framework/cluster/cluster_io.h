#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "framework/cluster/cluster.h"
#include "framework/config/config_node.h"

namespace emplace {

/// Reads every *.yaml of a folder of device kinds (DeviceKind). Returns a map from name to kind.
/// @param folder  configs/device_kinds, or the folder above that contains device_kinds/
/// @throws InputError as ConfigNode does; also for a missing folder or a kind that is defined twice
std::map<std::string, DeviceKind> ReadDeviceKinds(const std::filesystem::path& folder);

/// Reads a cluster (FORMAT.md) from a node of ConfigNode::FromFile(). Looks up a kind in the file's
/// own `device_kinds:` first, then in `library`. Keeps the used kinds, in the order of the devices.
/// The file's kinds may name the fits of the library's.
/// @throws InputError naming file:line:column, key, value, expected form and choices
Cluster ParseCluster(const ConfigNode& node, const std::map<std::string, DeviceKind>& library);

/// Returns YAML text with everything expanded and kinds inline. ParseCluster() reads it back equal.
std::string FormatCluster(const Cluster& cluster);

}  // namespace emplace
