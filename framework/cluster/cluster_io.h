#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "framework/cluster/cluster.h"
#include "framework/config/config_node.h"

namespace emplace {

/// Reads every *.yaml of a folder of device kinds (see DeviceKind); name -> kind.
/// @param folder  configs/device_kinds, or the folder above that holds device_kinds/
/// @throws InputError as ConfigNode does; a kind defined twice is refused, a missing folder too
std::map<std::string, DeviceKind> ReadDeviceKinds(const std::filesystem::path& folder);

/// Reads a cluster (FORMAT.md), of a file by ConfigNode::FromFile(). Kinds come from the file's own
/// `device_kinds:` first, then from `library`; the cluster keeps those in use, in the order of its
/// devices.
/// @throws InputError naming file:line:column, key, value, what was expected and the choices
Cluster ParseCluster(const ConfigNode& node, const std::map<std::string, DeviceKind>& library);

/// YAML text with everything expanded and kinds inline; ParseCluster reads it back equal.
std::string FormatCluster(const Cluster& cluster);

}  // namespace emplace
