#pragma once

// Reads and writes one part of a cluster file: the map below `device_kinds:` (FORMAT.md, "Keys of a
// device kind"). Private to framework/cluster.

#include <map>
#include <string>

#include "framework/cluster/cluster.h"
#include "framework/config/config_node.h"

namespace emplace {

/// Reads the map below `device_kinds:`. Returns a map from name to kind.
/// @param fits  that `fitted:` of a kind may name
/// @throws InputError naming place, key, value, expected form and choices
std::map<std::string, DeviceKind> ParseDeviceKinds(
    const ConfigNode& node,
    const std::map<std::string, KernelFit>& fits = {});

/// Returns one entry of that map, indented by two.
std::string FormatDeviceKind(const DeviceKind& kind);

}  // namespace emplace
