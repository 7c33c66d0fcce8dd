#pragma once

// Reading and writing one part of a cluster file: the map below `device_kinds:` (FORMAT.md, "Keys
// of a device kind"). Private to framework/cluster.

#include <map>
#include <string>

#include "framework/cluster/cluster.h"
#include "framework/config/config_node.h"

namespace emplace {

/// The map below `device_kinds:`; name -> kind.
/// @throws InputError naming place, key, value, what was expected and the choices
std::map<std::string, DeviceKind> ParseDeviceKinds(const ConfigNode& node);

/// One entry of that map, indented by two.
std::string FormatDeviceKind(const DeviceKind& kind);

}  // namespace emplace
